/**
 * Holds the counts of a process since its start, which it reports as metrics. They are stored in arrays of numbers, because each poll can read the
 * counts of a thousand destinations.
 *
 *   a process                                        its increase
 *   was polled before, and has the same start        the difference, or the whole counter if it is lower than before
 *   was polled before, and has started again         its whole counters
 *   was not polled before, and started since then    its whole counters
 *   was not polled before, and started earlier       none, because it is unknown when it counted
 */

import { METRICS } from "../../base/telemetry/metrics.ts";
import { isSkipReason, SKIP_REASONS } from "../../base/words/reasons.ts";
import type { MetricValues } from "../../domain/process-status.ts";
import { RESPONSE_CLASSES } from "./view.ts";

/** Upper bounds of the buckets for the duration of attempts, in seconds, as in `METRICS.attemptDuration`. */
export const ATTEMPT_BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** The indexes at which the counts of a destination are stored. */
export const AT = {
  responses: 0,
  /** Attempts by duration, with one index per bucket. The last bucket is for durations above all bounds. */
  buckets: RESPONSE_CLASSES.length,
  /** Skipped calls, in the order of `SKIP_REASONS`. */
  skipped: RESPONSE_CLASSES.length + ATTEMPT_BOUNDS_S.length + 1,
} as const;
export const DESTINATION_WIDTH = AT.skipped + SKIP_REASONS.length;

/** The indexes at which the counts of all destinations together are stored, in the order of `FLOW_NAMES`. */
export const FLOW_AT = { calls: 0, routed: 1, accepted: 2, failed: 3, deadLetters: 4 } as const;
export const FLOW_WIDTH = 5;

export interface Counters {
  readonly flow: Float64Array;
  readonly destinations: ReadonlyMap<string, Float64Array>;
  /** When the process started, in milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** For each index in `FLOW_AT`, true if the process counts it. This depends on the stages that the process runs. */
  readonly counts: readonly boolean[];
}

/** The counters of each process, by its address. */
export type AllCounters = ReadonlyMap<string, Counters>;

/** Turns the metrics of a process into the numbers that the console's history stores. */
export function digest(metrics: MetricValues): Omit<Counters, "startedAtMs"> {
  const flow = new Float64Array(FLOW_WIDTH);
  const counts = new Array<boolean>(FLOW_WIDTH).fill(false);
  const destinations = new Map<string, Float64Array>();
  const add = (id: string, place: number, value: number) => {
    const row = destinations.get(id) ?? new Float64Array(DESTINATION_WIDTH);
    destinations.set(id, row);
    row[place] = (row[place] ?? 0) + value;
  };
  const count = (place: number, value: number) => {
    flow[place] = (flow[place] ?? 0) + value;
    counts[place] = true;
  };
  const valuesOf = ({ name }: { readonly name: string }) => metrics[name] ?? [];
  for (const { labels, value } of valuesOf(METRICS.attempts)) {
    count(labels.outcome === "accepted" ? FLOW_AT.accepted : FLOW_AT.failed, value);
  }
  for (const { labels, value } of valuesOf(METRICS.requests)) {
    add(labels.destination ?? "", AT.responses + responseAt(labels.outcome ?? ""), value);
  }
  for (const { value } of valuesOf(METRICS.callsRouted)) count(FLOW_AT.routed, value);
  for (const { labels, value } of valuesOf(METRICS.callsSkipped)) {
    const { destination = "", reason = "" } = labels;
    // Counted below, with those of the deliver stage.
    if (reason === "suppressed") continue;
    if (isSkipReason(reason)) add(destination, AT.skipped + SKIP_REASONS.indexOf(reason), value);
  }
  for (const { labels, value } of valuesOf(METRICS.suppressed)) {
    const { destination = "" } = labels;
    const at = AT.skipped + SKIP_REASONS.indexOf("suppressed");
    if (destination !== "") add(destination, at, value);
  }
  for (const { labels, value } of valuesOf(METRICS.recordsIn)) {
    if (labels.stage === "route") count(FLOW_AT.calls, value);
  }
  for (const { value } of valuesOf(METRICS.deadLetters)) count(FLOW_AT.deadLetters, value);
  for (const { labels, buckets = [] } of valuesOf(METRICS.attemptDuration)) {
    const { destination = "" } = labels;
    // With `metrics.destinations: counts`, values without a destination are for all destinations together.
    if (destination === "") continue;
    for (const [at, observed] of buckets.entries()) add(destination, AT.buckets + at, observed);
  }
  // A process that counts calls also counts dead letters. If it reports none, their number is 0.
  if (counts[FLOW_AT.calls] === true) counts[FLOW_AT.deadLetters] = true;
  return { flow, destinations, counts };
}

function responseAt(outcome: string): number {
  const at = (RESPONSE_CLASSES as readonly string[]).indexOf(outcome.replace(/^tls-.*/, "tls"));
  return at < 0 ? RESPONSE_CLASSES.indexOf("other") : at;
}

/** The increases between two polls, summed over the processes. @param sinceMs the time of the first poll. */
export function increases(
  before: AllCounters,
  after: AllCounters,
  sinceMs: number,
): Omit<Counters, "startedAtMs"> {
  const flow = new Float64Array(FLOW_WIDTH);
  const destinations = new Map<string, Float64Array>();
  const counts = flow.reduce<boolean[]>((all) => [...all, false], []);
  for (const [address, now] of after) {
    const polled = before.get(address);
    if (polled === undefined && !(now.startedAtMs > sinceMs)) continue;
    const was = polled?.startedAtMs === now.startedAtMs ? polled : undefined;
    addIncrease(flow, was?.flow, now.flow);
    for (const [place, counted] of now.counts.entries()) counts[place] ||= counted;
    for (const [id, row] of now.destinations) {
      const sum = destinations.get(id) ?? new Float64Array(DESTINATION_WIDTH);
      addIncrease(sum, was?.destinations.get(id), row);
      destinations.set(id, sum);
    }
  }
  return { flow, destinations, counts };
}

function addIncrease(sum: Float64Array, was: Float64Array | undefined, now: Float64Array): void {
  // Each counter is compared separately to detect a restart, after which counters are lower than before.
  for (let place = 0; place < now.length; place += 1) {
    const [earlier, later] = [was?.[place] ?? 0, now[place] ?? 0];
    sum[place] = (sum[place] ?? 0) + (later < earlier ? later : later - earlier);
  }
}

export function addTo(sum: Float64Array, other: Float64Array): void {
  for (let place = 0; place < other.length; place += 1) {
    sum[place] = (sum[place] ?? 0) + (other[place] ?? 0);
  }
}

/**
 * A percentile of the durations of attempts in milliseconds, interpolated within a bucket; null if there were no
 * attempts. If the percentile is above the last bound, that bound is returned.
 */
export function percentileMs(row: ArrayLike<number>, share: number) {
  const size = ATTEMPT_BOUNDS_S.length + 1;
  let total = 0;
  for (let place = 0; place < size; place += 1) total += row[AT.buckets + place] ?? 0;
  if (total === 0) return null;
  const wanted = total * share;
  let passed = 0;
  for (let place = 0; place < size; place += 1) {
    const count = row[AT.buckets + place] ?? 0;
    if (count > 0 && passed + count >= wanted) {
      const low = ATTEMPT_BOUNDS_S[place - 1] ?? 0;
      const high = ATTEMPT_BOUNDS_S[place] ?? low;
      return (low + ((high - low) * (wanted - passed)) / count) * 1_000;
    }
    passed += count;
  }
  return null;
}
