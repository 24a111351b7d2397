/**
 * Builds the timeline of one call from the records that belong to the call. Pure; commands and the console show the
 * result.
 *
 *   a record                                       step
 *   on calls                                       received, or unusable; and skipped for each destination of its source to
 *                                                  which it is not routed
 *   in a queue, the first of its destination       routed, with the reason by the current configuration
 *   in a queue, after a dead letter there          replayed
 *   in a queue, any other                          requeued: after a crash, or because the call was received twice
 *   on a delay topic                               retry-scheduled; rerouted, if its topic was not writable
 *   on a retry topic                               returned, and by how much it was overdue
 *   in `dead-letters`                              dead-lettered
 *   of an attempt                                  attempt, or suppressed (`attempt-steps.ts`)
 *
 * If the user is suppressed now, and the call has no delivery for a destination that should get it, the call was skipped.
 *
 * Steps in the same millisecond are in the order of this table, but an attempt comes before the steps that follow
 * from it.
 */

import { endpointIdIn } from "../../domain/endpoint-name.ts";
import { attemptSteps } from "./attempt-steps.ts";
import { finalStatesOf } from "./final-states.ts";
import type { Evidence, FoundDelivery, Routing } from "./find-records.ts";
import { instant } from "./sentences.ts";
import type {
  CallTimeline,
  DeadLetteredStep,
  Gap,
  RetryScheduledStep,
  ReturnedStep,
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
  const steps: TimelineStep[] = [
    ...callSteps(evidence),
    ...queueSteps(evidence),
    ...evidence.scheduledRetries.map(retryScheduledStep),
    ...evidence.retries.map(returnedStep),
    ...evidence.deadLetters.map(deadLetteredStep),
    ...attemptSteps(evidence),
  ];
  steps.sort((one, other) => one.atMs - other.atMs || rank(one) - rank(other));
  const finalStates = finalStatesOf(evidence, steps, nowMs);
  return {
    messageId: evidence.messageId,
    steps,
    finalStates,
    gaps: gapsOf(evidence, steps, finalStates),
  };
}

function rank({ kind }: TimelineStep): number {
  return ORDER.indexOf(kind);
}

function callSteps({ calls, queued, suppressedAtMs = null }: Evidence): readonly TimelineStep[] {
  const why = `the call's user has been suppressed since ${instant(suppressedAtMs ?? 0)}`;
  const isSuppressed = ({ destination, gets }: Routing) =>
    suppressedAtMs !== null &&
    gets &&
    !queued.some(({ delivery }) => delivery.destination === destination);
  return calls
    .toSorted((one, other) => one.atMs - other.atMs)
    .flatMap(({ place, atMs, facts }, index): readonly TimelineStep[] => {
      if (facts.kind === "unusable") {
        return [{ kind: "unusable", atMs, place, reason: facts.reason, error: facts.error }];
      }
      const { type, event, source, namedBy, receivedAtMs, destinations } = facts;
      const isRepeated = index > 0;
      const call = { type, event, source, namedBy, receivedAtMs, isRepeated };
      const judged = destinations.map((each) =>
        isSuppressed(each) ? { ...each, gets: false, why } : each,
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

function returnedStep({ place, atMs, delivery }: FoundDelivery): ReturnedStep {
  const { destination, dueAtMs, endpoint } = delivery;
  const lateMs = dueAtMs === null ? null : atMs - dueAtMs;
  return {
    kind: "returned",
    atMs,
    destination,
    place,
    lateMs,
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
