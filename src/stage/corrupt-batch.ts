/**
 * Decides whether a corrupt batch still halts a consumer that is being restarted.
 *
 *   the consumer                                       the batch halts it
 *   is not running, or has not joined                  yes: it has not reached the batch again
 *   owns the partition, and has not read past it       yes
 *   owns the partition, and has read past it           no: the batch was skipped or repaired
 *   joined less than 15 s ago, without the partition   yes: another assignment may follow
 *   joined earlier, without the partition              no: another process owns it now
 */
import type { CorruptBatch } from "../domain/corrupt-batch.ts";
import type { PartitionProgress } from "../kafka/port.ts";

/** After this time, the first rebalances of a new member are over. */
const ELSEWHERE_AFTER_MS = 15_000;

export interface HaltedConsumer {
  readonly progress: readonly PartitionProgress[];
  /** Time since the consumer joined; null if it has not joined. */
  readonly joinedForMs: number | null;
}

/** @param consumer null if there is no consumer at the moment. */
export function stillHalts(batch: CorruptBatch, consumer: HaltedConsumer | null): boolean {
  if (consumer === null || consumer.joinedForMs === null) return true;
  const owned = consumer.progress.find(
    ({ topic, partition }) => topic === batch.topic && partition === batch.partition,
  );
  if (owned === undefined) return consumer.joinedForMs < ELSEWHERE_AFTER_MS;
  return owned.next < batch.behind;
}
