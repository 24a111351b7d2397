/**
 * How it stands with each destination that the call was routed to. The last thing that happened there
 * decides; with `deliver: every` one part that still waits decides for all.
 *
 *   the last step there                                    the fate
 *   its attempt was accepted                               accepted
 *   given up                                               given-up
 *   parked, and neither due nor cancelled                  waiting
 *   parked, and due                                        due
 *   on its line or returned, and its offset is finished    finished: accepted, as far as can be told
 *   ... and it is not, or that is not known                in-line
 *   on the topic of a destination of type topic            on-its-topic
 *   an attempt whose parking or dead letter is not there   waiting, if it says a next one; else finished
 */

import { type Evidence, placeText } from "./find-records.ts";
import type { AttemptStep, FinalState, FinalStateKind, RetryScheduledStep, Step } from "./steps.ts";

type StepThere = Exclude<Step, { readonly kind: "received" | "unusable" | "skipped" }>;

/** @param steps in order of time. */
export function finalStatesOf(
  evidence: Evidence,
  steps: readonly Step[],
  nowMs: number,
): readonly FinalState[] {
  const byDestination = new Map<string, StepThere[]>();
  for (const step of steps) {
    if (!isThere(step) || step.destination === null) continue;
    const there = byDestination.get(step.destination) ?? [];
    there.push(step);
    byDestination.set(step.destination, there);
  }
  const received = steps.find((step) => step.kind === "received");
  return [...byDestination].map(([destination, there]) => {
    const { kind, atMs } = finalStateOf(evidence, destination, there, nowMs);
    const attempts = there.filter((step) => step.kind === "attempt").length;
    const isTimed = kind === "accepted" && received?.kind === "received";
    const tookMs = isTimed ? Math.max(0, atMs - received.receivedAtMs) : null;
    return { destination, kind, atMs, attempts, tookMs };
  });
}

interface StateAt {
  readonly kind: FinalStateKind;
  readonly atMs: number;
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

/** The last parking that nothing of the same part followed. */
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

/** A later step of the same part, or of the whole delivery. */
function follows(later: StepThere, { endpoint, dueAtMs, place }: RetryScheduledStep): boolean {
  switch (later.kind) {
    case "returned":
    case "retry-scheduled":
    case "rerouted":
      return endpoint === null || later.endpoint === endpoint;
    case "attempt":
      return later.atMs >= dueAtMs;
    // One that is cancelled leaves its delay topic before it is due.
    case "dead-lettered":
      return later.atMs >= dueAtMs || later.from === placeText(place);
    // A destination that went around comes back on its line.
    case "routed":
    case "requeued":
    case "replayed":
      return later.atMs >= dueAtMs;
  }
}

function isThere(step: Step): step is StepThere {
  return step.kind !== "received" && step.kind !== "unusable" && step.kind !== "skipped";
}
