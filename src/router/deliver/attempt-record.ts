/**
 * Writes the record of an attempt for the attempts topic (docs/topics.md#attempts). A delivery takes about twenty
 * microseconds of CPU, and writing its record must be a small part of that. A first attempt that is accepted on an
 * existing connection is therefore written as bytes, from pieces that are prepared once per destination. All other
 * attempts are assembled as text, and a test checks that both ways create the same record.
 *
 *   field              from
 *   time               the end of the last request
 *   decision           what happened to the delivery (`decide.ts`)
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
import {
  type EndpointNames,
  endpointIdIn,
  endpointNames,
  nameOf,
} from "../../domain/endpoint-name.ts";
import { delayName } from "../../domain/topics.ts";
import type { Phases, SendResult, UnitName } from "../destinations/port.ts";
import type { Attempted } from "./attempt.ts";
import { phaseSpans } from "./attempt-trace.ts";
import type { EndpointResult, Output } from "./decide.ts";

/** The names of the phases in the record; `wait` is the time until the first byte of the response. */
const PHASE_FIELDS = {
  dns: "dnsMs",
  connect: "connectMs",
  tls: "tlsMs",
  wait: "firstByteMs",
  body: "bodyMs",
} as const;

export type WriteAttempt = (attempted: Attempted, out: ByteText) => void;

/** Returns a function that writes the attempt records of a destination with these settings. */
export function attemptWriter(destination: AttemptedDestination): WriteAttempt {
  const writeAccepted = acceptedWriter(destination);
  const textOf = attemptTexts(destination);
  return (attempted, out) => {
    const start = out.length;
    if (writeAccepted(attempted, out)) return;
    out.length = start;
    out.addText(textOf(attempted));
  };
}

/** @returns false if the record must be assembled as text; what was written so far must then be discarded. */
export type WriteAccepted = (attempted: Attempted, out: ByteText) => boolean;

const DURATION = piece(',"durationMs":');
const FIRST_BYTE = piece(',"phases":{"firstByteMs":');
const BODY = piece(',"bodyMs":');
const ENDED = piece("}}]}");
const REQUESTS_ENDED = piece("}}]");
const CLOSED = piece("}");

/** Writes the records of first attempts that one endpoint accepted on an existing connection. */
export function acceptedWriter(destination: AttemptedDestination): WriteAccepted {
  const names = endpointNames(destination);
  const started = `","destination":${JSON.stringify(destination.id)},"attempt":1,"firstAttemptAt":"`;
  const ended = stamped('{"time":"', '","messageId":"');
  const accepted = new Map(
    destination.endpoints.map(({ key }) => {
      const request = `{"endpoint":${JSON.stringify(nameOf(key, names).name)},"outcome":"accepted"`;
      return [key, stamped(started, `","decision":"accepted","requests":[${request},"status":`)];
    }),
  );
  const batchPiece = batchPieces();
  return ({ delivery, results, decision, endedAtMs, batch }, out) => {
    const [only] = results;
    if (decision.name !== "accepted" || results.length !== 1 || only === undefined) return false;
    const { endpoint, result, outcome } = only;
    const startedAt = accepted.get(endpoint);
    if (result.kind !== "response" || startedAt === undefined || delivery.attempt > 0) return false;
    if (outcome.kind !== "accepted") return false;
    const { status, durationMs, phases } = result;
    if (phases?.sentMs === undefined || phases.headMs === undefined) return false;
    if (phases.openedMs !== undefined || phases.kept !== undefined) return false;
    out.add(ended(endedAtMs));
    if (!out.addPlain(delivery.messageId)) return false;
    out.add(startedAt(delivery.firstAttemptAtMs ?? endedAtMs));
    out.addInteger(status);
    out.add(DURATION);
    out.addTenths(Math.max(0, durationMs));
    out.add(FIRST_BYTE);
    out.addTenths(Math.max(0, phases.headMs - phases.sentMs));
    out.add(BODY);
    out.addTenths(Math.max(0, durationMs - phases.headMs));
    if (batch === null) {
      out.add(ENDED);
      return true;
    }
    out.add(REQUESTS_ENDED);
    out.add(batchPiece(batch));
    out.add(CLOSED);
    return true;
  };
}

/** Encodes the name of a batch only once for all of its calls. */
function batchPieces(): (batch: UnitName) => Uint8Array {
  let last: UnitName | null = null;
  let text = piece("");
  return (batch) => {
    if (batch !== last) text = piece(batchText(batch));
    last = batch;
    return text;
  };
}

function batchText(batch: UnitName | null): string {
  return batch === null ? "" : `,"batch":{"id":"${batch.id}","calls":${batch.calls}}`;
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

export type AttemptText = (attempted: Attempted) => string;

/** The parts of a record that are the same for all attempts with a destination's settings. */
export function attemptTexts(destination: AttemptedDestination): AttemptText {
  const id = JSON.stringify(destination.id);
  return ({ delivery, results, decision, names, endedAtMs, batch }) => {
    let requests = "";
    for (const each of results) {
      if (requests !== "") requests += ",";
      requests += requestText(nameOf(each.endpoint, names).name, each);
    }
    const first = delivery.firstAttemptAtMs ?? endedAtMs;
    return (
      `{"time":"${new Date(endedAtMs).toISOString()}","messageId":${JSON.stringify(delivery.messageId)}` +
      `,"destination":${id}` +
      `,"attempt":${delivery.attempt + 1},"firstAttemptAt":"${new Date(first).toISOString()}"` +
      `,"decision":"${decision.name}","requests":[${requests}]${batchText(batch)}${nextText(decision.outputs, names)}}`
    );
  };
}

function requestText(name: string, { result, outcome }: EndpointResult): string {
  const beginning = `{"endpoint":${JSON.stringify(name)}`;
  if (result.kind === "skipped") return `${beginning},"outcome":"skipped"}`;
  const { phases } = result;
  const came =
    result.kind === "response" ? `"status":${result.status}` : `"cause":"${result.cause}"`;
  return (
    `${beginning},"outcome":"${outcome.kind}",${came}` +
    `,"durationMs":${tenths(result.durationMs)}${phasesText(phases, result)}` +
    `${responseText(phases)}}`
  );
}

function phasesText(phases: Phases | undefined, { durationMs }: SendResult): string {
  if (phases === undefined) return "";
  const { openedMs, sentMs, headMs } = phases;
  // By far the most frequent case: an existing connection and a complete response.
  if (openedMs === undefined && sentMs !== undefined && headMs !== undefined) {
    return `,"phases":{"firstByteMs":${tenths(headMs - sentMs)},"bodyMs":${tenths(durationMs - headMs)}}`;
  }
  const spans = phaseSpans(phases, durationMs).map(
    ({ name, fromMs, toMs }) => `"${PHASE_FIELDS[name]}":${tenths(toMs - fromMs)}`,
  );
  return `,"phases":{${spans.join(",")}}`;
}

function responseText(phases: Phases | undefined): string {
  const kept = phases?.kept;
  if (kept === undefined) return "";
  return `,"response":${JSON.stringify(Buffer.concat(kept).toString())}`;
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

/** Rounds to a tenth. Writing two small integers is faster than writing one number with a fraction. */
function tenths(ms: number): string {
  const whole = Math.max(0, Math.round(ms * 10));
  const rest = whole % 10;
  return rest === 0 ? `${whole / 10}` : `${(whole - rest) / 10}.${rest}`;
}
