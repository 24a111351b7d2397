/**
 * Finds the final state of a call at each destination to which it was routed. The last step at the destination
 * decides. With `deliver: every`, the call is waiting if it is still waiting for any endpoint.
 *
 *   the last step there                                     final state
 *   its attempt was accepted                                accepted
 *   dead-lettered                                           dead-lettered
 *   processed without an attempt: its user is suppressed    suppressed
 *   retry scheduled, and neither due nor canceled           waiting
 *   retry scheduled, and due                                due
 *   queued, and waits behind an earlier delivery            queued, with the message ID of that one
 *   queued or returned, and its offset is processed         finished: probably accepted; if the user is suppressed now,
 *                                                           perhaps not sent
 *   ... and its offset is not processed, or unknown         queued
 *   on the topic of a topic destination                     written
 *   an attempt that has no retry or dead letter             waiting or due, if its next attempt was recorded; otherwise
 *                                                           finished
 */

import { type Evidence, placeText } from "./find-records.ts";
import type {
  AttemptStep,
  FinalState,
  FinalStateKind,
  RetryScheduledStep,
  TimelineStep,
} from "./steps.ts";

type StepThere = Exclude<TimelineStep, { readonly kind: "received" | "unusable" | "skipped" }>;

/** @param steps the steps in the order of time. */
export function finalStatesOf(
  evidence: Evidence,
  steps: readonly TimelineStep[],
  nowMs: number,
): readonly FinalState[] {
  const byDestination = Map.groupBy(steps.filter(isThere), ({ destination }) => destination);
  const received = steps.find((step) => step.kind === "received");
  return [...byDestination].flatMap(([destination, there]) => {
    if (destination === null) return [];
    const { kind, atMs, ...more } = finalStateOf(evidence, destination, there, nowMs);
    const attempts = there.filter((step) => step.kind === "attempt").length;
    const isTimed = kind === "accepted" && received?.kind === "received";
    const tookMs = isTimed ? Math.max(0, atMs - received.receivedAtMs) : null;
    const suppressedAtMs = kind === "finished" ? (evidence.suppressedAtMs ?? null) : null;
    return { destination, kind, atMs, attempts, tookMs, suppressedAtMs, ...more };
  });
}

interface StateAt {
  readonly kind: FinalStateKind;
  readonly atMs: number;
  readonly behind?: string;
}

function finalStateOf(
  evidence: Evidence,
  destination: string,
  there: readonly StepThere[],
  nowMs: number,
): StateAt {
  const open = stillAwaitingRetry(there);
  if (open !== null) {
    const dueAtMs = Math.max(open.dueAtMs, open.notBeforeMs ?? 0);
    return { kind: dueAtMs > nowMs ? "waiting" : "due", atMs: dueAtMs };
  }
  const last = there.at(-1);
  if (last === undefined) return { kind: "queued", atMs: nowMs };
  const { atMs } = last;
  switch (last.kind) {
    case "dead-lettered":
      return { kind: "dead-lettered", atMs };
    case "suppressed":
      return { kind: "suppressed", atMs };
    case "attempt":
      return attempted(last, nowMs);
    case "retry-scheduled":
    case "rerouted":
      return { kind: "due", atMs: last.dueAtMs };
    case "routed":
    case "requeued":
    case "replayed":
    case "returned": {
      if (evidence.topicDestinations.has(destination)) return { kind: "written", atMs };
      const behind = evidence.behind?.get(placeText(last.place));
      if (behind !== undefined) return { kind: "queued", atMs, behind };
      return { kind: evidence.isFinished(last.place) === true ? "finished" : "queued", atMs };
    }
  }
}

function attempted({ decision, atMs, next }: AttemptStep, nowMs: number): StateAt {
  if (decision === "accepted") return { kind: "accepted", atMs };
  const dueAtMs = next[0]?.atMs;
  if (dueAtMs === undefined) return { kind: "finished", atMs };
  return { kind: dueAtMs > nowMs ? "waiting" : "due", atMs: dueAtMs };
}

/** The last scheduled retry that was not followed by another step for the same endpoint. */
function stillAwaitingRetry(there: readonly StepThere[]): RetryScheduledStep | null {
  const open = there.filter((step, at) => {
    if (!schedulesRetry(step)) return false;
    return !there.slice(at + 1).some((later) => follows(later, step));
  });
  return open.filter(schedulesRetry).at(-1) ?? null;
}

function schedulesRetry(step: StepThere): step is RetryScheduledStep {
  return step.kind === "retry-scheduled" || step.kind === "rerouted";
}

/** Returns true if the step is later, and is for the same endpoint or for the whole delivery. */
function follows(later: StepThere, { endpoint, dueAtMs, place }: RetryScheduledStep): boolean {
  switch (later.kind) {
    case "returned":
    case "retry-scheduled":
    case "rerouted":
      return endpoint === null || later.endpoint === endpoint;
    case "attempt":
    case "suppressed":
      return later.atMs >= dueAtMs;
    // A canceled delivery leaves its delay topic before it is due.
    case "dead-lettered":
      return later.atMs >= dueAtMs || later.from === placeText(place);
    // A rerouted delivery returns to its queue.
    case "routed":
    case "requeued":
    case "replayed":
      return later.atMs >= dueAtMs;
  }
}

function isThere(step: TimelineStep): step is StepThere {
  return step.kind !== "received" && step.kind !== "unusable" && step.kind !== "skipped";
}
