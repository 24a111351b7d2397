/**
 * The request of an event for people, signed as webhooks are.
 *
 *   header              sent                    value
 *   Content-Type        always                  application/cloudevents+json; charset=utf-8
 *   X-Signature         with a shared secret    hex HMAC-SHA1 of the body
 *   webhook-*           with a shared secret    as Standard Webhooks has them; the id is the event's
 *   static headers      as configured           as configured
 */

import type { Endpoint } from "../domain/destination.ts";
import type { WebhookRequest } from "./attempt.ts";
import { requestTo, type Secrets, standardWebhook, USER_AGENT } from "./request.ts";
import { signature } from "./sign.ts";

const CONTENT_TYPE = "application/cloudevents+json; charset=utf-8";

/** @param text the CloudEvent in JSON. */
export function eventRequest(
  endpoint: Endpoint,
  secrets: Secrets,
  { id, text }: { readonly id: string; readonly text: string },
  nowMs: number,
): WebhookRequest {
  const body = Buffer.from(text);
  const { sharedSecret } = secrets;
  const headers: (readonly [string, string])[] = [USER_AGENT, ["Content-Type", CONTENT_TYPE]];
  if (sharedSecret !== null) {
    headers.push(["X-Signature", signature(body, sharedSecret)]);
    headers.push(...standardWebhook(secrets, body, id, nowMs));
  }
  return requestTo(endpoint, { body, headers });
}
