/**
 * Decides what happens to a delivery after an attempt (docs/retries.md#retry-schedule). A destination's type judges
 * each request, and `choose-retry-delay.ts` chooses the delay.
 *
 *   deliver: any                                 decision
 *   one endpoint accepted                        delivered
 *   none accepted, some failed                   scheduled for retry at those that failed; rejections are recorded
 *   ... and the next attempt would be too late   dead letter with the reason expired
 *   all rejected, now or earlier, or are gone    dead letter with the reason rejected
 *
 *   deliver: every; an endpoint                  decision, for this endpoint only
 *   accepted                                     delivered
 *   failed                                       scheduled for retry with a reference to the endpoint, or expired
 *   rejected, or is gone                         dead letter with the reason rejected
 *   was skipped                                  scheduled in the same way, after at most 2 minutes
 *
 *   deliver: every, with a strict order          decision, for the whole delivery
 *   every endpoint accepted, now or earlier      delivered
 *   some failed                                  scheduled for retry at those that have not accepted or rejected it,
 *                                                which are recorded
 *   ... and the next attempt would be too late   dead letter with the reason expired
 *   none failed, and some rejected or are gone   dead letter with the reason rejected; a replay of it is sent to these
 *
 * An endpoint is gone after a response of 410 (`endpoint-availability.ts`). The delivery that got the response is
 * rejected; later ones are not sent to the endpoint, and nothing is recorded in them, because an operator may resume
 * the destination.
 *
 * A rejection is recorded in the delivery, so that with `any` only the other endpoints are requested again. It counts
 * for the URL: if the URL is changed before the next attempt, the endpoint is requested again.
 *
 * A delivery that was not accepted is replaced by other records, which an output describes:
 *
 *   output      the delivery                                its sentence
 *   scheduled   one more retry; due after the delay;        -
 *               not-before only if it is later than that
 *   expired     unchanged                                   the retry window, the attempts made, why it was not
 *                                                           attempted when due, the last response
 *   rejected    unchanged                                   the last response
 *   by all
 *   gone        unchanged                                   the last response
 */

import assert from "node:assert/strict";
import type { DeadLetterReason } from "../../domain/dead-letter.ts";
import type { Delivery } from "../../domain/delivery.ts";
import type { AttemptedDestination, Endpoint } from "../../domain/destination.ts";
import { type EndpointNames, nameOf } from "../../domain/endpoint-name.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import {
  type CallVerdict,
  type Outcome,
  RETRY,
  responded,
  type SendResult,
} from "../destinations/port.ts";
import { delayAfterAttempt, delayOfShare, type RetryPolicy } from "./choose-retry-delay.ts";

export interface EndpointResult {
  readonly endpoint: EndpointKey;
  readonly result: SendResult | Skipped;
  /**
   * The outcome of the request as the destination's type judged it. An endpoint that was skipped counts as failed or, if
   * it is gone, as rejecting.
   */
  readonly outcome: Outcome;
}

/** The result for an endpoint that was unavailable or gone, so that no request was sent. */
export interface Skipped {
  readonly kind: "skipped";
}

const SKIPPED: Skipped = { kind: "skipped" };
const REJECTED: Outcome = { kind: "rejected" };

export function skipped({ key }: Endpoint): EndpointResult {
  return { endpoint: key, result: SKIPPED, outcome: RETRY };
}

export function skippedAsGone({ key }: Endpoint): EndpointResult {
  return { endpoint: key, result: SKIPPED, outcome: REJECTED };
}

/** The stage decides `suppressed` before an attempt; all others follow from one. */
export type DecisionName = "accepted" | "retry" | "rejected" | "expired" | "suppressed";

export interface Decision {
  /**
   * The name of the decision in logs and metrics. With `every`, it is retry if any endpoint is retried, otherwise
   * expired if the delivery expired for any of them, otherwise rejected or delivered.
   */
  readonly name: DecisionName;
  /** Records that must be written before the delivery counts as processed; empty if it was delivered. */
  readonly outputs: readonly Output[];
}

/** Which endpoints must accept a delivery. With a strict order, it is one record until it is settled. */
export type Deliver = AttemptedDestination["deliver"] | "every-ordered";

export function deliverOf({
  deliver,
  order,
}: Pick<AttemptedDestination, "deliver" | "order">): Deliver {
  return deliver === "every" && order === "strict" ? "every-ordered" : deliver;
}

const DELIVERED: Decision = { name: "accepted", outputs: [] };

/**
 * @param delivery contains its first-attempt-at and the number of earlier attempts.
 * @param configured the endpoints of the destination.
 * @param results the results of the endpoints that had not rejected the delivery earlier; at least one of them was
 * requested.
 * @param nowMs when the last request completed.
 */
export function decide(
  delivery: Delivery,
  deliver: Deliver,
  configured: EndpointNames,
  results: readonly EndpointResult[],
  policy: RetryPolicy,
  nowMs: number,
): Decision {
  assert(results.length > 0);
  const isAny = deliver === "any" || delivery.endpoint !== null;
  // By far the most frequent case returns early.
  if (isAny && results.some(isAccepted)) return DELIVERED;
  const attempted = { ...delivery, attempt: delivery.attempt + 1, notBeforeMs: null };
  if (isAny) return decideFailed(attempted, configured, results, policy, nowMs);
  if (deliver === "every-ordered") {
    const now = results.filter(isAccepted).map(({ endpoint }) => nameOf(endpoint, configured).ref);
    const accepted = [...new Set([...delivery.accepted, ...now])];
    if ([...configured.values()].every(({ ref }) => accepted.includes(ref))) return DELIVERED;
    const earlier = rejectedBefore(delivery, results, configured);
    return decideFailed({ ...attempted, accepted }, configured, results, policy, nowMs, earlier);
  }
  const outputs = results.flatMap((each) => {
    if (isAccepted(each)) return [];
    const endpoint = nameOf(each.endpoint, configured).ref;
    if (each.result.kind !== "skipped") {
      return decideFailed({ ...attempted, endpoint }, configured, [each], policy, nowMs).outputs;
    }
    if (each.outcome.kind === "rejected") return noneLeft({ ...delivery, endpoint });
    const endAtMs = endOf(delivery, policy, nowMs);
    const delayMs = delayOfShare(policy, delivery.retryCount, nowMs, endAtMs);
    return scheduleRetry({ ...delivery, endpoint }, delayMs, null, nowMs);
  });
  return outputs.length === 0 ? DELIVERED : { name: leastFinal(outputs), outputs };
}

/** Decides if not enough endpoints have accepted the delivery. @param earlier results that are reported, too. */
function decideFailed(
  attempted: Delivery,
  configured: EndpointNames,
  judged: readonly EndpointResult[],
  policy: RetryPolicy,
  nowMs: number,
  earlier: readonly string[] = [],
): Decision {
  const { accepted } = attempted;
  const refusing = judged.filter(({ outcome }) => outcome.kind === "rejected");
  const gone = refusing.filter(isSkipped).map(({ endpoint }) => endpoint);
  const now = refusing.filter((each) => !isSkipped(each)).map(({ endpoint }) => endpoint);
  const rejected = [...new Set([...attempted.rejected, ...now])];
  const last = [...earlier, ...judged.map((each) => outcomeText(each, configured))];
  // Contains the names of this moment, because the endpoints may change before somebody reads it.
  const delivery = { ...attempted, rejected, lastOutcome: last.join() };
  const possible =
    delivery.endpoint === null
      ? [...configured.keys()].filter((key) => !accepted.includes(nameOf(key, configured).ref))
      : judged.map(({ endpoint }) => endpoint);
  const left = possible.filter((key) => !rejected.includes(key));
  if (left.length === 0) return only(allRejected(delivery));
  if (left.every((key) => gone.includes(key))) return only(noneLeft(delivery));
  const askedMs = longestRetryAfter(judged);
  const endAtMs = endOf(delivery, policy, nowMs);
  const delayMs = delayAfterAttempt(policy, delivery.attempt, askedMs, nowMs, endAtMs);
  if (delayMs === null) return only(expired(delivery, policy, null));
  return only(scheduleRetry(delivery, delayMs, nowMs + askedMs, nowMs));
}

export function isAccepted({ outcome }: EndpointResult): boolean {
  return outcome.kind === "accepted";
}

/** The result of one delivery, if the response contains a status for each delivery of the request. */
export function resultOf(
  { outcome, status, error }: CallVerdict,
  whole: EndpointResult,
): EndpointResult {
  const { endpoint, result } = whole;
  if (result.kind !== "response") return whole;
  const { retryAfter, durationMs, phases } = result;
  const kept = outcome.kind === "accepted" || error === null ? null : phases?.keepBytes;
  const own =
    kept === null || kept === undefined || error === null
      ? phases
      : { ...phases, kept: [Buffer.from(error).subarray(0, kept)] };
  return { endpoint, result: responded(status, retryAfter, durationMs, own), outcome };
}

export function isSkipped({ result }: EndpointResult): boolean {
  return result.kind === "skipped";
}

function endOf(delivery: Delivery, { retryWindowMs }: RetryPolicy, nowMs: number): number {
  return (delivery.firstAttemptAtMs ?? nowMs) + retryWindowMs;
}

function only(output: Output): Decision {
  return { name: leastFinal([output]), outputs: [output] };
}

function leastFinal(outputs: readonly Output[]): DecisionName {
  if (outputs.some(({ kind }) => kind === "retry")) return "retry";
  const hasExpired = outputs.some((output) => "reason" in output && output.reason === "expired");
  return hasExpired ? "expired" : "rejected";
}

function longestRetryAfter(judged: readonly EndpointResult[]): number {
  let longestMs = 0;
  for (const { outcome } of judged) {
    if (outcome.kind === "retry") longestMs = Math.max(longestMs, outcome.retryAfterMs ?? 0);
  }
  return longestMs;
}

function outcomeText({ endpoint, result }: EndpointResult, configured: EndpointNames): string {
  return `${nameOf(endpoint, configured).name}=${said(result)}`;
}

/** The results of endpoints that rejected the delivery in an earlier attempt: because of them it becomes a dead letter. */
function rejectedBefore(
  { lastOutcome, rejected }: Delivery,
  judged: readonly EndpointResult[],
  configured: EndpointNames,
): readonly string[] {
  const names = rejected
    .filter((key) => configured.has(key) && !judged.some(({ endpoint }) => endpoint === key))
    .map((key) => `${nameOf(key, configured).name}=`);
  const isOf = (text: string) => names.some((name) => text.startsWith(name));
  return (lastOutcome ?? "").split(",").filter(isOf);
}

function said(result: SendResult | Skipped): string {
  if (result.kind === "response") return `${result.status}`;
  return result.kind === "skipped" ? "skipped" : result.cause;
}

/** A record to write instead of the delivery's own. */
export type Output =
  | { readonly kind: "retry"; readonly delayMs: number; readonly delivery: Delivery }
  | {
      readonly kind: "dead-letter";
      readonly reason: DeadLetterReason;
      /** One sentence. */
      readonly error: string;
      readonly delivery: Delivery;
      /** Set if the retry window ended while the delivery was due but not attempted. */
      readonly waited?: Waited;
    };

/** Why a due delivery was not attempted. */
const WAITED = {
  paused: "the destination was paused",
  disabled: "the destination was disabled",
  token: "no token could be obtained",
  proxy: "the proxy failed",
  gone: "every endpoint had responded 410",
  "retry-after": "the endpoint had sent Retry-After",
  "circuit-open": "the endpoint kept failing, and other deliveries were attempted first",
  late: "the delivery was returned too late",
} as const;
export type Waited = keyof typeof WAITED;

/** Schedules a retry of the delivery; `notBeforeMs` is kept only if it is later than the end of the delay. */
export function scheduleRetry(
  delivery: Delivery,
  delayMs: number,
  notBeforeMs: number | null,
  nowMs: number,
): Output {
  const dueAtMs = nowMs + delayMs;
  const later = notBeforeMs !== null && notBeforeMs > dueAtMs ? notBeforeMs : null;
  return {
    kind: "retry",
    delayMs,
    delivery: { ...delivery, retryCount: delivery.retryCount + 1, dueAtMs, notBeforeMs: later },
  };
}

/** @param waited null if the delivery was attempted when due, but the next attempt would be too late. */
export function expired(
  delivery: Delivery,
  { retryWindowMs }: RetryPolicy,
  waited: Waited | null,
): Output {
  const { attempt, lastOutcome } = delivery;
  const why = waited === null ? "" : `; the next attempt was due, but ${WAITED[waited]}`;
  const attempts = attempt === 1 ? "1 attempt" : `${attempt} attempts`;
  const by = delivery.accepted.length > 0 ? " by every endpoint" : "";
  const last = lastOutcome === null ? "" : `; the last attempt: ${lastOutcome}`;
  return {
    kind: "dead-letter",
    reason: "expired",
    error: `not accepted${by} within ${retryWindowMs / 1_000} s, in ${attempts}${why}${last}`,
    delivery,
    ...(waited === null ? {} : { waited }),
  };
}

export function allRejected(delivery: Delivery): Output {
  const which = delivery.accepted.length > 0 ? " that did not accept it" : "";
  return rejectedWith(`every endpoint${which} rejected it`, delivery);
}

/** The output if each endpoint of the delivery has rejected it or is gone. */
export function noneLeft(delivery: Delivery): Output {
  const done = delivery.accepted.length > 0 ? "accepted or rejected" : "rejected";
  const why = `each has ${done} it, or had responded 410 to another request`;
  return rejectedWith(`no endpoint is left: ${why}`, delivery);
}

function rejectedWith(why: string, delivery: Delivery): Output {
  const error = `${why}; the last attempt: ${delivery.lastOutcome ?? "none"}`;
  return { kind: "dead-letter", reason: "rejected", error, delivery };
}
