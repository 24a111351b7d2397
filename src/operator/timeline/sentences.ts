/**
 * Formats the steps of a timeline as sentences. Control characters in data are escaped, so that data cannot control a
 * terminal.
 */

import {
  type AttemptBatch,
  type AttemptPhases,
  type AttemptRecord,
  type AttemptRequestRecord,
  PHASE_NAMES,
} from "../../domain/attempt-record.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import { placeText } from "./find-records.ts";
import type { AttemptStep, FinalState, Gap, ReturnedStep, TimelineStep } from "./steps.ts";

/**
 * A smaller difference may be caused by clocks: the deliver stage sets the time at which a delivery is due, and the
 * delay stage returns the delivery.
 */
const CLOCKS_DIFFER_MS = 1_000;

const PHASE_WORDS = {
  dnsMs: "name",
  connectMs: "connect",
  tlsMs: "TLS",
  firstByteMs: "first byte",
  bodyMs: "body",
} as const;

export function stepSentence(step: TimelineStep): string {
  switch (step.kind) {
    case "received": {
      const { type, event, source, namedBy, place, isRepeated } = step;
      const what = event === null ? type : `${type} ${JSON.stringify(event)}`;
      const again = isRepeated ? " again" : "";
      return visibleCell(
        `received${again}: ${what} from ${source} (${namedBy}), ${placeText(place)}`,
      );
    }
    case "unusable":
      return visibleCell(`not a call: ${step.reason}, ${step.error}, ${placeText(step.place)}`);
    case "skipped":
      return visibleCell(`skipped: ${step.why}`);
    case "routed":
      return visibleCell(
        `routed${step.why === null ? "" : `: ${step.why}`}, ${placeText(step.place)}`,
      );
    case "replayed":
      return visibleCell(`replayed, ${placeText(step.place)}`);
    case "requeued":
      return visibleCell(`in the queue again, ${placeText(step.place)}`);
    case "attempt":
      return attemptSentence(step);
    case "suppressed":
      return "suppressed: not attempted, because its user is suppressed";
    case "retry-scheduled":
      return `retry scheduled: waits in the ${step.retryDelay} delay topic until ${instant(step.dueAtMs)}${notBefore(step.notBeforeMs)}`;
    case "rerouted":
      return `rerouted, because its topic is not writable: waits in the ${step.retryDelay} delay topic until ${instant(step.dueAtMs)}`;
    case "returned":
      return returnedSentence(step);
    case "dead-lettered":
      return visibleCell(
        `dead-lettered by the ${step.stage} stage: ${step.reason}, ${step.error}, ${placeText(step.place)}`,
      );
  }
}

function attemptSentence(step: AttemptStep): string {
  const { attempt, decision, from } = step;
  const all = attemptText(step);
  const known = from === "attempts" ? "" : " (inferred from later records)";
  return visibleCell(`attempt ${attempt}, ${decision}: ${all}${known}`);
}

/** The responses from all endpoints, and the batch, with control characters escaped. */
export function attemptText({
  requests,
  batch,
}: Pick<AttemptRecord, "requests" | "batch">): string {
  const all = requests.map(requestText).join("; ");
  return visibleCell(batch === null ? all : `${all}; ${batchText(batch)}`);
}

function batchText({ id, calls }: AttemptBatch): string {
  return calls === 1 ? `alone in batch ${id}` : `in batch ${id} of ${calls} calls`;
}

function requestText(request: AttemptRequestRecord): string {
  const { endpoint, outcome, status, cause, durationMs, phases, response } = request;
  if (outcome === "skipped") return `${endpoint} was skipped`;
  const came = status === null ? (cause ?? "no response") : `${status}`;
  const took = durationMs === null ? "" : ` in ${duration(durationMs)}`;
  const said = response === null ? "" : `, responded ${JSON.stringify(response)}`;
  return `${endpoint} ${came}${took}${phasesText(phases)}${said}`;
}

function phasesText(phases: AttemptPhases): string {
  const parts = PHASE_NAMES.flatMap((name) => {
    const ms = phases[name];
    return ms === undefined ? [] : `${PHASE_WORDS[name]} ${duration(ms)}`;
  });
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

export function finalStateText(finalState: FinalState): string {
  const { kind, atMs, attempts, tookMs, suppressedAtMs, behind } = finalState;
  const made = attempts === 0 ? "" : `, attempts known: ${attempts}`;
  switch (kind) {
    case "accepted":
      return `accepted at ${instant(atMs)}${made}${tookMs === null ? "" : `, ${duration(tookMs)} after the receipt of the call`}`;
    case "dead-lettered":
      return `dead-lettered at ${instant(atMs)}${made}`;
    case "suppressed":
      return `suppressed at ${instant(atMs)}${made}`;
    case "waiting":
      return `awaiting retry, due at ${instant(atMs)}${made}`;
    case "due":
      return `due since ${instant(atMs)}, but not returned yet${made}`;
    case "queued":
      if (behind !== undefined) return visibleCell(`waits behind ${behind}${made}`);
      return `queued or in flight${made}`;
    case "written":
      return "written to its topic, for its consumers outside Switchyard";
    case "finished": {
      const likely =
        suppressedAtMs === null
          ? "probably accepted"
          : `its user has been suppressed since ${instant(suppressedAtMs)}, so it may not have been sent`;
      return `processed, and neither awaiting retry nor dead-lettered: ${likely}${made}`;
    }
  }
}

/** @param further what to use for searching further back, such as an option of a command. */
export function gapSentence(gap: Gap, further: string): string {
  switch (gap.kind) {
    case "no-attempts-topic":
      return "The attempts topic does not exist, so accepted attempts, phases and durations are unknown. Set `attempts: { enabled: true }` to record them from now on.";
    case "attempts-missing":
      return `The attempts topic does not contain the last attempt for ${gap.destinations.join(", ")}: the attempt was made before \`attempts.enabled\` was set, or its record was dropped (switchyard_attempt_records_total).`;
    case "call-not-found":
      return `No call with this message ID has been written since ${instant(gap.sinceMs)}. To search further back, use ${further}. If a delivery has no call, it is a delete notification, or the call has been deleted.`;
    case "unread":
      return `Some topics could not be read: ${gap.topics.map(visibleCell).join("; ")}`;
  }
}

function returnedSentence({ place, lateMs }: ReturnedStep): string {
  if (lateMs < -CLOCKS_DIFFER_MS) {
    return `returned ${duration(-lateMs)} before it was due, because an operator requested it, ${placeText(place)}`;
  }
  return `returned ${duration(Math.max(0, lateMs))} after it was due, ${placeText(place)}`;
}

function notBefore(atMs: number | null): string {
  return atMs === null ? "" : `, not attempted before ${instant(atMs)}`;
}

export function instant(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? `${atMs}` : date.toISOString();
}

export function duration(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.round(ms * 10) / 10} ms`;
}
