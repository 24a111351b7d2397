/**
 * A record of the topic of attempts (docs/topics.md#attempts), as programs read it. Deliver writes
 * it (`deliver/attempt-record.ts`); `schemas/attempt-record.schema.json` describes it for others.
 *
 *   a value                                        then
 *   an object with the fields that name it         read; what it has beyond that is passed over
 *   anything else                                  null: somebody else wrote it
 *
 * Others may write to the topic, too: nothing here is believed further than that it is shown.
 */

import { isJsonObject, type JsonObject, jsonObjectIn } from "./json.ts";

/** Of one request of an attempt, or of an endpoint that was skipped because it was unavailable. */
export interface AttemptRequestRecord {
  /** As people meet it everywhere (`endpoint-name.ts`); its key where it had no name any more. */
  readonly endpoint: string;
  /** `accepted`, `retry`, `rejected` or `skipped`. */
  readonly outcome: string;
  readonly status: number | null;
  readonly cause: string | null;
  readonly durationMs: number | null;
  readonly phases: AttemptPhases;
  /** The start of a rejected response, where `attempts.responseBytes` asks for it. */
  readonly response: string | null;
}

export const PHASE_NAMES = ["dnsMs", "connectMs", "tlsMs", "firstByteMs", "bodyMs"] as const;
export type PhaseName = (typeof PHASE_NAMES)[number];
/** In milliseconds. A phase that the request did not reach, or did not need, is absent. */
export type AttemptPhases = Readonly<Partial<Record<PhaseName, number>>>;

export interface AttemptNext {
  readonly retryDelay: string;
  readonly atMs: number;
  /** Only with `deliver: every`: the endpoint that it is for. */
  readonly endpoint: string | null;
}

export interface AttemptRecord {
  readonly endedAtMs: number;
  readonly messageId: string;
  readonly destination: string;
  readonly attempt: number;
  readonly firstAttemptAtMs: number | null;
  readonly decision: string;
  readonly requests: readonly AttemptRequestRecord[];
  readonly next: readonly AttemptNext[];
}

/** Pure. Null: the value is no such record. */
export function parseAttemptRecord(value: Buffer | null): AttemptRecord | null {
  const json = value === null ? null : jsonObjectIn(value);
  if (json === null) return null;
  const endedAtMs = instant(json.time);
  const messageId = text(json.messageId);
  const destination = text(json.destination);
  const decision = text(json.decision);
  const attempt = number(json.attempt);
  if (endedAtMs === null || messageId === null || destination === null) return null;
  if (decision === null || attempt === null) return null;
  return {
    endedAtMs,
    messageId,
    destination,
    attempt,
    firstAttemptAtMs: instant(json.firstAttemptAt),
    decision,
    requests: objects(json.requests).map(requestOf),
    next: objects(json.next).flatMap(nextOf),
  };
}

function requestOf(json: JsonObject): AttemptRequestRecord {
  const phases = isJsonObject(json.phases) ? json.phases : {};
  const reached = PHASE_NAMES.flatMap((name) => {
    const ms = number(phases[name]);
    return ms === null ? [] : [[name, ms] as const];
  });
  return {
    endpoint: text(json.endpoint) ?? "",
    outcome: text(json.outcome) ?? "",
    status: number(json.status),
    cause: text(json.cause),
    durationMs: number(json.durationMs),
    phases: Object.fromEntries(reached),
    response: text(json.response),
  };
}

function nextOf(json: JsonObject): readonly AttemptNext[] {
  const [retryDelay, atMs] = [text(json.retryDelay), instant(json.at)];
  return retryDelay === null || atMs === null
    ? []
    : [{ retryDelay, atMs, endpoint: text(json.endpoint) }];
}

function objects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Only in the form that deliver writes. */
function instant(value: unknown): number | null {
  if (typeof value !== "string") return null;
  const atMs = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}
