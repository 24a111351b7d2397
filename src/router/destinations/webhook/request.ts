/**
 * Builds the requests of one attempt. They are complete except for the headers that the connection adds (Host,
 * Connection, Content-Length). `explain` prints these requests, and the deliver stage sends them.
 *
 *   header                      sent                      value
 *   User-Agent                  always                    Switchyard/1.0
 *   Content-Type                always                    application/json, or application/x-ndjson in a batch of that format
 *   X-Signature                 with a shared secret      hex HMAC-SHA1 of the body
 *   X-Switchyard-Message-Id     messageIdHeader: true     the message ID, percent-encoded (`visible`)
 *   X-Switchyard-Attempt        attemptHeader: true       1 for the first attempt
 *   webhook-id                  standardWebhooks: true    the same, with full stops as %2E
 *   webhook-timestamp           standardWebhooks: true    time of the attempt in seconds
 *   webhook-signature           ... and a secret or key   `v1` with the shared secrets, then `v1a` with the signing keys:
 *                                                       each time the current one before the previous one
 *   X-Switchyard-Batch          batch                     number of calls
 *   static headers              as configured             as configured
 *   traceparent                 traceparent: true         added when it is sent (`attempt-trace.ts`)
 *   Authorization               auth                      added when it is sent (`authorized.ts`)
 *
 *   header with `batch`         value
 *   X-Signature                 the signature of the whole body
 *   X-Switchyard-Message-Id     the message IDs in body order, separated by commas; not sent if 8 KiB or longer
 *   X-Switchyard-Attempt        the attempts of the calls in body order, separated by commas
 *   webhook-id                  a UUID derived from the message IDs (`batch.ts`)
 *
 * As long as the destination's `payload` and secret do not change, body and signature are the same in every attempt
 * and for every endpoint.
 */

import assert from "node:assert/strict";
import { TRACE_HEADER } from "../../../domain/trace-context.ts";
import type { Header, Sendable, UnitName } from "../port.ts";
import {
  batchBody,
  batchId,
  contentTypeOf,
  idList,
  listHeader,
  type MeasuredCall,
  measure,
} from "./batch.ts";
import { payload } from "./payload.ts";
import type { Batch, WebhookDestination, WebhookEndpoint } from "./settings.ts";
import { signature, standardSignature, visible } from "./signature.ts";
import { publicKeySignature } from "./signing-key.ts";

/** A request, without Host, Connection and Content-Length. The connection adds these headers. */
export interface WebhookRequest {
  readonly method: "POST";
  readonly url: string;
  /** The headers in the order in which they are sent. Values may be secret. */
  readonly headers: readonly Header[];
  readonly body: Buffer;
  /** Present if the body of a successful response is needed. */
  readonly readsResponse?: true;
}

export type Secrets = Pick<WebhookDestination, "sharedSecret" | "previousSharedSecret"> &
  Partial<Pick<WebhookDestination, "signingKey" | "previousSigningKey">>;

const MESSAGE_ID = "X-Switchyard-Message-Id";
const ATTEMPT = "X-Switchyard-Attempt";
const USER_AGENT: Header = ["User-Agent", "Switchyard/1.0"];
const EVENT_CONTENT_TYPE = "application/cloudevents+json; charset=utf-8";

/** The data that all requests of an attempt have in common. */
export interface SharedRequest extends Omit<WebhookRequest, "method" | "url"> {
  /** Null if the request has one call, and the body is that call. */
  readonly batch: UnitName | null;
}

/**
 * @param unit at least one delivery. If the destination has no `batch`, it is a single delivery that was not
 *   measured.
 * @param nowMs the time of the attempt. Only the headers of Standard Webhooks contain it.
 */
export function sharedRequest(
  destination: WebhookDestination,
  unit: readonly (Sendable | MeasuredCall)[],
  nowMs: number,
): SharedRequest {
  const only = unit[0];
  assert(only !== undefined);
  const batch = isMeasured(only) ? only.batch : destination.batch;
  if (batch !== null) return sharedBatch(destination, batch, unit, nowMs);
  assert(unit.length === 1 && !isMeasured(only));
  const { delivery, content } = only;
  const body = Buffer.from(payload(content, delivery, destination.payload));
  const { sharedSecret } = destination;
  const headers: Header[] = [USER_AGENT, ["Content-Type", "application/json"]];
  if (sharedSecret !== null) headers.push(["X-Signature", signature(body, sharedSecret)]);
  const { messageIdHeader, attemptHeader, standardWebhooks } = destination;
  if (messageIdHeader) headers.push([MESSAGE_ID, visible(delivery.messageId)]);
  if (attemptHeader) headers.push([ATTEMPT, `${delivery.attempt + 1}`]);
  if (standardWebhooks) {
    headers.push(...standardWebhook(destination, body, delivery.messageId, nowMs));
  }
  return { body, headers, batch: null };
}

function sharedBatch(
  destination: WebhookDestination,
  batch: Batch,
  unit: readonly (Sendable | MeasuredCall)[],
  nowMs: number,
): SharedRequest {
  const calls = unit.map((one) => (isMeasured(one) ? one : measure(destination, batch, one)));
  const body = batchBody(batch.format, calls);
  const ids = idList(unit.map(({ delivery }) => delivery.messageId));
  const name = { id: batchId(ids), calls: unit.length };
  const { sharedSecret } = destination;
  const headers: Header[] = [USER_AGENT, ["Content-Type", contentTypeOf(batch.format)]];
  if (sharedSecret !== null) headers.push(["X-Signature", signature(body, sharedSecret)]);
  const { messageIdHeader, attemptHeader, standardWebhooks } = destination;
  const listed = messageIdHeader ? listHeader(ids) : null;
  if (listed !== null) headers.push([MESSAGE_ID, listed]);
  if (attemptHeader) {
    headers.push([ATTEMPT, unit.map(({ delivery }) => `${delivery.attempt + 1}`).join()]);
  }
  if (standardWebhooks) headers.push(...standardWebhook(destination, body, name.id, nowMs));
  headers.push(["X-Switchyard-Batch", `${unit.length}`]);
  const shared = { body, headers, batch: name };
  return batch.responses === "each" ? { ...shared, readsResponse: true } : shared;
}

function isMeasured(call: Sendable | MeasuredCall): call is MeasuredCall {
  return "body" in call;
}

/** @param traceparent absent if the request does not belong to a trace. */
export function requestTo(
  endpoint: WebhookEndpoint,
  { body, headers, readsResponse }: Omit<WebhookRequest, "method" | "url">,
  traceparent?: string,
): WebhookRequest {
  const own = endpoint.headers.length === 0 ? headers : [...headers, ...endpoint.headers];
  const all =
    traceparent === undefined ? own : [...own, [TRACE_HEADER.parent, traceparent] as const];
  return {
    method: "POST",
    url: endpoint.url,
    headers: all,
    body,
    ...(readsResponse && { readsResponse }),
  };
}

/**
 * Builds the request for an operator event. It is signed in the same way as a webhook.
 *
 *   header              sent                    value
 *   Content-Type        always                  application/cloudevents+json; charset=utf-8
 *   X-Signature         with a shared secret    hex HMAC-SHA1 of the body
 *   webhook-*           with a shared secret    as in Standard Webhooks, with the ID of the event
 *   static headers      as configured           as configured
 *
 * @param text the CloudEvent in JSON.
 */
export function eventRequest(
  endpoint: WebhookEndpoint,
  secrets: Secrets,
  { id, text }: { readonly id: string; readonly text: string },
  nowMs: number,
): WebhookRequest {
  const body = Buffer.from(text);
  const { sharedSecret } = secrets;
  const headers: Header[] = [USER_AGENT, ["Content-Type", EVENT_CONTENT_TYPE]];
  if (sharedSecret !== null) {
    headers.push(["X-Signature", signature(body, sharedSecret)]);
    headers.push(...standardWebhook(secrets, body, id, nowMs));
  }
  return requestTo(endpoint, { body, headers });
}

function standardWebhook(
  { sharedSecret, previousSharedSecret, signingKey = null, previousSigningKey = null }: Secrets,
  body: Buffer,
  messageId: string,
  nowMs: number,
): readonly Header[] {
  // The ID comes from outside, and Standard Webhooks does not allow a full stop in an ID.
  const id = visible(messageId).replaceAll(".", "%2E");
  const timestamp = `${Math.floor(nowMs / 1_000)}`;
  const secrets = sharedSecret === null ? [] : [sharedSecret, previousSharedSecret];
  const signatures = [
    ...secrets
      .filter((secret) => secret !== null)
      .map((secret) => standardSignature(id, timestamp, body, secret)),
    ...[signingKey, previousSigningKey]
      .filter((key) => key !== null)
      .map((key) => publicKeySignature(id, timestamp, body, key)),
  ];
  const headers: Header[] = [
    ["webhook-id", id],
    ["webhook-timestamp", timestamp],
  ];
  if (signatures.length > 0) headers.push(["webhook-signature", signatures.join(" ")]);
  return headers;
}
