/**
 * Computes rates from the metrics of each process and earlier ones, which the process remembers or which were read before.
 *
 *   stage     done                          failed
 *   route     records taken                 records rejected
 *   deliver   attempts that were accepted   other attempts
 *   delay     records returned              records rejected
 *
 * A stage has rates if at least one of the processes that were reached runs the stage. If a counter is lower than in
 * the first reading, the process was restarted in between, and its counters started at 0 again.
 */

import { METRICS } from "../../base/telemetry/metrics.ts";
import { SKIP_REASONS, type SkipReason } from "../../base/words/reasons.ts";
import type { MetricValue } from "../../domain/process-status.ts";
import type { RecordPlace } from "../../domain/record.ts";
import type { ProcessReading } from "../connect/admin-port.ts";
import type { PolledProcess } from "./processes.ts";
import type {
  LostRecordsReport,
  SuppressionsReport,
  UnwritableTopicReport,
} from "./status-report.ts";

export interface Rate {
  readonly donePerMinute: number;
  readonly failedPerMinute: number;
}

type Counts = (labels: MetricValue["labels"]) => boolean;

const MINUTE_MS = 60_000;

/**
 * The values of a metric, indexed by destination. With 1,000 destinations, searching for the values of each one
 * would take seconds.
 */
type Index = ReadonlyMap<string, readonly MetricValue[]>;
const indexes = new WeakMap<readonly MetricValue[], Index>();

function valuesOf({ status }: ProcessReading, metric: string): readonly MetricValue[] {
  return status.metrics[metric] ?? [];
}

/** The values of a metric for a destination. An empty string selects the values without a destination. */
function valuesFor(
  reading: ProcessReading,
  metric: string,
  destination: string,
): readonly MetricValue[] {
  const all = valuesOf(reading, metric);
  const index = indexes.get(all) ?? Map.groupBy(all, ({ labels }) => labels.destination ?? "");
  indexes.set(all, index);
  return index.get(destination) ?? [];
}

function nowOf(
  processes: readonly PolledProcess[],
  metric: string,
  destination: string,
): readonly MetricValue[] {
  return processes.flatMap(({ after }) => valuesFor(after, metric, destination));
}

/** Returns null if none of the reached processes runs the stage. */
export function rateOf(
  processes: readonly PolledProcess[],
  stage: string,
  destination: string | null,
): Rate | null {
  const ofStage: Counts = (labels) => labels.stage === stage;
  const running = processes.filter(({ after }) =>
    valuesFor(after, METRICS.lag.name, destination ?? "").some(({ labels }) => ofStage(labels)),
  );
  if (running.length === 0) return null;
  const perMinute = (name: string, counts: Counts) =>
    running.reduce((sum, each) => sum + increase(each, name, destination ?? "", counts), 0);
  if (stage === "deliver") {
    const { name } = METRICS.attempts;
    return {
      donePerMinute: perMinute(name, ({ outcome }) => outcome === "accepted"),
      failedPerMinute: perMinute(name, ({ outcome }) => outcome !== "accepted"),
    };
  }
  const done = stage === "delay" ? METRICS.recordsOut : METRICS.recordsIn;
  return {
    donePerMinute: perMinute(done.name, ofStage),
    failedPerMinute: perMinute(METRICS.recordsRefused.name, ofStage),
  };
}

function increase(
  { before, after }: PolledProcess,
  name: string,
  destination: string,
  counts: Counts,
): number {
  const inBetweenMs = after.atMs - before.atMs;
  if (inBetweenMs <= 0) return 0;
  const earlier = valuesFor(before, name, destination);
  let sum = 0;
  for (const { labels, value } of valuesFor(after, name, destination)) {
    if (!counts(labels)) continue;
    const key = JSON.stringify(labels);
    const was = earlier.find((other) => JSON.stringify(other.labels) === key)?.value ?? 0;
    sum += value - (was > value ? 0 : was);
  }
  return (sum * MINUTE_MS) / inBetweenMs;
}

/**
 * The number of calls that were skipped for a destination since the processes started, by reason. The reasons are in
 * the order of `SKIP_REASONS`, and reasons without calls are omitted. Calls of suppressed users are counted by the route
 * and the deliver stage. Null if none of the reached processes runs the
 * route stage.
 */
export function skippedOf(
  processes: readonly PolledProcess[],
  destination: string,
): Readonly<Partial<Record<SkipReason, number>>> | null {
  const isRouting = nowOf(processes, METRICS.lag.name, "").some(
    ({ labels }) => labels.stage === "route",
  );
  if (!isRouting) return null;
  const values = nowOf(processes, METRICS.callsSkipped.name, destination);
  const counts = SKIP_REASONS.map((reason) => {
    const counted =
      reason === "suppressed"
        ? nowOf(processes, METRICS.suppressed.name, destination)
        : values.filter(({ labels }) => labels.reason === reason);
    return [reason, counted.reduce((sum, { value }) => sum + value, 0)] as const;
  });
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

/**
 * The number of a destination's deliveries awaiting retry, by delay. Null if none of the reached processes counts
 * them, or if a process has not finished counting.
 */
export function awaitingRetryOf(
  processes: readonly PolledProcess[],
  destination: string,
): Readonly<Record<string, number>> | null {
  const unknown = nowOf(processes, METRICS.waitingUnknown.name, "");
  if (unknown.length === 0 || unknown.some(({ value }) => value > 0)) return null;
  const found: Record<string, number> = {};
  for (const { labels, value } of nowOf(processes, METRICS.deliveriesWaiting.name, destination)) {
    const { delay = "" } = labels;
    if (value > 0) found[delay] = (found[delay] ?? 0) + value;
  }
  return found;
}

/** The number of all deliveries in a delay topic; null in the same cases as for `awaitingRetryOf`. */
export function awaitingRetryIn(processes: readonly PolledProcess[], delay: string): number | null {
  const unknown = nowOf(processes, METRICS.waitingUnknown.name, "");
  if (unknown.length === 0 || unknown.some(({ value }) => value > 0)) return null;
  return processes
    .flatMap(({ after }) => valuesOf(after, METRICS.deliveriesWaiting.name))
    .filter(({ labels }) => labels.delay === delay)
    .reduce((sum, { value }) => sum + value, 0);
}

/** When the next delivery awaiting retry is due; null if no such delivery is known. */
export function nextDueOf(processes: readonly PolledProcess[], destination: string): number | null {
  const due = nowOf(processes, METRICS.nextDue.name, destination).filter(({ value }) => value > 0);
  return due.length === 0 ? null : Math.min(...due.map(({ value }) => value)) * 1_000;
}

/** The age of the oldest unprocessed record in the queue, in milliseconds. */
export function oldestOf(processes: readonly PolledProcess[], destination: string): number | null {
  const ages = nowOf(processes, METRICS.oldestUnfinished.name, destination)
    .filter(({ labels, value }) => labels.stage === "deliver" && value > 0)
    .map(({ value }) => value);
  return ages.length === 0 ? null : Math.max(...ages) * 1_000;
}

/**
 * The corrupt batches at which a stage, or a destination's part of it, has halted.
 *
 * @param seen corrupt batches found at the group's positions.
 */
export function haltedAt(
  processes: readonly PolledProcess[],
  stage: string,
  destination: string | null,
  seen: readonly RecordPlace[],
): readonly RecordPlace[] {
  const found = new Map<string, RecordPlace>();
  for (const { labels, value } of nowOf(processes, METRICS.haltedOffset.name, destination ?? "")) {
    if (labels.stage !== stage) continue;
    const { topic = "", partition = "" } = labels;
    found.set(`${topic}/${partition}`, { topic, partition: Number(partition), offset: value });
  }
  for (const { topic, partition, offset } of seen) {
    found.set(`${topic}/${partition}`, { topic, partition, offset });
  }
  return [...found.values()];
}

export function suppressionsOf(processes: readonly PolledProcess[]): SuppressionsReport | null {
  const valuesNow = (name: string) => nowOf(processes, name, "").map(({ value }) => value);
  const users = valuesNow(METRICS.suppressedUsers.name);
  if (users.length === 0) return null;
  const changedAtS = Math.min(...valuesNow(METRICS.suppressionsChangedAt.name));
  const isKnown = changedAtS > 0 && Number.isFinite(changedAtS);
  const changedAt = isKnown ? new Date(changedAtS * 1_000).toISOString() : null;
  return { users: Math.max(...users), changedAt };
}

export function recordsLost(processes: readonly PolledProcess[]): readonly LostRecordsReport[] {
  return processes
    .flatMap(({ after }) => valuesOf(after, METRICS.recordsLost.name))
    .map(({ labels: { stage = "", destination = "", topic = "" }, value }) => {
      return { stage, destination: destination || null, topic, records: value };
    });
}

export function unwritableTopics(
  processes: readonly PolledProcess[],
): readonly UnwritableTopicReport[] {
  const found = new Map<string, { readonly sinceS: number; readonly destination: string }>();
  const blocked = processes.flatMap(({ after }) => valuesOf(after, METRICS.topicBlockedSince.name));
  for (const { labels, value } of blocked) {
    if (value === 0) continue;
    const { topic = "", destination = "" } = labels;
    const sinceS = Math.min(found.get(topic)?.sinceS ?? value, value);
    found.set(topic, { sinceS, destination });
  }
  const rerouted = (destination: string) =>
    nowOf(processes, METRICS.rerouted.name, destination).reduce((sum, { value }) => sum + value, 0);
  return [...found].map(([topic, { sinceS, destination }]) => ({
    topic,
    since: new Date(sinceS * 1_000).toISOString(),
    rerouted: destination === "" ? null : rerouted(destination),
  }));
}
