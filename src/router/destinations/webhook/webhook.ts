/** Destinations of type webhook: each delivery is signed, and posted to the destination's endpoints. */

import { proxyName } from "../../../base/http/tunnel.ts";
import { systemClock } from "../../../base/runtime/clock.ts";
import { HIDDEN } from "../../../base/settings/problem.ts";
import type { DestinationType, Header } from "../port.ts";
import { schemeOf } from "./authorization.ts";
import { limitsOf, unitsOf } from "./batch.ts";
import { requestTo, sharedRequest } from "./request.ts";
import {
  proxyUrlOf,
  type WebhookDestination,
  type WebhookEndpoint,
  webhookSettings,
} from "./settings.ts";

const SECRET_CHARACTERS_MIN = 16;
/** The number of calls whose message IDs fit into a header, if all IDs are UUIDs. */
const CALLS_WITH_IDS = 221;
const TOKEN_LIMIT_MS = 5_000;

export const webhook: DestinationType<WebhookDestination> = {
  settings: webhookSettings,
  plain: ({ endpoints, ...settings }) => ({
    ...settings,
    endpoints: endpoints.map(({ key: _, headers, ...endpoint }) => {
      return { ...endpoint, headers: Object.fromEntries(headers) };
    }),
  }),
  warnings,
  whenDisabled:
    "calls and deletions are skipped and not delivered later; with `paused: true` they would wait",
  attempts: {
    preview: (destination, unit, endpoint: WebhookEndpoint, nowMs, egress) => {
      const url = proxyUrlOf(destination, egress.proxy);
      const proxy = url === null ? null : proxyName(url);
      const request = { proxy, ...requestTo(endpoint, sharedRequest(destination, unit, nowMs)) };
      const { auth } = destination;
      if (auth === null) return { ...request, secret: endpoint.headers };
      const authorization: Header = ["Authorization", `${schemeOf(auth)} ${HIDDEN}`];
      const headers = [...request.headers, authorization];
      return { ...request, headers, secret: endpoint.headers };
    },
    limits: limitsOf,
    units: unitsOf,
    open: async (options) => {
      const { createHttp } = await import("./http.ts");
      const { webhookTransport } = await import("./transport.ts");
      const { Tokens } = await import("./authorized.ts");
      const tokens = new Tokens(createHttp({ ...options, timeoutMs: TOKEN_LIMIT_MS }), systemClock);
      return webhookTransport(createHttp(options), tokens);
    },
  },
};

function warnings(destination: WebhookDestination): readonly string[] {
  const { sharedSecret, previousSharedSecret, standardWebhooks, auth, endpoints } = destination;
  const found = [];
  const isPlain = (url: string) => new URL(url).protocol === "http:";
  if (auth !== null && endpoints.some(({ url }) => isPlain(url))) {
    found.push("the credentials in auth are sent unencrypted to an endpoint with http; use https");
  }
  if (auth?.type === "oauth2" && isPlain(auth.tokenUrl)) {
    const sent = auth.clientSecret === null ? "a signed assertion" : "clientSecret";
    found.push(`${sent} is sent unencrypted to a tokenUrl with http; use https`);
  }
  if (sharedSecret !== null && charactersOf(sharedSecret) < SECRET_CHARACTERS_MIN) {
    found.push(
      `sharedSecret has fewer than ${SECRET_CHARACTERS_MIN} characters, so it can ` +
        "be guessed from a signature; use 32 random characters",
    );
  }
  if (previousSharedSecret !== null && !standardWebhooks) {
    found.push("previousSharedSecret has no effect without standardWebhooks");
  }
  const { batch, messageIdHeader, payload } = destination;
  if (batch !== null && messageIdHeader && payload !== "full" && batch.calls > CALLS_WITH_IDS) {
    found.push(
      `messageIdHeader has no effect in batches of more than ${CALLS_WITH_IDS} calls if their IDs are UUIDs, ` +
        "because the list of IDs then has 8 KiB or more; use payload: full, which contains the IDs, or smaller batches",
    );
  }
  return found;
}

function charactersOf(secret: string): number {
  return [...secret.replace(/^whsec_/, "")].length;
}
