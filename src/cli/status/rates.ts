/**
 * The rates between two looks at the metrics of each process.
 *
 *   stage     done                          failed
 *   route     records taken                 records refused
 *   deliver   attempts that were accepted   other attempts
 *   delay     records returned              records refused
 *
 * A stage has rates when a process that was reached runs it. A counter that is lower than before
 * belongs to a process that was started in between: it counts from 0.
 */

import { METRICS } from "../../telemetry/metrics.ts";
import type { Sample } from "../metrics-text.ts";

/** All that is read here; a process with many destinations has many more. */
export const METRICS_USED: ReadonlySet<string> = new Set([
  METRICS.lag.name,
  METRICS.attempts.name,
  METRICS.recordsIn.name,
  METRICS.recordsOut.name,
  METRICS.recordsRefused.name,
  METRICS.breakerState.name,
  METRICS.topicBlockedSince.name,
  METRICS.wentAround.name,
  METRICS.consumerHalted.name,
  METRICS.kafkaAwaySince.name,
  METRICS.configInfo.name,
  METRICS.configInvalidSince.name,
  METRICS.configNeedsRestart.name,
  METRICS.configHeldBack.name,
]);

export interface Look {
  /** Of a clock that only goes forward. */
  readonly atMs: number;
  /** Those of `METRICS_USED`. */
  readonly samples: readonly Sample[];
}

export interface Process {
  readonly before: Look;
  readonly after: Look;
}

export interface Rate {
  readonly donePerMinute: number;
  readonly failedPerMinute: number;
}

type Counts = (labels: Sample["labels"]) => boolean;

const MINUTE_MS = 60_000;

/** Null: no process that was reached runs the stage. */
export function rateOf(
  processes: readonly Process[],
  stage: string,
  destination: string | null,
): Rate | null {
  const runs: Counts = (labels) =>
    labels.stage === stage && labels.destination === (destination ?? "");
  const running = processes.filter(({ after }) =>
    after.samples.some(({ name, labels }) => name === METRICS.lag.name && runs(labels)),
  );
  if (running.length === 0) return null;
  const perMinute = (name: string, counts: Counts) =>
    running.reduce((sum, process) => sum + increase(process, name, counts), 0);
  if (stage === "deliver") {
    const ofDestination = (labels: Sample["labels"]) => labels.destination === destination;
    const { name } = METRICS.attempts;
    return {
      donePerMinute: perMinute(name, (at) => ofDestination(at) && at.outcome === "accepted"),
      failedPerMinute: perMinute(name, (at) => ofDestination(at) && at.outcome !== "accepted"),
    };
  }
  const done = stage === "delay" ? METRICS.recordsOut : METRICS.recordsIn;
  return {
    donePerMinute: perMinute(done.name, (labels) => labels.stage === stage),
    failedPerMinute: perMinute(METRICS.recordsRefused.name, (labels) => labels.stage === stage),
  };
}

function increase({ before, after }: Process, name: string, counts: Counts): number {
  const inBetweenMs = after.atMs - before.atMs;
  if (inBetweenMs <= 0) return 0;
  let sum = 0;
  for (const sample of after.samples) {
    if (sample.name !== name || !counts(sample.labels)) continue;
    const key = JSON.stringify(sample.labels);
    const earlier = before.samples.find(
      (other) => other.name === name && JSON.stringify(other.labels) === key,
    );
    const from = earlier === undefined || earlier.value > sample.value ? 0 : earlier.value;
    sum += sample.value - from;
  }
  return (sum * MINUTE_MS) / inBetweenMs;
}

export interface Breakers {
  readonly endpoints: number;
  readonly open: number;
  readonly halfOpen: number;
}

/** The worst state of each endpoint over all processes; null where nothing is known. */
export function breakersOf(processes: readonly Process[], destination: string): Breakers | null {
  const states = new Map<string, number>();
  for (const { name, labels, value } of processes.flatMap(({ after }) => after.samples)) {
    if (name !== METRICS.breakerState.name || labels.destination !== destination) continue;
    const endpoint = labels.endpoint ?? "";
    states.set(endpoint, Math.max(states.get(endpoint) ?? 0, value));
  }
  if (states.size === 0) return null;
  const counted = [...states.values()];
  return {
    endpoints: states.size,
    open: counted.filter((state) => state >= 2).length,
    halfOpen: counted.filter((state) => state === 1).length,
  };
}

/** A damaged batch at which a stage halts. */
export interface HaltReport {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/**
 * The damaged batches that halt the stage, or the destination's part of it.
 *
 * @param seen those at which its group stands
 */
export function haltsOf(
  processes: readonly Process[],
  stage: string,
  destination: string | null,
  seen: readonly HaltReport[],
): readonly HaltReport[] {
  const found = new Map<string, HaltReport>();
  for (const { name, labels, value } of processes.flatMap(({ after }) => after.samples)) {
    const isOf = labels.stage === stage && labels.destination === (destination ?? "");
    if (name !== METRICS.haltedOffset.name || !isOf) continue;
    const { topic = "", partition = "" } = labels;
    found.set(`${topic}/${partition}`, { topic, partition: Number(partition), offset: value });
  }
  for (const { topic, partition, offset } of seen) {
    found.set(`${topic}/${partition}`, { topic, partition, offset });
  }
  return [...found.values()];
}

/** A topic that takes nothing, as the processes see it. */
export interface BlockedTopicReport {
  readonly topic: string;
  /** As in ISO 8601; of several processes the earliest. */
  readonly since: string;
  /** Deliveries that went around it since the processes were started; null: it holds none. */
  readonly wentAround: number | null;
}

export function blockedTopics(processes: readonly Process[]): readonly BlockedTopicReport[] {
  const samples = processes.flatMap(({ after }) => after.samples);
  const found = new Map<string, { readonly sinceS: number; readonly destination: string }>();
  for (const { name, labels, value } of samples) {
    if (name !== METRICS.topicBlockedSince.name || value === 0) continue;
    const { topic = "", destination = "" } = labels;
    const sinceS = Math.min(found.get(topic)?.sinceS ?? value, value);
    found.set(topic, { sinceS, destination });
  }
  const around = (destination: string) =>
    samples
      .filter(({ name, labels }) => {
        return name === METRICS.wentAround.name && labels.destination === destination;
      })
      .reduce((sum, { value }) => sum + value, 0);
  return [...found].map(([topic, { sinceS, destination }]) => ({
    topic,
    since: new Date(sinceS * 1_000).toISOString(),
    wentAround: destination === "" ? null : around(destination),
  }));
}

/** Kafka brokers that do not answer the process. */
export function brokersAway({
  after,
}: Process): readonly { readonly broker: string; readonly since: string }[] {
  return after.samples.flatMap(({ name, labels, value }) =>
    name === METRICS.kafkaAwaySince.name && value > 0
      ? [{ broker: labels.broker ?? "", since: new Date(value * 1_000).toISOString() }]
      : [],
  );
}
