/** A destination of type webhook: each delivery is posted to its endpoints, signed. */

import type { DestinationType } from "../port.ts";
import { requestTo, sharedRequest } from "./request.ts";
import { type WebhookDestination, type WebhookEndpoint, webhookSettings } from "./settings.ts";

const SECRET_CHARACTERS_MIN = 16;

export const webhook: DestinationType<WebhookDestination> = {
  settings: webhookSettings,
  plain: ({ endpoints, ...settings }) => ({
    ...settings,
    endpoints: endpoints.map(({ url, headers }) => ({ url, headers: Object.fromEntries(headers) })),
  }),
  warnings,
  whenDisabled:
    "calls and deletions are skipped and not delivered later; with `paused: true` they would wait",
  attempts: {
    preview: (destination, unit, endpoint: WebhookEndpoint, nowMs) => {
      const request = requestTo(endpoint, sharedRequest(destination, unit, nowMs));
      return { ...request, secret: endpoint.headers };
    },
    open: async (options) => {
      const { createHttp } = await import("./http.ts");
      const { webhookTransport } = await import("./transport.ts");
      return webhookTransport(createHttp(options));
    },
  },
};

function warnings(destination: WebhookDestination): readonly string[] {
  const { sharedSecret, previousSharedSecret, standardWebhooks } = destination;
  const found = [];
  if (sharedSecret !== null && charactersOf(sharedSecret) < SECRET_CHARACTERS_MIN) {
    found.push(
      `sharedSecret has fewer than ${SECRET_CHARACTERS_MIN} characters, so that it can ` +
        "be guessed from a signature; take 32 random ones",
    );
  }
  if (previousSharedSecret !== null && !standardWebhooks) {
    found.push("previousSharedSecret does nothing without standardWebhooks");
  }
  return found;
}

function charactersOf(secret: string): number {
  return [...secret.replace(/^whsec_/, "")].length;
}
