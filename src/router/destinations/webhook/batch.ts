/**
 * Makes decisions about batches, which are requests that contain the calls of several deliveries. `request.ts`
 * builds these requests, and the deliver stage selects the calls.
 *
 *   format   body of n calls                         bytes of a body
 *   array    `[call,call,…]`                         the bytes of its calls, plus one for each call, plus one
 *   ndjson   each call, followed by a newline        the bytes of its calls, plus one for each call
 *
 *   a call                                           shares a request
 *   is a delete notification                         never
 *   is larger than `bytes` by itself                 never
 *   any other                                        with as many calls as `calls` and `bytes` allow
 *
 *   the response                                     the calls                              the batch is split
 *   2xx, `responses: whole`                          all accepted                           no
 *   2xx, `responses: each`, a readable list          each by its own status, as `judge.ts`  no
 *                                                    judges it; the response's Retry-After
 *                                                    applies to calls with 429 or 503, and a
 *                                                    410 to its call alone
 *   2xx, `responses: each`, anything else            all accepted; counted as unreadable    no
 *   408, 425, 429, 5xx, or no response               all to be retried                      no
 *   410                                              all rejected; the endpoint is gone     no
 *   413 or another 4xx, and it has several calls     none judged                            yes
 *   413 or another 4xx, and it has one call          rejected                               no
 *   3xx, 600 or more                                 all rejected                           no
 *
 * A list is readable if it contains one object for each call, with a `status` from 200 to 599. An `error` that is
 * not a string is ignored.
 */

import assert from "node:assert/strict";
import { isJsonObject } from "../../../domain/json.ts";
import { uuidV5 } from "../../../domain/uuid.ts";
import {
  type CallVerdict,
  hasRoom,
  type Measured,
  type Sendable,
  type SendResult,
  type UnitLimits,
  type UnitVerdict,
} from "../port.ts";
import { judge } from "./judge.ts";
import { payload } from "./payload.ts";
import type { Batch, WebhookDestination } from "./settings.ts";
import { visible } from "./signature.ts";

/** UUID namespace of the Standard Webhooks IDs of batches. */
const NAMESPACE = "354b2379-b290-4251-bba9-3d5b41fcdd13";
/** Many servers reject headers that are longer than this. */
const ID_LIST_CHARACTERS = 8_192;
const [COMMA, NEWLINE] = [0x2c, 0x0a];

/** A delivery for a destination with `batch`. Its body is that of a request for this delivery alone. */
export interface MeasuredCall extends Measured {
  readonly body: string;
  /** The settings with which the delivery was measured. They are kept when a batch is split. */
  readonly batch: Batch;
}

/** Returns null if each request has one call. `bytes` is the maximum total size of the measured calls in a batch. */
export function limitsOf({ batch }: Pick<WebhookDestination, "batch">): UnitLimits | null {
  if (batch === null) return null;
  const { calls, waitMs } = batch;
  return { calls, bytes: bytesMax(batch), waitMs };
}

function bytesMax({ bytes, format }: Batch): number {
  return format === "array" ? bytes - 1 : bytes;
}

export function measure(
  { payload: shape }: Pick<WebhookDestination, "payload">,
  batch: Batch,
  sendable: Sendable,
): MeasuredCall {
  const { delivery, content } = sendable;
  const body = payload(content, delivery, shape);
  const bytes = Buffer.byteLength(body) + 1;
  const isAlone = content.type === "delete" || bytes > bytesMax(batch);
  return { delivery, body, batch, bytes, isAlone };
}

/**
 * Divides deliveries that arrive together into batches. The current batch ends before a delivery that must be sent
 * alone.
 */
export function unitsOf(
  destination: WebhookDestination,
  deliveries: readonly Sendable[],
): readonly (readonly Sendable[])[] {
  const { batch } = destination;
  const limits = limitsOf(destination);
  if (batch === null || limits === null) return deliveries.map((one) => [one]);
  const units: Sendable[][] = [];
  let bytes = 0;
  let isClosed = true;
  for (const delivery of deliveries) {
    const next = measure(destination, batch, delivery);
    const last = units.at(-1);
    const size = { calls: last?.length ?? 0, bytes };
    if (last !== undefined && !isClosed && hasRoom(limits, size, next)) last.push(delivery);
    else {
      units.push([delivery]);
      bytes = 0;
    }
    bytes += next.bytes;
    isClosed = next.isAlone;
  }
  return units;
}

/**
 * Writes the calls directly into the body. A joined string would have to be copied two more times.
 *
 * @param calls at least one call, in the order in which the calls are sent.
 */
export function batchBody(
  format: Batch["format"],
  calls: readonly Pick<MeasuredCall, "body" | "bytes">[],
): Buffer {
  const isArray = format === "array";
  const separator = isArray ? COMMA : NEWLINE;
  const length = calls.reduce((sum, { bytes }) => sum + bytes, isArray ? 1 : 0);
  const written = Buffer.allocUnsafe(length);
  let end = isArray ? written.write("[") : 0;
  for (const { body, bytes } of calls) {
    // A call with as many bytes as characters is ASCII. Writing it as Latin-1 only copies the bytes.
    end += written.write(body, end, body.length === bytes - 1 ? "latin1" : "utf8");
    written[end] = separator;
    end += 1;
  }
  if (isArray) written.write("]", end - 1);
  assert(end === length);
  return written;
}

export function contentTypeOf(format: Batch["format"]): string {
  return format === "array" ? "application/json" : "application/x-ndjson";
}

/** Visible ASCII without a comma and a percent sign. */
const PLAIN_IDS = /^[!-$&-+\--~]*$/;

/** Joins message IDs for a header. They are separated by commas, and a comma in an ID is percent-encoded. */
export function idList(messageIds: readonly string[]): string {
  if (PLAIN_IDS.test(messageIds.join(""))) return messageIds.join();
  return messageIds.map((id) => visible(id).replaceAll(",", "%2C")).join();
}

/** Returns null if the list is too long for a header. */
export function listHeader(list: string): string | null {
  return list.length < ID_LIST_CHARACTERS ? list : null;
}

/** The ID of a batch. The same list always results in the same ID. @param list the result of `idList`. */
export function batchId(list: string): string {
  return uuidV5(NAMESPACE, list);
}

/**
 * @param calls the number of calls in the request.
 * @param nowMs when the response arrived.
 * @param hasAuth as for `judge`.
 */
export function judgeBatch(
  responses: Batch["responses"],
  result: SendResult,
  calls: number,
  nowMs: number,
  hasAuth = false,
): UnitVerdict {
  const outcome = judge(result, nowMs, hasAuth);
  const whole: UnitVerdict = { outcome, calls: null, isSplit: false, isUnreadable: false };
  if (result.kind === "no-response") return whole;
  const { status, body } = result;
  if (outcome.kind === "rejected") return { ...whole, isSplit: calls > 1 && isSplitting(status) };
  if (outcome.kind === "retry" || responses === "whole") return whole;
  const each = readEach(body, calls);
  if (each === null) return { ...whole, isUnreadable: true };
  return { ...whole, calls: each.map((one) => callVerdict(one, result, nowMs, hasAuth)) };
}

function isSplitting(status: number): boolean {
  return status >= 400 && status < 500 && status !== 410;
}

interface CallResponse {
  readonly status: number;
  readonly error: string | null;
}

function callVerdict(
  { status, error }: CallResponse,
  response: Extract<SendResult, { readonly kind: "response" }>,
  nowMs: number,
  hasAuth: boolean,
): CallVerdict {
  return { outcome: judge({ ...response, status }, nowMs, hasAuth), status, error };
}

/** Returns null unless the body is a list with a status for each call. */
export function readEach(body: Buffer | undefined, calls: number): readonly CallResponse[] | null {
  const list = body === undefined ? null : parsed(body);
  if (!Array.isArray(list) || list.length !== calls) return null;
  const read: CallResponse[] = [];
  for (const entry of list as readonly unknown[]) {
    if (!isJsonObject(entry)) return null;
    const { status, error } = entry;
    if (typeof status !== "number" || !isStatus(status)) return null;
    read.push({ status, error: typeof error === "string" ? error : null });
  }
  return read;
}

function isStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 200 && status < 600;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return null;
  }
}
