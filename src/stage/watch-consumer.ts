/** Sets a consumer's gauges before each scrape: lag, age of the oldest record, state, counts. */

import type { CorruptBatch } from "../domain/corrupt-batch.ts";
import type { StageName } from "../domain/stages.ts";
import type { Consumer, ConsumerVitals } from "../kafka/port.ts";
import type { Metrics } from "../telemetry/instruments.ts";
import { BacklogSight } from "./consumer-signals.ts";

export type WatchedConsumer = Pick<
  Consumer,
  "progress" | "vitals" | "rebalances" | "offsetResets"
> & {
  readonly haltedAt?: () => readonly CorruptBatch[];
};

/** Disposing of the result removes the gauges with these labels. @param destination empty for shared stages. */
export function watchConsumer(
  metrics: Metrics,
  consumer: WatchedConsumer,
  { stage, destination }: { readonly stage: StageName; readonly destination: string },
  clock: { nowMs(): number },
): Disposable {
  const lag = metrics.lag.bind({ stage, destination });
  const age = metrics.oldestUnfinished.bind({ stage, destination });
  const halted = metrics.consumerHalted.bind({ stage, destination });
  const rebalances = metrics.rebalances.bind({ stage, destination });
  const offsetResets = metrics.offsetResets.bind({ stage, destination });
  const shown = haltGauges(metrics, { stage, destination });
  const lastFetch = metrics.lastFetch.bind({ stage, destination });
  const lastHeartbeat = metrics.lastHeartbeat.bind({ stage, destination });
  const commitFailures = metrics.commitFailures.bind({ stage, destination });
  const unknown = metrics.lagUnknown.bind({ stage });
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
    showForeign(metrics, { stage, destination }, vitals);
    commitFailures.inc(vitals.commitFailures - counted.commitFailures);
    counted.commitFailures = vitals.commitFailures;
    const halts = consumer.haltedAt?.() ?? [];
    halted.set(halts.length > 0 ? 1 : 0);
    shown.show(halts);
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
        gauge.remove({ stage, destination });
      }
      shown.show([]);
    },
  };
}

/**
 * Sets the gauge only if there are foreign members, because otherwise there would be a series for each of a thousand
 * destinations.
 */
function showForeign(
  { foreignMembers: gauge }: Metrics,
  labels: { readonly stage: StageName; readonly destination: string },
  { foreignMembers }: ConsumerVitals,
): void {
  if (foreignMembers.length === 0) gauge.remove(labels);
  else gauge.bind(labels).set(foreignMembers.length);
}

/** Sentences about foreign members for `/readyz`; empty if there are none. */
export function foreignText({ foreignMembers }: ConsumerVitals): readonly string[] {
  if (foreignMembers.length === 0) return [];
  return [
    `another program is or was a member of the consumer group, with the client ID ${foreignMembers.join(", ")}: each time it joins, the whole group pauses`,
  ];
}

/** Sets gauges with the offsets of the batches while the batches halt the consumer. */
function haltGauges(
  metrics: Metrics,
  labels: { readonly stage: StageName; readonly destination: string },
) {
  let shown: readonly CorruptBatch[] = [];
  const labelsOf = ({ topic, partition }: CorruptBatch) => ({
    ...labels,
    topic,
    partition: `${partition}`,
  });
  return {
    show: (halts: readonly CorruptBatch[]) => {
      for (const each of shown) metrics.haltedOffset.remove(labelsOf(each));
      for (const each of halts) metrics.haltedOffset.bind(labelsOf(each)).set(each.offset);
      shown = halts;
    },
  };
}
