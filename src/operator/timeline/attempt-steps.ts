/**
 * Finds the attempts at a call's deliveries: those on the attempts topic, and those that can be inferred from a
 * delivery's later records.
 *
 *   evidence                                              attempt
 *   a record on the attempts topic                        as recorded; `suppressed` is not an attempt, but a step
 *   a delivery in a delay topic that was attempted        ended when the retry was scheduled, with its last result
 *   a dead letter of the deliver stage, after an attempt  ended when it was dead-lettered, with its last result
 *   ... that expired while it was due                     none: its error says that it was not attempted again
 *   the same attempt in two of these                      as in the first of these rows
 *
 * The time at which a retry was scheduled is its due time minus the retry delay, which is exactly the end of the
 * attempt. After a replay, attempts are numbered from 1 again, so the number alone does not identify an attempt.
 */

import type { AttemptRequestRecord } from "../../domain/attempt-record.ts";
import type { Delivery } from "../../domain/delivery.ts";
import { delayMsOfTopic } from "../../domain/topics.ts";
import type { Evidence } from "./find-records.ts";
import type { AttemptStep, SuppressedStep } from "./steps.ts";

/**
 * The clocks of processes are assumed to differ by less than this. Two attempts at a delivery are never this close
 * together.
 */
const SAME_WITHIN_MS = 1_000;
const NOT_ATTEMPTED = "; the next attempt was due, but ";

/** Pure. */
export function attemptSteps(evidence: Evidence): readonly (AttemptStep | SuppressedStep)[] {
  const recorded = evidence.attempts ?? [];
  const suppressed = recorded
    .filter(({ decision }) => decision === "suppressed")
    .map(
      ({ endedAtMs: atMs, destination }) => ({ kind: "suppressed", atMs, destination }) as const,
    );
  const attempted = recorded.filter(({ decision }) => decision !== "suppressed");
  const steps: AttemptStep[] = attempted.map((each) => ({
    kind: "attempt",
    atMs: each.endedAtMs,
    destination: each.destination,
    attempt: each.attempt,
    decision: each.decision,
    batch: each.batch,
    requests: each.requests,
    next: each.next,
    from: "attempts",
  }));
  for (const implied of [...impliedByRetry(evidence), ...impliedByDeadLetters(evidence)]) {
    if (!steps.some((step) => isSame(step, implied))) steps.push(implied);
  }
  return [...steps, ...suppressed];
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
    batch: null,
    requests,
    next: [],
    from: "headers",
  };
}

/** Parses text such as `crm[1] crm.example.com=503,crm[2] crm.example.com=timeout`. */
function requestsOf(lastOutcome: string): readonly AttemptRequestRecord[] {
  return lastOutcome.split(/(?<==[\w-]+),/).map((each) => {
    const at = each.lastIndexOf("=");
    const [endpoint, said] = [each.slice(0, at), each.slice(at + 1)];
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
