/** The steps of a call's way in words. All that comes from data is printed so that it steers nothing. */

import {
  type AttemptPhases,
  type AttemptRequestRecord,
  PHASE_NAMES,
} from "../../domain/attempt-record.ts";
import { withEndpointNames } from "../../domain/endpoint-name.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import type { RecordPlace } from "../../domain/record.ts";
import type { AttemptStep, FinalState, Gap, ReturnedStep, Step } from "./steps.ts";

/** Deliver says when a delivery is due, and delay returns it. */
const CLOCKS_DIFFER_MS = 1_000;

/** Endpoints of the configuration by their keys. */
export type Names = ReadonlyMap<string, string>;

const PHASE_WORDS = {
  dnsMs: "name",
  connectMs: "connect",
  tlsMs: "TLS",
  firstByteMs: "first byte",
  bodyMs: "body",
} as const;

export function stepSentence(step: Step, names: Names): string {
  switch (step.kind) {
    case "received": {
      const { type, event, source, namedBy, place, isRepeated } = step;
      const what = event === null ? type : `${type} ${JSON.stringify(event)}`;
      const again = isRepeated ? " again" : "";
      return visibleCell(`received${again}: ${what} of ${source} (${namedBy}), ${placed(place)}`);
    }
    case "unusable":
      return visibleCell(`no call: ${step.reason}, ${step.error}, ${placed(step.place)}`);
    case "skipped":
      return visibleCell(`doesn't get it: ${step.why}`);
    case "routed":
      return visibleCell(
        `routed${step.why === null ? "" : `: ${step.why}`}, ${placed(step.place)}`,
      );
    case "replayed":
      return visibleCell(`replayed: written to its line again, ${placed(step.place)}`);
    case "requeued":
      return visibleCell(`on its line again, ${placed(step.place)}`);
    case "attempt":
      return attemptSentence(step, names);
    case "retry-scheduled":
      return `waits in ${step.retryDelay} until ${instant(step.dueAtMs)}${notBefore(step.notBeforeMs)}`;
    case "rerouted":
      return `its topic took nothing: waits in ${step.retryDelay} until ${instant(step.dueAtMs)}`;
    case "returned":
      return returnedSentence(step);
    case "dead-lettered": {
      const error = withEndpointNames(step.error, names);
      return visibleCell(
        `given up by ${step.stage}: ${step.reason}, ${error}, ${placed(step.place)}`,
      );
    }
  }
}

function attemptSentence({ attempt, decision, requests, from }: AttemptStep, names: Names): string {
  const all = attemptText(requests, names);
  const known = from === "attempts" ? "" : " (known by what followed)";
  return visibleCell(`attempt ${attempt}, ${decision}: ${all}${known}`);
}

/** The answers of all endpoints, printed so that it steers nothing. */
export function attemptText(requests: readonly AttemptRequestRecord[], names: Names): string {
  return visibleCell(requests.map((request) => requestText(request, names)).join("; "));
}

function requestText(request: AttemptRequestRecord, names: Names): string {
  const { endpoint, outcome, status, cause, durationMs, phases, response } = request;
  const name = names.get(endpoint) ?? endpoint;
  if (outcome === "skipped") return `${name} was skipped`;
  const came = status === null ? (cause ?? "no response") : `${status}`;
  const took = durationMs === null ? "" : ` in ${duration(durationMs)}`;
  const said = response === null ? "" : `, responded ${JSON.stringify(response)}`;
  return `${name} ${came}${took}${phasesText(phases)}${said}`;
}

function phasesText(phases: AttemptPhases): string {
  const parts = PHASE_NAMES.flatMap((name) => {
    const ms = phases[name];
    return ms === undefined ? [] : `${PHASE_WORDS[name]} ${duration(ms)}`;
  });
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

export function finalStateText({ kind, atMs, attempts, tookMs }: FinalState): string {
  const made = attempts === 0 ? "" : `, attempts known: ${attempts}`;
  switch (kind) {
    case "accepted":
      return `accepted at ${instant(atMs)}${made}${tookMs === null ? "" : `, ${duration(tookMs)} after its receipt`}`;
    case "dead-lettered":
      return `given up at ${instant(atMs)}${made}`;
    case "waiting":
      return `waits for its next attempt, due at ${instant(atMs)}${made}`;
    case "due":
      return `is due since ${instant(atMs)}, and not back on its line${made}`;
    case "queued":
      return `waits in line, or is under way${made}`;
    case "written":
      return "is on its topic, for somebody else to take";
    case "finished":
      return `is finished, and neither waits nor was given up: accepted, as far as can be told${made}`;
  }
}

/** @param further the way to look further back, in the words of the one who asks */
export function gapSentence(gap: Gap, further: string): string {
  switch (gap.kind) {
    case "no-attempts-topic":
      return "There is no topic of attempts, so accepted attempts, phases and durations are not known. `attempts: { enabled: true }` writes them down from then on.";
    case "attempts-missing":
      return `The topic of attempts has no last attempt for ${gap.destinations.join(", ")}: it was made before \`attempts.enabled\`, or its record was dropped (switchyard_attempt_records_total).`;
    case "call-not-found":
      return `No call with this id was written since ${instant(gap.sinceMs)}: ${further} looks further back. A delivery without a call is a delete notification, or its call is deleted.`;
    case "unread":
      return `Some topics could not be read: ${gap.topics.map(visibleCell).join("; ")}`;
  }
}

function returnedSentence({ place, lateMs }: ReturnedStep): string {
  if (lateMs === null) return `due: back on ${placed(place)}`;
  if (lateMs < -CLOCKS_DIFFER_MS) {
    return `returned ${duration(-lateMs)} before it was due, by a retry: back on ${placed(place)}`;
  }
  return `due: back on ${placed(place)}, ${duration(Math.max(0, lateMs))} late`;
}

function notBefore(atMs: number | null): string {
  return atMs === null ? "" : `, and is not attempted before ${instant(atMs)}`;
}

function placed({ topic, partition, offset }: RecordPlace): string {
  return `${topic}/${partition}/${offset}`;
}

export function instant(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? `${atMs}` : date.toISOString();
}

export function duration(ms: number): string {
  if (ms >= 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.round(ms * 10) / 10} ms`;
}
