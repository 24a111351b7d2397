/**
 * What is said of a destination's state: in words, and since when. The truth is the trouble that was
 * made, and when; a signal may be late by `NOTICED_MS`.
 */

import type { DestinationId } from "../../src/domain/ids.ts";
import { METRICS } from "../../src/telemetry/metrics.ts";
import { type Comparison, dated, type Range, worded } from "./comparison.ts";
import { type Expected, NOT_KNOWN } from "./expected.ts";
import { type Look, metric, statusRow } from "./look.ts";

/** A signal may be late by so much. */
export const NOTICED_MS = 15_000;
/** An answer that was sent a moment ago may not be counted yet. */
export const COUNTING_MS = 3_000;
/** The program goes by the brokers' clock, which it measures to some milliseconds. */
const CLOCKS_MS = 5;
/** A trouble that goes on is told again after so long at most. */
const WARNED_EVERY_MS = 60_000;
const CLOSED = "closed";
const LEFT_ALONE = "left alone";
/** By the number that the metric gives. */
const BREAKER = [CLOSED, CLOSED, LEFT_ALONE, LEFT_ALONE];

/** @param madeAtMs when its trouble was made. */
export function stateSignals(
  look: Look,
  id: DestinationId,
  expected: Expected,
  madeAtMs: number,
): readonly Comparison[] {
  const { breaker, held, isNamed, state } = expected;
  const number = metric(look, METRICS.circuitBreakerState, { destination: id }) ?? 0;
  const named = (look.ready?.healthProblems ?? []).filter((trouble) => names(trouble, id));
  const made = { from: madeAtMs - COUNTING_MS, to: madeAtMs + NOTICED_MS };
  // Each answer that asks for time begins anew, when the time before is over.
  const heldSince = held === "retry-after" ? { from: made.from, to: look.toMs } : made;
  const since = (which: { readonly name: string }) =>
    instant(metric(look, which, { destination: id }));
  const failingSince = since(METRICS.destinationFailingSince);
  return [
    worded("metrics: breaker", BREAKER[number] ?? `${number}`, [breaker]),
    worded("metrics: line held", heldReasons(look, id) || "no", [held ?? "no"]),
    dated("metrics: held since", since(METRICS.lineHeldSince), held === null ? null : heldSince),
    ...(expected.isFailing === null
      ? []
      : [dated("metrics: failing since", failingSince, expected.isFailing ? made : null)]),
    dated("metrics: last accepted", since(METRICS.destinationLastAccepted), lastAccepted(look, id)),
    worded("readyz", named.length > 0 ? "names it" : "silent", [isNamed ? "names it" : "silent"]),
    worded("/status: state", reportedState(look, id), [state]),
    worded("status: state", statusRow(look, id)?.state ?? NOT_KNOWN, [state]),
    logSignal(look, id, expected),
  ];
}

/** What a process remembers of a destination counts while it has partitions of it. */
function reportedState({ process }: Look, id: DestinationId): string {
  const reported = process?.destinations.find((each) => each.id === id);
  return reported === undefined || reported.state === "not-owned" ? NOT_KNOWN : reported.state;
}

function heldReasons(look: Look, id: DestinationId): string {
  return look.metrics
    .filter(({ name, labels }) => name === METRICS.lineHeld.name && labels.destination === id)
    .flatMap(({ labels, value }) => (value === 1 ? (labels.reason ?? "") : []))
    .join(" and ");
}

/** By its receiver. Null: it has accepted nothing since the process started. */
function lastAccepted({ fromMs, toMs, truth }: Look, id: DestinationId): Range | null {
  const { product } = truth;
  const accepted = product
    .receiver(id)
    .answers.filter(({ status, atMs }) => status === 200 && atMs >= product.startedAtMs);
  const [first, last] = [accepted[0], accepted.at(-1)];
  if (first === undefined || last === undefined) return null;
  const counted = accepted.findLast(({ atMs }) => atMs <= fromMs - COUNTING_MS) ?? first;
  // It was sent before it was accepted there.
  return { from: counted.atMs - CLOCKS_MS, to: Math.max(toMs, last.atMs) };
}

function instant(seconds: number | null): number | null {
  return seconds === null || seconds === 0 ? null : seconds * 1_000;
}

/** Of the last attempt, while it fails. Else nothing that warns, for as long as a look takes. */
function logSignal(
  look: Look,
  id: DestinationId,
  { failures, warnings: expected }: Expected,
): Comparison {
  const own = look.lines.filter(({ destination }) => destination === id);
  if (failures === null) {
    const sinceMs = look.fromMs - (expected === "some" ? WARNED_EVERY_MS : 0);
    const warnings = own.filter(
      ({ atMs, level }) => atMs >= sinceMs && (level === "warn" || level === "error"),
    );
    return worded("log: warnings", warnings.length > 0 ? "some" : "none", [expected]);
  }
  const { outcome, status, level } = failures;
  const last = own.findLast(({ msg }) => msg === "delivery.attempted");
  const [request] = (last?.requests ?? []) as readonly { status?: number; cause?: string }[];
  const said = last === undefined ? "none" : `${last.level} ${request?.status ?? request?.cause}`;
  return worded("log: last attempt", said, [`${level} ${status ?? outcome}`]);
}

/** As a word of its own: `down` is no part of `shutdown`. */
function names(text: string, id: DestinationId): boolean {
  return new RegExp(`(?<![\\w-])${id}(?![\\w-])`).test(text);
}
