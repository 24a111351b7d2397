/**
 * Whether a damaged batch still halts a consumer that is started again and again.
 *
 *   the consumer                                       the batch halts it
 *   is not there, or has not joined                    yes: it has not met the batch again
 *   owns the partition, and has not read past it       yes
 *   owns the partition, and has read past it           no: somebody gave it up, or brought it back
 *   does not own it, for less than 15 s after joining  yes: another assignment may come
 *   does not own it, later                             no: another process meets it
 */

import type { CorruptBatch } from "../domain/corrupt-batch.ts";
import type { PartitionProgress } from "../kafka/port.ts";

/** The first rebalances of a new member are over by then. */
const ELSEWHERE_AFTER_MS = 15_000;

export interface HaltedConsumer {
  readonly progress: readonly PartitionProgress[];
  /** Since it joined; null: it has not. */
  readonly joinedForMs: number | null;
}

/** @param consumer null: there is none at the moment. */
export function stillHalts(batch: CorruptBatch, consumer: HaltedConsumer | null): boolean {
  if (consumer === null || consumer.joinedForMs === null) return true;
  const owned = consumer.progress.find(
    ({ topic, partition }) => topic === batch.topic && partition === batch.partition,
  );
  if (owned === undefined) return consumer.joinedForMs < ELSEWHERE_AFTER_MS;
  return owned.next < batch.behind;
}
