/**
 * Writes the record of an attempt for the attempts topic (docs/topics.md#attempts). A delivery takes about twenty
 * microseconds of CPU, and writing its record must be a small part of that. It is therefore written as bytes: what
 * attempts have in common is encoded once per destination, and numbers never become strings.
 *
 *   field              from
 *   time               the end of the last request
 *   decision           what happened to the delivery (`decide.ts`); `suppressed` if no attempt was started for that reason
 *   requests           one per endpoint, including skipped endpoints
 *     endpoint         its name, which contains only the host of its URL; the rest may be a password
 *     outcome          accepted, retry, rejected, or skipped if it was unavailable
 *     status or cause  the response, or why there was none
 *     phases           duration of each phase in milliseconds (`attempt-trace.ts`)
 *     response         the start of an unsuccessful response, if it is kept
 *   batch              ID and number of calls of the batch in the last request; absent if the destination has no `batch`
 *   next               for each scheduled retry: the delay, when it is due and, with `every`, its endpoint
 *
 * The message ID is the only part of the call that the record contains.
 */

import type { ByteText } from "../../domain/byte-text.ts";
import type { AttemptedDestination } from "../../domain/destination.ts";
import { type EndpointNames, endpointIdIn, nameOf } from "../../domain/endpoint-name.ts";
import { delayName } from "../../domain/topics.ts";
import type { Phases, SendResult, UnitName } from "../destinations/port.ts";
import type { Attempted } from "./attempt.ts";
import { phaseSpans } from "./attempt-trace.ts";
import type { EndpointResult, Output } from "./decide.ts";

/** The names of the phases in the record; `wait` is the time until the first byte of the response. */
const PHASE_FIELDS = {
  dns: piece('"dnsMs":'),
  connect: piece('"connectMs":'),
  tls: piece('"tlsMs":'),
  wait: piece('"firstByteMs":'),
  body: piece('"bodyMs":'),
} as const;
const DECISIONS = {
  accepted: piece('accepted","requests":['),
  retry: piece('retry","requests":['),
  rejected: piece('rejected","requests":['),
  expired: piece('expired","requests":['),
  suppressed: piece('suppressed","requests":['),
} as const;
const OUTCOMES = {
  accepted: piece('accepted"'),
  retry: piece('retry"'),
  rejected: piece('rejected"'),
  skipped: piece('skipped"}'),
} as const;
const STATUS = piece(',"status":');
const DURATION = piece(',"durationMs":');
const PHASES = piece(',"phases":{');
const COMMA = piece(",");
const CLOSED = piece("}");
const LIST_CLOSED = piece("]");

export type WriteAttempt = (attempted: Attempted, out: ByteText) => void;

/** Returns a function that writes the attempt records of a destination with these settings. */
export function attemptWriter({ id }: AttemptedDestination): WriteAttempt {
  const time = stamped('{"time":"', '","messageId":"');
  const attemptOf = piece(`","destination":${JSON.stringify(id)},"attempt":`);
  const first = stamped(',"firstAttemptAt":"', '","decision":"');
  const endpoint = endpointPieces();
  const batchPiece = batchPieces();
  return ({ delivery, results, decision, names, endedAtMs, batch }, out) => {
    out.add(time(endedAtMs));
    if (!out.addPlain(delivery.messageId))
      out.addText(JSON.stringify(delivery.messageId).slice(1, -1));
    out.add(attemptOf);
    out.addInteger(delivery.attempt + (decision.name === "suppressed" ? 0 : 1));
    out.add(first(delivery.firstAttemptAtMs ?? endedAtMs));
    out.add(DECISIONS[decision.name]);
    let isFirst = true;
    for (const result of results) {
      if (!isFirst) out.add(COMMA);
      isFirst = false;
      out.add(endpoint(nameOf(result.endpoint, names).name));
      writeResult(result, out);
    }
    out.add(LIST_CLOSED);
    if (batch !== null) out.add(batchPiece(batch));
    if (decision.outputs.length > 0) out.addText(nextText(decision.outputs, names));
    out.add(CLOSED);
  };
}

/** Writes the part of a request after its endpoint. */
function writeResult({ result, outcome }: EndpointResult, out: ByteText): void {
  if (result.kind === "skipped") {
    out.add(OUTCOMES.skipped);
    return;
  }
  out.add(OUTCOMES[outcome.kind]);
  if (result.kind === "response") {
    out.add(STATUS);
    out.addInteger(result.status);
  } else {
    out.addText(`,"cause":"${result.cause}"`);
  }
  out.add(DURATION);
  out.addTenths(Math.max(0, result.durationMs));
  const { phases } = result;
  if (phases !== undefined) {
    writePhases(phases, result, out);
    const { kept } = phases;
    if (kept !== undefined) {
      out.addText(`,"response":${JSON.stringify(Buffer.concat(kept).toString())}`);
    }
  }
  out.add(CLOSED);
}

function writePhases(phases: Phases, { durationMs }: SendResult, out: ByteText): void {
  const { openedMs, sentMs, headMs } = phases;
  out.add(PHASES);
  if (openedMs === undefined && sentMs !== undefined && headMs !== undefined) {
    // By far the most frequent case: an existing connection and a complete response.
    writePhase("wait", headMs - sentMs, out);
    out.add(COMMA);
    writePhase("body", durationMs - headMs, out);
  } else {
    for (const [at, { name, fromMs, toMs }] of phaseSpans(phases, durationMs).entries()) {
      if (at > 0) out.add(COMMA);
      writePhase(name, toMs - fromMs, out);
    }
  }
  out.add(CLOSED);
}

function writePhase(name: keyof typeof PHASE_FIELDS, ms: number, out: ByteText): void {
  out.add(PHASE_FIELDS[name]);
  out.addTenths(Math.max(0, ms));
}

/** Encodes the name of an endpoint only once. An attempt names endpoints as they were when it started. */
function endpointPieces(): (name: string) => Uint8Array {
  const pieces = new Map<string, Uint8Array>();
  return (name) => {
    const known = pieces.get(name);
    if (known !== undefined) return known;
    const made = piece(`{"endpoint":${JSON.stringify(name)},"outcome":"`);
    pieces.set(name, made);
    return made;
  };
}

/** Encodes the name of a batch only once for all of its calls. */
function batchPieces(): (batch: UnitName) => Uint8Array {
  let last: UnitName | null = null;
  let text = piece("");
  return (batch) => {
    if (batch !== last) text = piece(`,"batch":{"id":"${batch.id}","calls":${batch.calls}}`);
    last = batch;
    return text;
  };
}

function piece(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const INSTANT_BYTES = 24;
const SECOND_BYTES = 20;
const ZERO = 0x30;

/**
 * Creates a piece that contains a time and is reused for each record. Most times are in the same second as
 * the previous one, so only the last digits have to be replaced.
 */
function stamped(before: string, after: string): (atMs: number) => Uint8Array {
  const start = piece(before).length;
  let text = piece(before);
  let lastMs = Number.NaN;
  let lastSecond = Number.NaN;
  return (atMs) => {
    if (atMs === lastMs) return text;
    const second = Math.floor(atMs / 1_000);
    if (second === lastSecond) {
      const ms = atMs - second * 1_000;
      const tens = Math.floor(ms / 10);
      const hundreds = Math.floor(ms / 100);
      text[start + SECOND_BYTES] = ZERO + hundreds;
      text[start + SECOND_BYTES + 1] = ZERO + tens - hundreds * 10;
      text[start + SECOND_BYTES + 2] = ZERO + ms - tens * 10;
    } else {
      const instant = new Date(atMs).toISOString();
      text = piece(`${before}${instant}${after}`);
      // The string is longer if the year has more than four digits.
      lastSecond = instant.length === INSTANT_BYTES ? second : Number.NaN;
    }
    lastMs = atMs;
    return text;
  };
}

function nextText(outputs: readonly Output[], names: EndpointNames): string {
  const scheduled = outputs.flatMap((output) => {
    if (output.kind !== "retry") return [];
    const { delayMs, delivery } = output;
    const atMs = delivery.notBeforeMs ?? delivery.dueAtMs ?? 0;
    const next = { retryDelay: delayName(delayMs), at: new Date(atMs).toISOString() };
    if (delivery.endpoint === null) return next;
    const only = [...names.values()].find(({ ref }) => ref === delivery.endpoint);
    return { ...next, endpoint: only?.name ?? endpointIdIn(delivery.endpoint) };
  });
  return scheduled.length === 0 ? "" : `,"next":${JSON.stringify(scheduled)}`;
}
