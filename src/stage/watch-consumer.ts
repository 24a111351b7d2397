/**
 * Sets the gauges of a consumer before each scrape: lag, age of the oldest unfinished record,
 * counts.
 */

import type { DamagedBatch } from "../domain/damaged-batch.ts";
import type { StageName } from "../domain/stages.ts";
import type { Consumer } from "../kafka/port.ts";
import type { Metrics } from "../telemetry/instruments.ts";

/** The part of a Kafka consumer that is looked at. */
export type WatchedConsumer = Pick<Consumer, "progress" | "rebalances" | "offsetResets"> & {
  /** The damaged batches that halt it. */
  readonly haltedAt?: () => readonly DamagedBatch[];
};

/** @param destination empty for shared stages. Disposing it forgets the gauges of these labels. */
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
  const counted = { rebalances: 0, offsetResets: 0 };
  const stop = metrics.onScrape(() => {
    const nowMs = clock.nowMs();
    let behind = 0;
    let ageMs = 0;
    for (const { position, end, oldestUnfinishedMs } of consumer.progress()) {
      behind += Math.max(0, end - position);
      if (oldestUnfinishedMs !== null) ageMs = Math.max(ageMs, nowMs - oldestUnfinishedMs);
    }
    lag.set(behind);
    const halts = consumer.haltedAt?.() ?? [];
    halted.set(halts.length > 0 ? 1 : 0);
    shown.show(halts);
    age.set(ageMs / 1_000);
    rebalances.inc(consumer.rebalances() - counted.rebalances);
    counted.rebalances = consumer.rebalances();
    offsetResets.inc(consumer.offsetResets() - counted.offsetResets);
    counted.offsetResets = consumer.offsetResets();
  });
  return {
    [Symbol.dispose]: () => {
      stop();
      metrics.lag.remove({ stage, destination });
      metrics.oldestUnfinished.remove({ stage, destination });
      metrics.consumerHalted.remove({ stage, destination });
      shown.show([]);
    },
  };
}

/** The offsets of the batches, for as long as they halt. */
function haltGauges(
  metrics: Metrics,
  labels: { readonly stage: StageName; readonly destination: string },
) {
  let shown: readonly DamagedBatch[] = [];
  const labelsOf = ({ topic, partition }: DamagedBatch) => ({
    ...labels,
    topic,
    partition: `${partition}`,
  });
  return {
    show: (halts: readonly DamagedBatch[]) => {
      for (const each of shown) metrics.haltedOffset.remove(labelsOf(each));
      for (const each of halts) metrics.haltedOffset.bind(labelsOf(each)).set(each.offset);
      shown = halts;
    },
  };
}
