/**
 * The text of an attempt's record on the topic of attempts (docs/topics.md#attempts). A delivery is
 * some twenty microseconds of work, and this has to be little of it. So a first attempt that is
 * accepted at once, on a connection that was there, is written as bytes, of pieces that are made once
 * for a destination. Any other attempt is put together as text. A test compares the two.
 *
 *   field              from
 *   time               the end of the last request
 *   decision           what became of the delivery (`decide.ts`)
 *   requests           one for each endpoint, also for those that were left alone
 *     endpoint         its name, which has the host. The rest of a URL may be a password
 *     outcome          accepted, retry, rejected; skipped: unavailable
 *     status or cause  the answer, or why there was none
 *     phases           milliseconds of what the request got through (`attempt-trace.ts`)
 *     response         the start of a rejected response, where it was kept
 *   next               of each part that is retried: the delay, and when it is due; with `every` for whom
 *
 * Nothing of the call but its id is in it.
 */

import type { Phases, SendResult } from "../destinations/port.ts";
import type { ByteText } from "../domain/byte-text.ts";
import type { AttemptedDestination } from "../domain/destination.ts";
import { endpointNames } from "../domain/endpoint-name.ts";
import type { EndpointKey } from "../domain/ids.ts";
import { delayName } from "../domain/topics.ts";
import { phaseSpans } from "./attempt-trace.ts";
import type { EndpointResult } from "./decide.ts";
import type { Output } from "./output.ts";
import type { Attempted } from "./work-ports.ts";

/** As the topic's record says them; `wait` is the time until the first byte of the answer. */
const PHASE_FIELDS = {
  dns: "dnsMs",
  connect: "connectMs",
  tls: "tlsMs",
  wait: "firstByteMs",
  body: "bodyMs",
} as const;

export type WriteAttempt = (attempted: Attempted, out: ByteText) => void;

/** Of a destination's settings. */
export function attemptWriter(destination: AttemptedDestination): WriteAttempt {
  const writeAccepted = acceptedWriter(destination);
  const textOf = attemptTexts(destination);
  return (attempted, out) => {
    const start = out.length;
    if (writeAccepted(attempted, out)) return;
    out.length = start;
    out.text(textOf(attempted));
  };
}

/** @returns false: it is another attempt, and what was written so far is void. */
export type WriteAccepted = (attempted: Attempted, out: ByteText) => boolean;

const DURATION = piece(',"durationMs":');
const FIRST_BYTE = piece(',"phases":{"firstByteMs":');
const BODY = piece(',"bodyMs":');
const ENDED = piece("}}]}");

/** Of first attempts that one endpoint has accepted, on a connection that was there. */
export function acceptedWriter(destination: AttemptedDestination): WriteAccepted {
  const names = endpointNames(destination);
  const started = `","destination":${JSON.stringify(destination.id)},"attempt":1,"firstAttemptAt":"`;
  const ended = stamped('{"time":"', '","messageId":"');
  const accepted = new Map(
    destination.endpoints.map(({ key }) => {
      const request = `{"endpoint":${JSON.stringify(names.get(key) ?? key)},"outcome":"accepted"`;
      return [key, stamped(started, `","decision":"accepted","requests":[${request},"status":`)];
    }),
  );
  return ({ delivery, results, decision, endedAtMs }, out) => {
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
    if (!out.plain(delivery.messageId)) return false;
    out.add(startedAt(delivery.firstAttemptAtMs ?? endedAtMs));
    out.whole(status);
    out.add(DURATION);
    out.tenths(Math.max(0, durationMs));
    out.add(FIRST_BYTE);
    out.tenths(Math.max(0, phases.headMs - phases.sentMs));
    out.add(BODY);
    out.tenths(Math.max(0, durationMs - phases.headMs));
    out.add(ENDED);
    return true;
  };
}

function piece(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const INSTANT_BYTES = 24;
const SECOND_BYTES = 20;
const ZERO = 0x30;

/**
 * A piece with an instant in it, the same object each time. The instant is mostly of the second of
 * the one before: then its last digits are put in.
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
      // Years of more than four digits are longer.
      lastSecond = instant.length === INSTANT_BYTES ? second : Number.NaN;
    }
    lastMs = atMs;
    return text;
  };
}

export type AttemptText = (attempted: Attempted) => string;

/** The parts of a record that are the same for all attempts of a destination's settings. */
export function attemptTexts(destination: AttemptedDestination): AttemptText {
  const id = JSON.stringify(destination.id);
  const names = endpointNames(destination);
  const nameOf = (key: EndpointKey) => names.get(key) ?? key;
  const begin = (key: EndpointKey) => `{"endpoint":${JSON.stringify(nameOf(key))}`;
  const begun = new Map(destination.endpoints.map(({ key }) => [key, begin(key)]));
  return ({ delivery, results, decision, endedAtMs }) => {
    let requests = "";
    for (const each of results) {
      if (requests !== "") requests += ",";
      requests += requestText(begun.get(each.endpoint) ?? begin(each.endpoint), each);
    }
    const first = delivery.firstAttemptAtMs ?? endedAtMs;
    return (
      `{"time":"${new Date(endedAtMs).toISOString()}","messageId":${JSON.stringify(delivery.messageId)}` +
      `,"destination":${id}` +
      `,"attempt":${delivery.attempt + 1},"firstAttemptAt":"${new Date(first).toISOString()}"` +
      `,"decision":"${decision.name}","requests":[${requests}]${nextText(decision.outputs, nameOf)}}`
    );
  };
}

function requestText(beginning: string, { result, outcome }: EndpointResult): string {
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
  // By far the most: a connection was there, and the answer came whole.
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

function nextText(outputs: readonly Output[], nameOf: (key: EndpointKey) => string): string {
  const scheduled = outputs.flatMap((output) => {
    if (output.kind !== "retry") return [];
    const { delayMs, delivery } = output;
    const atMs = delivery.notBeforeMs ?? delivery.dueAtMs ?? 0;
    const next = { retryDelay: delayName(delayMs), at: new Date(atMs).toISOString() };
    return delivery.endpoint === null ? next : { ...next, endpoint: nameOf(delivery.endpoint) };
  });
  return scheduled.length === 0 ? "" : `,"next":${JSON.stringify(scheduled)}`;
}

/** To a tenth. Two small whole numbers are written sooner than one with a fraction. */
function tenths(ms: number): string {
  const whole = Math.max(0, Math.round(ms * 10));
  const rest = whole % 10;
  return rest === 0 ? `${whole / 10}` : `${(whole - rest) / 10}.${rest}`;
}
