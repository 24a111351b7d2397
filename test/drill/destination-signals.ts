/**
 * What is said of a destination, compared with its receiver's ledger and with Kafka. The same for
 * every destination at every moment: a trouble only says what is expected of it.
 */

import type { DestinationId } from "../../src/domain/ids.ts";
import { tierName } from "../../src/domain/topics.ts";
import { METRICS } from "../../src/telemetry/metrics.ts";
import { ABSENT, type Comparison, counted, type Range, worded } from "./comparison.ts";
import { lagRange, samplesOf, waitingRange } from "./kafka-ranges.ts";
import { type Look, metric } from "./look.ts";
import { DELAYS_MS } from "./product.ts";

export interface Expected {
  /** Whether its endpoint accepts calls. */
  readonly accepts: boolean;
  /** Whether its endpoint is left alone by its breaker. */
  readonly breaker: "closed" | "not closed";
  /** Why its line is held; `breaker` may be said while it is probed, or not. */
  readonly held: "breaker" | "retry-after" | "paused" | "disabled" | null;
  /** Whether `/readyz` names it. */
  readonly isNamed: boolean;
  readonly failures: Failures | null;
  /** Its topic exists. */
  readonly hasTopic: boolean;
  /** Lines of the log that warn of something else than its attempts. */
  readonly warnings: "none" | "some";
}

/** How its requests fail. */
export interface Failures {
  /** As the metric names it. */
  readonly outcome: string;
  /** What the receiver answers; null: nothing that it could count. */
  readonly status: number | null;
  /** The level of an attempt's line. */
  readonly level: "warn" | "error";
}

export const FINE: Expected = {
  accepts: true,
  breaker: "closed",
  held: null,
  isNamed: false,
  failures: null,
  hasTopic: true,
  warnings: "none",
};

/** An answer that was sent a moment ago may not be counted yet. */
const COUNTING_MS = 3_000;
/** What goes on is told again after so long at most. */
const WARNED_EVERY_MS = 60_000;
/** What a lag may be old. */
const LAG_AGE_MS = 15_000;
const BREAKER = ["closed", "not closed", "not closed", "not closed"];

export function destinationSignals(
  look: Look,
  id: DestinationId,
  expected: Expected,
): readonly Comparison[] {
  return [
    ...ledgerSignals(look, id, expected),
    ...kafkaSignals(look, id, expected),
    ...stateSignals(look, id, expected),
    logSignal(look, id, expected),
  ];
}

/** Against the answers of its receiver. */
function ledgerSignals(
  look: Look,
  id: DestinationId,
  { failures }: Expected,
): readonly Comparison[] {
  const attempts = metric(look, METRICS.attempts, { destination: id, outcome: "accepted" });
  const accepted = counted("metrics: accepted attempts", attempts ?? 0, answers(look, id, 200));
  if (failures === null) return [accepted];
  const { outcome, status } = failures;
  const signal = `metrics: requests ${outcome}`;
  const said = metric(look, METRICS.requests, { destination: id, outcome });
  // Where no request arrives, nobody counts them but the program.
  const isSome = { signal, said: `${said ?? 0}`, truth: "above 0", ok: (said ?? 0) > 0 };
  return [accepted, status === null ? isSome : counted(signal, said, answers(look, id, status))];
}

/** To the process that runs now: its counters began at 0. */
function answers({ fromMs, toMs, truth }: Look, id: DestinationId, status: number): Range {
  const { product } = truth;
  const all = product
    .receiver(id)
    .answers.filter((each) => each.status === status && each.atMs >= product.startedAtMs);
  const until = (ms: number) => all.filter(({ atMs }) => atMs <= ms).length;
  return { from: until(fromMs - COUNTING_MS), to: until(toMs) };
}

/** Against the ends, commits and records of Kafka. */
function kafkaSignals(
  look: Look,
  id: DestinationId,
  { hasTopic }: Expected,
): readonly Comparison[] {
  const { samples, product } = look.truth;
  const now = { from: look.fromMs, to: look.toMs };
  const commits = samplesOf(samples, now);
  const topics = [product.topics.deliveries(id), product.topics.returns(id)];
  const group = product.groups.deliver(id);
  const recent = samplesOf(samples, { from: look.fromMs - LAG_AGE_MS, to: look.toMs });
  const row = rowOf(look, id);
  const labels = { stage: "deliver", destination: id };
  const signals = [
    counted(
      "metrics: lag",
      metric(look, METRICS.lag, labels),
      hasTopic ? lagRange({ ends: recent, commits }, group, topics) : null,
    ),
    counted(
      "status: LAG",
      row?.lag ?? null,
      hasTopic ? lagRange({ ends: commits, commits }, group, topics) : null,
    ),
  ];
  return [...signals, ...letterSignals(look, id)];
}

function letterSignals(look: Look, id: DestinationId): readonly Comparison[] {
  const { samples, records, product } = look.truth;
  const now = { from: look.fromMs - COUNTING_MS, to: look.toMs };
  const place = { group: "", topic: product.topics.deadLetters };
  const isOwn = (headers: ReadonlyMap<string, string>) =>
    headers.get("switchyard-destination") === id;
  const truth = waitingRange(samplesOf(samples, now), records, place, ({ headers }) =>
    isOwn(headers),
  );
  const written = metric(look, METRICS.deadLetters, { destination: id });
  return [
    counted("metrics: dead letters", written ?? 0, truth),
    counted("status: DEAD LETTERS", rowOf(look, id)?.deadLettersLastDay ?? null, truth),
  ];
}

/** What people are told in words. */
function stateSignals(
  look: Look,
  id: DestinationId,
  { breaker, held, isNamed }: Expected,
): readonly Comparison[] {
  const state = metric(look, METRICS.breakerState, { destination: id }) ?? 0;
  const reasons = heldReasons(look, id);
  const named = (look.ready?.troubles ?? []).filter((trouble) => names(trouble, id));
  return [
    worded("metrics: breaker", BREAKER[state] ?? `${state}`, [breaker]),
    worded("metrics: line held", reasons || "no", [held ?? "no"]),
    worded("readyz", named.length > 0 ? "names it" : "silent", [isNamed ? "names it" : "silent"]),
  ];
}

/** Of the last attempt, while it fails. Else nothing that warns, for as long as a look takes. */
function logSignal(
  look: Look,
  id: DestinationId,
  { failures, warnings: expected }: Expected,
): Comparison {
  const own = look.lines.filter(({ destination }) => destination === id);
  const warnedMs = expected === "some" ? WARNED_EVERY_MS : 0;
  if (failures === null) {
    const warnings = own.filter(
      ({ atMs, level }) =>
        atMs >= look.fromMs - warnedMs && (level === "warn" || level === "error"),
    );
    return worded("log: warnings", warnings.length > 0 ? "some" : "none", [expected]);
  }
  const { outcome, status, level } = failures;
  const last = own.findLast(({ msg }) => msg === "delivery.attempted");
  const [request] = (last?.requests ?? []) as readonly { status?: number; cause?: string }[];
  const said = last === undefined ? ABSENT : `${last.level} ${request?.status ?? request?.cause}`;
  return worded("log: last attempt", said, [`${level} ${status ?? outcome}`]);
}

function heldReasons(look: Look, id: DestinationId): string {
  return look.metrics
    .filter(({ name, labels }) => name === METRICS.lineHeld.name && labels.destination === id)
    .flatMap(({ labels, value }) => (value === 1 ? (labels.because ?? "") : []))
    .join(" and ");
}

/** As a word of its own: `down` is no part of `shutdown`. */
export function names(text: string, id: DestinationId): boolean {
  return new RegExp(`(?<![\\w-])${id}(?![\\w-])`).test(text);
}

function rowOf({ status }: Look, id: DestinationId) {
  return status.report?.stages.find((row) => row.stage === "deliver" && row.destination === id);
}

/** Deliveries that wait in the delay topics, by tier. */
export function waitingByTier(look: Look, id: DestinationId): ReadonlyMap<string, Range | null> {
  const { samples, records, product } = look.truth;
  const recent = samplesOf(samples, { from: look.fromMs - LAG_AGE_MS, to: look.toMs });
  return new Map(
    DELAYS_MS.map((delayMs) => {
      const tier = tierName(delayMs);
      const place = { group: product.groups.delay(tier), topic: product.topics.delays(delayMs) };
      const fits = ({ headers }: (typeof records)[number]) =>
        headers.get("switchyard-destination") === id;
      return [tier, waitingRange(recent, records, place, fits)];
    }),
  );
}
