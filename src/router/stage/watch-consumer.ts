/** Sets a consumer's gauges before each scrape: lag, age of the oldest record, state, counts. */

import type { Clock } from "../../base/runtime/clock.ts";
import type { Metrics } from "../../base/telemetry/instruments.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { type CorruptBatch, corruptBatchOf } from "../../domain/corrupt-batch.ts";
import { LOST_SHOWN_MS, type LostRecords, lostFix, lostText } from "../../domain/lost-records.ts";
import type { StageName } from "../../domain/stages.ts";
import type { Consumer, ConsumerVitals } from "../../kafka/port.ts";
import { BacklogSight } from "./consumer-signals.ts";

export type WatchedConsumer = Pick<Consumer, "progress" | "vitals" | "rebalances" | "offsetResets">;

interface ConsumerLabels {
  readonly stage: StageName;
  readonly destination: string;
}

/** Disposing of the result removes the gauges with these labels. @param destination empty for shared stages. */
export function watchConsumer(
  metrics: Metrics,
  consumer: WatchedConsumer,
  labels: ConsumerLabels,
  clock: { nowMs(): number },
): Disposable {
  const lag = metrics.lag.bind(labels);
  const age = metrics.oldestUnfinished.bind(labels);
  const halted = metrics.consumerHalted.bind(labels);
  const rebalances = metrics.rebalances.bind(labels);
  const offsetResets = metrics.offsetResets.bind(labels);
  const lastFetch = metrics.lastFetch.bind(labels);
  const lastHeartbeat = metrics.lastHeartbeat.bind(labels);
  const commitFailures = metrics.commitFailures.bind(labels);
  const unknown = metrics.lagUnknown.bind({ stage: labels.stage });
  let shown: readonly CorruptBatch[] = [];
  const sight = new BacklogSight();
  const counted = { rebalances: 0, offsetResets: 0, commitFailures: 0, unknown: 0 };
  const countUnknown = (now: 0 | 1) => {
    unknown.inc(now - counted.unknown);
    counted.unknown = now;
  };
  const stop = metrics.onScrape(() => {
    const nowMs = clock.nowMs();
    const vitals = consumer.vitals();
    const backlog = sight.look(consumer.progress(), vitals.isAssigned, nowMs);
    lag.set(backlog.lag ?? Number.NaN);
    age.set((backlog.oldestAgeMs ?? Number.NaN) / 1_000);
    countUnknown(backlog.lag === null ? 1 : 0);
    lastFetch.set((vitals.fetchedAtMs ?? 0) / 1_000);
    lastHeartbeat.set((vitals.heardAtMs ?? 0) / 1_000);
    showForeign(metrics, labels, vitals);
    commitFailures.inc(vitals.commitFailures - counted.commitFailures);
    counted.commitFailures = vitals.commitFailures;
    const halts = vitals.halts.flatMap((error) => corruptBatchOf(error) ?? []);
    halted.set(halts.length > 0 ? 1 : 0);
    showHalts(metrics, labels, shown, halts);
    shown = halts;
    rebalances.inc(consumer.rebalances() - counted.rebalances);
    counted.rebalances = consumer.rebalances();
    offsetResets.inc(consumer.offsetResets() - counted.offsetResets);
    counted.offsetResets = consumer.offsetResets();
  });
  return {
    [Symbol.dispose]: () => {
      stop();
      countUnknown(0);
      for (const gauge of [
        metrics.lag,
        metrics.oldestUnfinished,
        metrics.lastFetch,
        metrics.lastHeartbeat,
        metrics.consumerHalted,
        metrics.foreignMembers,
      ]) {
        gauge.remove(labels);
      }
      showHalts(metrics, labels, shown, []);
    },
  };
}

/**
 * Sets the gauge only if there are foreign members, because otherwise there would be a series for each of a thousand
 * destinations.
 */
function showForeign(
  { foreignMembers: gauge }: Metrics,
  labels: ConsumerLabels,
  { foreignMembers }: ConsumerVitals,
): void {
  if (foreignMembers.length === 0) gauge.remove(labels);
  else gauge.bind(labels).set(foreignMembers.length);
}

/** For `/readyz`. */
export function haltTexts({ halts }: ConsumerVitals): readonly string[] {
  return halts.map(({ message }) => `halted: ${message}`);
}

/** Sentences about the consumer group for `/readyz`; empty if there is nothing to report. */
export function groupTexts({ foreignMembers, unreadTopics }: ConsumerVitals): readonly string[] {
  const unread = unreadTopics.map(
    (topic) =>
      `nobody reads ${topic}: another process reads this topic, but this process, which assigns the partitions, cannot see it. Create the topic, or grant this process the permission Describe on it`,
  );
  if (foreignMembers.length === 0) return unread;
  return [
    ...unread,
    `another program is or was a member of the consumer group, with the client ID ${foreignMembers.join(", ")}: each time it joins, the whole group pauses`,
  ];
}

interface LossDeps {
  readonly metrics: Pick<Metrics, "recordsLost" | "onScrape">;
  readonly log: Log;
  readonly clock: Pick<Clock, "nowMs">;
}

/** Reports records that were lost: at once in the log, and for 24 h in a gauge and in `/readyz`. */
export class LossReport implements Disposable {
  readonly #lost = new Map<string, LostRecords & { readonly atMs: number }>();
  readonly #deps: LossDeps;
  readonly #labels: ConsumerLabels;
  readonly #stop: () => void;

  constructor(deps: LossDeps, labels: ConsumerLabels) {
    this.#deps = deps;
    this.#labels = labels;
    this.#stop = deps.metrics.onScrape(() => void this.#current());
  }

  add({ topic, records }: LostRecords): void {
    const { metrics, log, clock } = this.#deps;
    const sum = records + (this.#current().find((each) => each.topic === topic)?.records ?? 0);
    this.#lost.set(topic, { topic, records: sum, atMs: clock.nowMs() });
    metrics.recordsLost.bind({ ...this.#labels, topic }).set(sum);
    const fix = lostFix(this.#labels.destination);
    log.error({ ...this.#labels, topic, records, fix }, "stage.records-lost");
  }

  healthProblems(): readonly string[] {
    return this.#current().map((lost) => lostText(lost, this.#labels.destination));
  }

  [Symbol.dispose](): void {
    this.#stop();
    this.#current(0);
  }

  /** Removes what is no longer shown. */
  #current(shownMs = LOST_SHOWN_MS): readonly LostRecords[] {
    const { metrics, clock } = this.#deps;
    for (const [topic, { atMs }] of this.#lost) {
      if (Math.abs(clock.nowMs() - atMs) < shownMs) continue;
      this.#lost.delete(topic);
      metrics.recordsLost.remove({ ...this.#labels, topic });
    }
    return [...this.#lost.values()];
  }
}

/** Sets gauges with the offsets of the batches while the batches halt the consumer. */
function showHalts(
  { haltedOffset: gauge }: Metrics,
  labels: ConsumerLabels,
  before: readonly CorruptBatch[],
  halts: readonly CorruptBatch[],
): void {
  const labelsOf = ({ topic, partition }: CorruptBatch) => {
    return { ...labels, topic, partition: `${partition}` };
  };
  for (const each of before) gauge.remove(labelsOf(each));
  for (const each of halts) gauge.bind(labelsOf(each)).set(each.offset);
}
