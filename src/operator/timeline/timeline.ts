/**
 * Builds the timeline of one call from the records that belong to the call. Pure; commands and the console show the
 * result.
 *
 *   a record                                       step
 *   on calls                                       received, or unusable; and skipped for each destination of its source to
 *                                                  which it is not routed
 *   in a queue, the first of its destination       routed, with the reason by the current configuration
 *   in a queue, after a dead letter there; or in   replayed
 *     the retry topic, without a time when due
 *   in a queue, any other                          requeued: after a crash, or because the call was received twice
 *   on a delay topic                               retry-scheduled; rerouted, if its topic was not writable
 *   on a retry topic                               returned, and by how much it was overdue
 *   in `dead-letters`                              dead-lettered
 *   of an attempt                                  attempt, or suppressed (`attempt-steps.ts`)
 *
 * If the user is suppressed now, the route stage has processed the call, and nothing was found for a destination that
 * should get it, the call was skipped.
 *
 * Steps in the same millisecond are in the order of this table, but an attempt comes before the steps that follow
 * from it.
 */

import { endpointIdIn } from "../../domain/endpoint-name.ts";
import { attemptSteps } from "./attempt-steps.ts";
import { finalStatesOf } from "./final-states.ts";
import type { Evidence, FoundCall, FoundDelivery, Routing } from "./find-records.ts";
import { instant } from "./sentences.ts";
import type {
  CallTimeline,
  DeadLetteredStep,
  Gap,
  RetryScheduledStep,
  TimelineStep,
} from "./steps.ts";

const ORDER: readonly TimelineStep["kind"][] = [
  ...(["received", "unusable", "skipped", "routed", "requeued", "replayed"] as const),
  ...([
    "returned",
    "attempt",
    "suppressed",
    "retry-scheduled",
    "rerouted",
    "dead-lettered",
  ] as const),
];

export function timeline(evidence: Evidence, nowMs: number): CallTimeline {
  const later = stepsAfterCall(evidence);
  const steps = inOrder([...callSteps(evidence, later), ...later]);
  const finalStates = finalStatesOf(evidence, steps, nowMs);
  return {
    messageId: evidence.messageId,
    steps,
    finalStates,
    gaps: gapsOf(evidence, steps, finalStates),
  };
}

/** True if the suppression of the call's user would explain what happened to the call. */
export function asksForSuppression(evidence: Evidence, nowMs: number): boolean {
  const later = stepsAfterCall(evidence);
  const isMissing = evidence.calls.some(
    (call) => call.facts.kind === "call" && missingFor(evidence, call, later).length > 0,
  );
  return isMissing || finalStatesOf(evidence, later, nowMs).some(({ kind }) => kind === "finished");
}

function stepsAfterCall(evidence: Evidence): readonly TimelineStep[] {
  return inOrder([
    ...queueSteps(evidence),
    ...evidence.scheduledRetries.map(retryScheduledStep),
    ...evidence.retries.map(retryTopicStep),
    ...evidence.deadLetters.map(deadLetteredStep),
    ...attemptSteps(evidence),
  ]);
}

function inOrder(steps: readonly TimelineStep[]): readonly TimelineStep[] {
  return steps.toSorted((one, other) => one.atMs - other.atMs || rank(one) - rank(other));
}

function rank({ kind }: TimelineStep): number {
  return ORDER.indexOf(kind);
}

/** The destinations that should get a processed call, but for which nothing was found. */
function missingFor(
  { isFinished }: Evidence,
  { place, facts }: FoundCall,
  later: readonly TimelineStep[],
): readonly Routing[] {
  if (facts.kind === "unusable" || isFinished(place) !== true) return [];
  const found = new Set(later.map((step) => ("destination" in step ? step.destination : null)));
  // A dead letter without a destination is the call itself.
  return found.has(null)
    ? []
    : facts.destinations.filter(({ destination, gets }) => gets && !found.has(destination));
}

function callSteps(evidence: Evidence, later: readonly TimelineStep[]): readonly TimelineStep[] {
  const { calls, suppressedAtMs = null } = evidence;
  const why = `the call's user has been suppressed since ${instant(suppressedAtMs ?? 0)}`;
  return calls
    .toSorted((one, other) => one.atMs - other.atMs)
    .flatMap((found, index): readonly TimelineStep[] => {
      const { place, atMs, facts } = found;
      if (facts.kind === "unusable") {
        return [{ kind: "unusable", atMs, place, reason: facts.reason, error: facts.error }];
      }
      const { type, event, source, namedBy, receivedAtMs, destinations } = facts;
      const isRepeated = index > 0;
      const call = { type, event, source, namedBy, receivedAtMs, isRepeated };
      const suppressed = suppressedAtMs === null ? [] : missingFor(evidence, found, later);
      const judged = destinations.map((each) =>
        suppressed.includes(each) ? { ...each, gets: false, why } : each,
      );
      const skipped = isRepeated ? [] : judged.filter(({ gets }) => !gets);
      return [
        { kind: "received", atMs, place, ...call },
        ...skipped.map(
          ({ destination, why }) => ({ kind: "skipped", atMs, destination, why }) as const,
        ),
      ];
    });
}

function queueSteps({ calls, queued, deadLetters }: Evidence): readonly TimelineStep[] {
  const reasons = new Map<string, Routing>();
  for (const { facts } of calls) {
    if (facts.kind !== "call") continue;
    for (const each of facts.destinations) reasons.set(each.destination, each);
  }
  const seen = new Set<string>();
  return queued
    .toSorted((one, other) => one.atMs - other.atMs)
    .map(({ place, atMs, delivery: { destination } }): TimelineStep => {
      const isFirst = !seen.has(destination);
      seen.add(destination);
      if (isFirst) {
        const reason = reasons.get(destination);
        const why = reason?.gets === true ? reason.why : null;
        return { kind: "routed", atMs, destination, place, why };
      }
      const isDeadLettered = deadLetters.some(
        (deadLetter) => deadLetter.delivery?.destination === destination && deadLetter.atMs <= atMs,
      );
      return { kind: isDeadLettered ? "replayed" : "requeued", atMs, destination, place };
    });
}

function retryScheduledStep({
  place,
  atMs,
  delivery,
  delay,
  isRerouted,
}: Evidence["scheduledRetries"][number]): RetryScheduledStep {
  const { destination, dueAtMs, notBeforeMs, endpoint } = delivery;
  const kind = isRerouted ? "rerouted" : "retry-scheduled";
  return {
    kind,
    atMs,
    destination,
    place,
    retryDelay: delay,
    dueAtMs: dueAtMs ?? atMs,
    notBeforeMs,
    endpoint: endpoint && endpointIdIn(endpoint),
  };
}

/** A replay of a dead letter that blocks its user is written to the retry topic, and was never due. */
function retryTopicStep({ place, atMs, delivery }: FoundDelivery): TimelineStep {
  const { destination, dueAtMs, endpoint } = delivery;
  if (dueAtMs === null) return { kind: "replayed", atMs, destination, place };
  return {
    kind: "returned",
    atMs,
    destination,
    place,
    lateMs: atMs - dueAtMs,
    endpoint: endpoint && endpointIdIn(endpoint),
  };
}

function deadLetteredStep(deadLetter: Evidence["deadLetters"][number]): DeadLetteredStep {
  const { atMs, place, from, stage, reason, error, delivery } = deadLetter;
  const destination = delivery?.destination ?? null;
  return { kind: "dead-lettered", atMs, destination, place, from, stage, reason, error };
}

function gapsOf(
  { calls, attempts, sinceMs }: Evidence,
  steps: readonly TimelineStep[],
  finalStates: CallTimeline["finalStates"],
): readonly Gap[] {
  if (steps.length === 0) return [];
  const gaps: Gap[] = [];
  if (calls.length === 0) gaps.push({ kind: "call-not-found", sinceMs });
  const unknown = finalStates
    .filter(({ kind }) => kind === "finished")
    .map((each) => each.destination);
  const isImplied = steps.some((step) => step.kind === "attempt" && step.from === "headers");
  if (attempts === null) {
    if (unknown.length > 0 || isImplied) gaps.push({ kind: "no-attempts-topic" });
  } else if (unknown.length > 0) {
    gaps.push({ kind: "attempts-missing", destinations: unknown });
  }
  return gaps;
}
