/**
 * Decides about a delivery after an attempt (docs/retries.md#retry-schedule). A destination's
 * type judges each request, `choose-retry-delay.ts` chooses the delay.
 *
 *   endpoints requested                        decision
 *   any, one accepted                          delivered
 *   any, none accepted, some to try again      parked for those, with the rejections noted
 *   ... and the next attempt would be too late dead letter, expired
 *   any, all rejected, now or before           dead letter, rejected
 *   every, each on its own                     accepted: nothing; to try again: parked with its
 *                                              endpoint's key, or expired; rejected: dead letter;
 *                                              held: parked with its key, for at most 2 minutes
 *
 * A rejection is noted in the delivery, so that with `any` only the others are tried again.
 */

import assert from "node:assert/strict";
import type { Outcome, SendResult } from "../destinations/port.ts";
import type { Delivery } from "../domain/delivery.ts";
import type { EndpointKey } from "../domain/ids.ts";
import { delayAfterAttempt, delayOfShare, type RetryPolicy } from "./choose-retry-delay.ts";
import { allRejected, expired, type Output, scheduleRetry } from "./output.ts";

export interface EndpointResult {
  readonly endpoint: EndpointKey;
  readonly result: SendResult | Skipped;
  /** By the destination's type; of one that was skipped: to be tried again. */
  readonly outcome: Outcome;
}

/** The endpoint was unavailable: a failure without a request. */
export interface Skipped {
  readonly kind: "skipped";
}

export type DecisionName = "accepted" | "retry" | "rejected" | "expired";

export interface Decision {
  /** The decision's name in logs and metrics. With `every`, the least final one. */
  readonly name: DecisionName;
  /** Records to write before the one in hand is finished; none when all is delivered. */
  readonly outputs: readonly Output[];
}

const DELIVERED: Decision = { name: "accepted", outputs: [] };

/**
 * @param delivery as planned: with its first-attempt-at, and the attempts made before this one.
 * @param configured keys of the endpoints that the delivery could have gone to.
 * @param results what each endpoint answered that had not rejected it; at least one was requested.
 * @param nowMs when the last of them had answered.
 */
export function decide(
  delivery: Delivery,
  deliver: "any" | "every",
  configured: readonly EndpointKey[],
  results: readonly EndpointResult[],
  policy: RetryPolicy,
  nowMs: number,
): Decision {
  assert(results.length > 0);
  const isAny = deliver === "any" || delivery.endpoint !== null;
  // By far the most frequent case, so it costs nothing more.
  if (isAny && results.some(isAccepted)) return DELIVERED;
  const attempted = { ...delivery, attempt: delivery.attempt + 1, notBeforeMs: null };
  if (isAny) {
    return decideAny(attempted, configured, results, policy, nowMs);
  }
  const outputs = results.flatMap((each) => {
    const { endpoint, result } = each;
    if (result.kind !== "skipped") {
      return decideAny({ ...attempted, endpoint }, [endpoint], [each], policy, nowMs).outputs;
    }
    const endAtMs = endOf(delivery, policy, nowMs);
    const delayMs = delayOfShare(policy, delivery.retryCount, nowMs, endAtMs);
    return scheduleRetry({ ...delivery, endpoint }, delayMs, null, nowMs);
  });
  return outputs.length === 0 ? DELIVERED : { name: leastFinal(outputs), outputs };
}

function decideAny(
  attempted: Delivery,
  configured: readonly EndpointKey[],
  judged: readonly EndpointResult[],
  policy: RetryPolicy,
  nowMs: number,
): Decision {
  if (judged.some(isAccepted)) return DELIVERED;
  const now = judged.filter(({ outcome }) => outcome.kind === "rejected");
  const rejected = [...new Set([...attempted.rejected, ...now.map(({ endpoint }) => endpoint)])];
  const delivery = { ...attempted, rejected, lastOutcome: lastOutcome(judged) };
  if (configured.every((key) => rejected.includes(key))) return only(allRejected(delivery));
  const askedMs = longestRetryAfter(judged);
  const endAtMs = endOf(delivery, policy, nowMs);
  const delayMs = delayAfterAttempt(policy, delivery.attempt, askedMs, nowMs, endAtMs);
  if (delayMs === null) return only(expired(delivery, policy, null));
  return only(scheduleRetry(delivery, delayMs, nowMs + askedMs, nowMs));
}

function isAccepted({ outcome }: EndpointResult): boolean {
  return outcome.kind === "accepted";
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

function lastOutcome(judged: readonly EndpointResult[]): string {
  return judged
    .map(({ endpoint, result }) => {
      return `${endpoint}=${said(result)}`;
    })
    .join(",");
}

function said(result: SendResult | Skipped): string {
  if (result.kind === "response") return `${result.status}`;
  return result.kind === "skipped" ? "skipped" : result.cause;
}
