/**
 * Reads a record of the `attempts` topic (docs/topics.md#attempts). The deliver stage writes such records
 * (`deliver/attempt-record.ts`); `schemas/attempt-record.schema.json` describes their format for other programs.
 *
 *   value                                          result
 *   an object with the fields that identify it     read; additional fields are ignored
 *   anything else                                  null, because another program wrote it
 *
 * Other programs can also write to the topic, so records are only displayed, and no decision depends on their
 * content.
 */

import {
  isJsonObject,
  type JsonObject,
  jsonObjectIn,
  numberOf,
  objectsOf,
  textOf,
} from "./json.ts";

/** One request of an attempt, or an endpoint that was skipped because it was unavailable. */
export interface AttemptRequestRecord {
  /** The endpoint's name as it is shown everywhere (`endpoint-name.ts`), or its key if it no longer has a name. */
  readonly endpoint: string;
  /** `accepted`, `retry`, `rejected` or `skipped`. */
  readonly outcome: string;
  readonly status: number | null;
  readonly cause: string | null;
  readonly durationMs: number | null;
  readonly phases: AttemptPhases;
  /** The start of an unsuccessful response, if `attempts.responseBytes` is set. */
  readonly response: string | null;
}

export const PHASE_NAMES = ["dnsMs", "connectMs", "tlsMs", "firstByteMs", "bodyMs"] as const;
export type PhaseName = (typeof PHASE_NAMES)[number];
/** Durations in milliseconds. A phase that the request did not need or did not reach is absent. */
export type AttemptPhases = Readonly<Partial<Record<PhaseName, number>>>;

export interface AttemptNext {
  readonly retryDelay: string;
  readonly atMs: number;
  /** Only with `deliver: every`: the endpoint that the attempt is for. */
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
  /** The batch in which the last request sent the delivery; null if the destination has no `batch`. */
  readonly batch: AttemptBatch | null;
  readonly next: readonly AttemptNext[];
}

export interface AttemptBatch {
  readonly id: string;
  readonly calls: number;
}

/** Pure. Null if the value is not an attempt record. */
export function parseAttemptRecord(value: Buffer | null): AttemptRecord | null {
  const json = value === null ? null : jsonObjectIn(value);
  if (json === null) return null;
  const endedAtMs = instant(json.time);
  const messageId = textOf(json.messageId);
  const destination = textOf(json.destination);
  const decision = textOf(json.decision);
  const attempt = numberOf(json.attempt);
  if (endedAtMs === null || messageId === null || destination === null) return null;
  if (decision === null || attempt === null) return null;
  return {
    endedAtMs,
    messageId,
    destination,
    attempt,
    firstAttemptAtMs: instant(json.firstAttemptAt),
    decision,
    requests: objectsOf(json.requests).map(requestOf),
    batch: isJsonObject(json.batch) ? batchOf(json.batch) : null,
    next: objectsOf(json.next).flatMap(nextOf),
  };
}

function requestOf(json: JsonObject): AttemptRequestRecord {
  const phases = isJsonObject(json.phases) ? json.phases : {};
  const reached = PHASE_NAMES.flatMap((name) => {
    const ms = numberOf(phases[name]);
    return ms === null ? [] : [[name, ms] as const];
  });
  return {
    endpoint: textOf(json.endpoint) ?? "",
    outcome: textOf(json.outcome) ?? "",
    status: numberOf(json.status),
    cause: textOf(json.cause),
    durationMs: numberOf(json.durationMs),
    phases: Object.fromEntries(reached),
    response: textOf(json.response),
  };
}

function batchOf(json: JsonObject): AttemptBatch | null {
  const [id, calls] = [textOf(json.id), numberOf(json.calls)];
  return id === null || calls === null ? null : { id, calls };
}

function nextOf(json: JsonObject): readonly AttemptNext[] {
  const [retryDelay, atMs] = [textOf(json.retryDelay), instant(json.at)];
  return retryDelay === null || atMs === null
    ? []
    : [{ retryDelay, atMs, endpoint: textOf(json.endpoint) }];
}

/** Reads an instant only in the format that the deliver stage writes. */
function instant(value: unknown): number | null {
  if (typeof value !== "string") return null;
  const atMs = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}
