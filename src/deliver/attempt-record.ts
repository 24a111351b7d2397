/**
 * The text of an attempt's record on the topic of attempts (docs/topics.md#attempts). A delivery is
 * some twenty microseconds of work, and this has to be little of it: texts of a destination are made
 * once, and an instant's text is used again by those of the same millisecond.
 *
 *   field              from
 *   time               the end of the last request
 *   decision           what became of the delivery (`decide.ts`)
 *   requests           one for each endpoint, also for those that were left alone
 *     endpoint         its name, which has the host. The rest of a URL may be a password
 *     outcome          accepted, retry, rejected; held: left alone
 *     status or cause  the answer, or why there was none
 *     phases           milliseconds of what the request got through (`attempt-trace.ts`)
 *     answer           the head of a refused answer, where it was kept
 *   next               of each parked part: its tier, and when it is due; with `every` for whom
 *
 * Nothing of the call but its id is in it.
 */

import type { WebhookDestination } from "../domain/destination.ts";
import { endpointNames } from "../domain/endpoint-name.ts";
import type { EndpointKey } from "../domain/ids.ts";
import { tierName } from "../domain/topics.ts";
import type { HttpResult, Phases } from "./attempt.ts";
import { phaseSpans } from "./attempt-trace.ts";
import type { EndpointResult } from "./decide.ts";
import { judge } from "./outcome.ts";
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

export type AttemptText = (attempted: Attempted) => string;

/** The parts of a record that are the same for all attempts of a destination's settings. */
export function attemptTexts(destination: WebhookDestination): AttemptText {
  const id = JSON.stringify(destination.id);
  const names = endpointNames(destination);
  const nameOf = (key: EndpointKey) => names.get(key) ?? key;
  const begin = (key: EndpointKey) => `{"endpoint":${JSON.stringify(nameOf(key))}`;
  const begun = new Map(destination.endpoints.map(({ key }) => [key, begin(key)]));
  return ({ delivery, results, decision, endedAtMs }) => {
    let requests = "";
    for (const each of results) {
      if (requests !== "") requests += ",";
      requests += requestText(begun.get(each.endpoint) ?? begin(each.endpoint), each, endedAtMs);
    }
    const first = delivery.firstAttemptAtMs ?? endedAtMs;
    return (
      `{"time":"${endText(endedAtMs)}","messageId":${JSON.stringify(delivery.messageId)}` +
      `,"destination":${id}` +
      `,"attempt":${delivery.attempt + 1},"firstAttemptAt":"${firstText(first)}"` +
      `,"decision":"${decision.name}","requests":[${requests}]${nextText(decision.outputs, nameOf)}}`
    );
  };
}

function requestText(beginning: string, { result }: EndpointResult, nowMs: number): string {
  if (result.kind === "held") return `${beginning},"outcome":"held"}`;
  const { phases } = result;
  const came =
    result.kind === "response" ? `"status":${result.status}` : `"cause":"${result.cause}"`;
  return (
    `${beginning},"outcome":"${judge(result, nowMs).kind}",${came}` +
    `,"durationMs":${tenths(result.durationMs)}${phasesText(phases, result)}` +
    `${answerText(phases)}}`
  );
}

function phasesText(phases: Phases | undefined, { durationMs }: HttpResult): string {
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

function answerText(phases: Phases | undefined): string {
  const kept = phases?.kept;
  if (kept === undefined) return "";
  return `,"answer":${JSON.stringify(Buffer.concat(kept).toString())}`;
}

function nextText(outputs: readonly Output[], nameOf: (key: EndpointKey) => string): string {
  const parked = outputs.flatMap((output) => {
    if (output.kind !== "park") return [];
    const { delayMs, delivery } = output;
    const atMs = delivery.notBeforeMs ?? delivery.dueAtMs ?? 0;
    const next = { tier: tierName(delayMs), at: new Date(atMs).toISOString() };
    return delivery.endpoint === null ? next : { ...next, endpoint: nameOf(delivery.endpoint) };
  });
  return parked.length === 0 ? "" : `,"next":${JSON.stringify(parked)}`;
}

/** To a tenth. Two small whole numbers are written sooner than one with a fraction. */
function tenths(ms: number): string {
  const whole = Math.max(0, Math.round(ms * 10));
  const rest = whole % 10;
  return rest === 0 ? `${whole / 10}` : `${(whole - rest) / 10}.${rest}`;
}

/** The text of an instant, which is mostly the one before. */
function instantTexts(): (atMs: number) => string {
  let last = Number.NaN;
  let text = "";
  return (atMs) => {
    if (atMs !== last) {
      text = new Date(atMs).toISOString();
      last = atMs;
    }
    return text;
  };
}

const endText = instantTexts();
const firstText = instantTexts();
