/**
 * Compares the signals of a destination's state and its start. The truth is the problem and the time at which it was
 * caused. A signal may be late by `NOTICED_MS`.
 */

import { METRICS } from "../../src/base/telemetry/metrics.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { type Comparison, dated, type Range, worded } from "./comparison.ts";
import { type Expected, NOT_KNOWN } from "./expected.ts";
import { type Look, metric, statusRow } from "./look.ts";

/** The time by which a signal may be late. */
export const NOTICED_MS = 15_000;
/** A response that was sent within this time may not be counted yet. */
export const COUNTING_MS = 3_000;
/** The program uses the brokers' clock, which it measures with an error of a few milliseconds. */
const CLOCKS_MS = 5;
/** The maximum time after which a problem that continues is reported again. */
const WARNED_EVERY_MS = 60_000;
const CLOSED = "closed";
const OPEN = "open";
/** By the value of the metric. */
const CIRCUIT = [CLOSED, CLOSED, OPEN, OPEN];

/** @param madeAtMs when the destination's problem started. */
export function stateSignals(
  look: Look,
  id: DestinationId,
  expected: Expected,
  madeAtMs: number,
): readonly Comparison[] {
  const { circuit, hold, isNamed, state } = expected;
  const number = metric(look, METRICS.circuitBreakerState, { destination: id }) ?? 0;
  const named = (look.ready?.healthProblems ?? []).filter((problem) => names(problem, id));
  const made = { from: madeAtMs - COUNTING_MS, to: madeAtMs + NOTICED_MS };
  // Each response with `Retry-After` starts a new hold when the previous one is over.
  const onHoldSince = hold === "retry-after" ? { from: made.from, to: look.toMs } : made;
  const since = (which: { readonly name: string }) =>
    instant(metric(look, which, { destination: id }));
  const failingSince = since(METRICS.destinationFailingSince);
  return [
    worded("metrics: circuit", CIRCUIT[number] ?? `${number}`, [circuit]),
    worded("metrics: on hold", holdReasons(look, id) || "no", [hold ?? "no"]),
    dated(
      "metrics: on hold since",
      since(METRICS.destinationOnHoldSince),
      hold === null ? null : onHoldSince,
    ),
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

/** The state that a process reports for a destination counts while the process owns partitions of it. */
function reportedState({ process }: Look, id: DestinationId): string {
  const reported = process?.destinations.find((each) => each.id === id);
  return reported === undefined || reported.state === "not-owned" ? NOT_KNOWN : reported.state;
}

function holdReasons(look: Look, id: DestinationId): string {
  return look.metrics
    .filter(
      ({ name, labels }) => name === METRICS.destinationOnHold.name && labels.destination === id,
    )
    .flatMap(({ labels, value }) => (value === 1 ? (labels.reason ?? "") : []))
    .join(" and ");
}

/** According to the receiver. Null if nothing was accepted since the process started. */
function lastAccepted({ fromMs, toMs, truth }: Look, id: DestinationId): Range | null {
  const { product } = truth;
  const accepted = product
    .receiver(id)
    .responses.filter(({ status, atMs }) => status === 200 && atMs >= product.startedAtMs);
  const [first, last] = [accepted[0], accepted.at(-1)];
  if (first === undefined || last === undefined) return null;
  const counted = accepted.findLast(({ atMs }) => atMs <= fromMs - COUNTING_MS) ?? first;
  // The request was sent before the receiver accepted it.
  return { from: counted.atMs - CLOCKS_MS, to: Math.max(toMs, last.atMs) };
}

function instant(seconds: number | null): number | null {
  return seconds === null || seconds === 0 ? null : seconds * 1_000;
}

/** The log line of the last attempt, while attempts fail. Otherwise, there must be no warning during a check. */
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

/** True if the text contains the ID as a separate word, because `down` must not be found in `shutdown`. */
function names(text: string, id: DestinationId): boolean {
  return new RegExp(`(?<![\\w-])${id}(?![\\w-])`).test(text);
}
