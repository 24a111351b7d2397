/** Posts operator events to the operator webhook, with the same signatures and address checks as deliveries. */

import type { Config } from "../config/config.ts";
import type { SendResult } from "../destinations/port.ts";
import { createHttp } from "../destinations/webhook/http.ts";
import type { HttpConnections } from "../destinations/webhook/http-port.ts";
import { judge } from "../destinations/webhook/judge.ts";
import { eventRequest, type WebhookRequest } from "../destinations/webhook/request.ts";
import type { WebhookEndpoint } from "../destinations/webhook/settings.ts";
import { endpointKey } from "../domain/destination.ts";
import type { Posted } from "../operate/events/webhook-decision.ts";
import { type PostDeps, postEvents, type RunningPosts } from "../operate/events/webhook-sender.ts";

type Webhook = NonNullable<Config["operatorEvents"]["webhook"]>;

export function postToOperator(
  { timeoutMs, allowNetworks, ca }: Config["delivery"],
  webhook: Webhook,
  deps: PostDeps,
  of: { readonly topic: string; readonly group: string },
): RunningPosts {
  const endpoint = {
    key: endpointKey(webhook.url),
    url: webhook.url,
    headers: webhook.headers,
  };
  const http = createHttp({ timeoutMs, allowNetworks, ca });
  const connections = http.open({ endpoints: [endpoint], tls: null });
  const posts = postEvents(deps, {
    ...of,
    post: async ({ id }, text) => {
      const request = eventRequest(endpoint, webhook, { id, text }, deps.clock.nowMs());
      return postedOf(await send(connections, endpoint, request), deps.clock.nowMs());
    },
  });
  return {
    healthProblems: posts.healthProblems,
    [Symbol.asyncDispose]: async () => {
      await posts[Symbol.asyncDispose]();
      await connections.close();
    },
  };
}

function send(
  connections: HttpConnections,
  endpoint: WebhookEndpoint,
  request: WebhookRequest,
): Promise<SendResult> {
  return new Promise((resolve) => connections.send(endpoint, request, resolve));
}

function postedOf(result: SendResult, nowMs: number): Posted {
  const outcome = judge(result, nowMs);
  if (outcome.kind === "accepted") return outcome;
  const cause = result.kind === "response" ? `${result.status}` : result.cause;
  return { ...outcome, cause };
}
