/**
 * The requests of one attempt, complete but for what the connection adds (Host, Connection,
 * Content-Length). `explain` prints what this says, deliver sends it.
 *
 *   header                      sent                      value
 *   User-Agent                  always                    Switchyard/1.0
 *   Content-Type                always                    application/json
 *   X-Signature                 with a shared secret      hex HMAC-SHA1 of the body
 *   X-Switchyard-Message-Id     messageIdHeader: true     the message id
 *   X-Switchyard-Attempt        attemptHeader: true       1 for the first attempt
 *   webhook-id                  standardWebhooks: true    the message id, full stops as %2E
 *   webhook-timestamp           standardWebhooks: true    time of the attempt in seconds
 *   webhook-signature           ... and a shared secret   by the current secret, then the previous one
 *   static headers              as configured             as configured
 *   traceparent                 traceparent: true         added as it is sent (`attempt-trace.ts`)
 *
 * Body and signature are the same on every attempt and for every endpoint, as long as the
 * destination's `payload` and secret stay the same.
 */

import type { Delivery } from "../domain/delivery.ts";
import type { Endpoint, WebhookDestination } from "../domain/destination.ts";
import type { WebhookRequest } from "./attempt.ts";
import { payload } from "./payload.ts";
import { signature, standardSignature } from "./sign.ts";
import type { Webhook } from "./webhook.ts";

type Header = readonly [name: string, value: string];

export type Secrets = Pick<WebhookDestination, "sharedSecret" | "previousSharedSecret">;

export const USER_AGENT: Header = ["User-Agent", "Switchyard/1.0"];

/** The parts that the requests of an attempt share. */
export interface SharedRequest {
  readonly body: Buffer;
  readonly headers: readonly Header[];
}

/** @param nowMs time of the attempt; only Standard Webhooks sends it. */
export function sharedRequest(
  destination: WebhookDestination,
  webhook: Webhook,
  delivery: Delivery,
  nowMs: number,
): SharedRequest {
  const body = Buffer.from(payload(webhook, delivery, destination.payload));
  const { sharedSecret } = destination;
  const headers: Header[] = [USER_AGENT, ["Content-Type", "application/json"]];
  if (sharedSecret !== null) headers.push(["X-Signature", signature(body, sharedSecret)]);
  const { messageIdHeader, attemptHeader, standardWebhooks } = destination;
  if (messageIdHeader) headers.push(["X-Switchyard-Message-Id", visible(delivery.messageId)]);
  if (attemptHeader) headers.push(["X-Switchyard-Attempt", `${delivery.attempt + 1}`]);
  if (standardWebhooks) {
    headers.push(...standardWebhook(destination, body, delivery.messageId, nowMs));
  }
  return { body, headers };
}

export function requestTo(endpoint: Endpoint, { body, headers }: SharedRequest): WebhookRequest {
  const all = endpoint.headers.length === 0 ? headers : [...headers, ...endpoint.headers];
  return { method: "POST", url: endpoint.url, headers: all, body };
}

/** The headers of Standard Webhooks. */
export function standardWebhook(
  { sharedSecret, previousSharedSecret }: Secrets,
  body: Buffer,
  messageId: string,
  nowMs: number,
): readonly Header[] {
  // Ids come from outside, and Standard Webhooks asks for ids without a full stop.
  const id = visible(messageId).replaceAll(".", "%2E");
  const timestamp = `${Math.floor(nowMs / 1_000)}`;
  const signatures = [sharedSecret, previousSharedSecret]
    .filter((secret) => secret !== null)
    .map((secret) => standardSignature(id, timestamp, body, secret));
  const headers: Header[] = [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
  ];
  if (sharedSecret !== null) headers.push(["webhook-signature", signatures.join(" ")]);
  return headers;
}

/** Percent-encodes what is not visible ASCII: message ids come from outside. */
function visible(text: string): string {
  if (/^[!-~]*$/.test(text)) return text;
  let encoded = "";
  for (const byte of Buffer.from(text)) {
    const isVisible = byte > 0x20 && byte < 0x7f;
    encoded += isVisible
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}
