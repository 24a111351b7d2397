/** The operator's webhook: events are posted as webhooks are, by the same signer and the same checks. */

import type { Config } from "../config/config.ts";
import type { EndpointConnections, HttpResult, WebhookRequest } from "../deliver/attempt.ts";
import { eventRequest } from "../deliver/event-request.ts";
import { createHttp } from "../deliver/http.ts";
import { judge } from "../deliver/outcome.ts";
import { type Endpoint, endpointKey } from "../domain/destination.ts";
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
  connections: EndpointConnections,
  endpoint: Endpoint,
  request: WebhookRequest,
): Promise<HttpResult> {
  return new Promise((resolve) => connections.send(endpoint, request, resolve));
}

function postedOf(result: HttpResult, nowMs: number): Posted {
  const outcome = judge(result, nowMs);
  if (outcome.kind === "accepted") return outcome;
  const cause = result.kind === "response" ? `${result.status}` : result.cause;
  return { ...outcome, cause };
}
