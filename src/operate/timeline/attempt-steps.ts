/**
 * The attempts of a call: those of the topic of attempts, and those that a delivery carried away from
 * where it was attempted.
 *
 *   evidence                                            an attempt
 *   a record on the topic of attempts                   as it says
 *   a parked delivery that was attempted                made when it was parked, with its last outcome
 *   a dead letter of deliver, after an attempt          made when it was given up, with the same
 *   ... whose window ended while it waited              none: its sentence says that it was not attempted
 *   the same attempt in two of these                    the first of them
 *
 * The time of a parking is its due time less the tier's delay: the end of the attempt to the
 * millisecond. A replay begins to count at 1 again, so that a number alone says nothing.
 */

import type { AttemptRequestRecord } from "../../domain/attempt-record.ts";
import type { Delivery } from "../../domain/delivery.ts";
import { delayMsOfTopic } from "../../domain/topics.ts";
import type { Evidence } from "./find-records.ts";
import type { AttemptStep } from "./steps.ts";

/** Clocks of processes differ a little; no two attempts of a delivery are so close. */
const SAME_WITHIN_MS = 1_000;
const NOT_ATTEMPTED = "; it was due again, but ";

/** Pure. */
export function attemptSteps(evidence: Evidence): readonly AttemptStep[] {
  const steps: AttemptStep[] = (evidence.attempts ?? []).map((each) => ({
    kind: "attempt",
    atMs: each.endedAtMs,
    destination: each.destination,
    attempt: each.attempt,
    decision: each.decision,
    requests: each.requests,
    next: each.next,
    from: "attempts",
  }));
  for (const implied of [...impliedByRetry(evidence), ...impliedByDeadLetters(evidence)]) {
    if (!steps.some((step) => isSame(step, implied))) steps.push(implied);
  }
  return steps;
}

function impliedByRetry({ scheduledRetries }: Evidence): readonly AttemptStep[] {
  return scheduledRetries.flatMap(({ delivery, delay, isRerouted }) => {
    const delayMs = delayMsOfTopic(delay);
    const { attempt, dueAtMs, lastOutcome } = delivery;
    const isAttempted = !isRerouted && attempt > 0 && lastOutcome !== null;
    if (!isAttempted || delayMs === null || dueAtMs === null) return [];
    return impliedStep(delivery, dueAtMs - delayMs, "retry");
  });
}

function impliedByDeadLetters({ deadLetters }: Evidence): readonly AttemptStep[] {
  return deadLetters.flatMap(({ delivery, stage, reason, error, atMs }) => {
    const isAttempted = delivery !== null && delivery.attempt > 0 && delivery.lastOutcome !== null;
    if (!isAttempted || stage !== "deliver") return [];
    if (reason !== "rejected" && reason !== "expired") return [];
    return error.includes(NOT_ATTEMPTED) ? [] : impliedStep(delivery, atMs, reason);
  });
}

function impliedStep(delivery: Delivery, atMs: number, decision: string): AttemptStep {
  const { destination, attempt, lastOutcome } = delivery;
  const requests = requestsOf(lastOutcome ?? "");
  return {
    kind: "attempt",
    atMs,
    destination,
    attempt,
    decision,
    requests,
    next: [],
    from: "headers",
  };
}

/** Of `<endpoint key>=503,<endpoint key>=timeout`. */
function requestsOf(lastOutcome: string): readonly AttemptRequestRecord[] {
  return lastOutcome.split(",").map((each) => {
    const [endpoint = "", said = ""] = each.split("=");
    const status = /^\d{3}$/.test(said) ? Number(said) : null;
    const isSkipped = said === "skipped";
    return {
      endpoint,
      outcome: isSkipped ? "skipped" : "",
      status,
      cause: status === null && !isSkipped ? said : null,
      durationMs: null,
      phases: {},
      response: null,
    };
  });
}

function isSame(one: AttemptStep, other: AttemptStep): boolean {
  const isAtOnce = Math.abs(one.atMs - other.atMs) <= SAME_WITHIN_MS;
  return isAtOnce && one.destination === other.destination && one.attempt === other.attempt;
}
