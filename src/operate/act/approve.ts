/** Approves a sync that awaits approval, by writing a record for the audience stage. */

import type { Claimed } from "../../audience/claims.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Producer } from "../../kafka/port.ts";

/**
 * Resolves when the record has been acknowledged. If the sync no longer awaits approval, the record has no effect.
 *
 * @throws Error if the topic rejects the record.
 */
export async function approveSync(
  producer: Pick<Producer, "send">,
  { audienceSyncs: topic }: TopicNames,
  { id, partition }: Claimed,
  syncId: string,
): Promise<void> {
  const value = Buffer.from(JSON.stringify({ type: "approve", audienceId: id, syncId }));
  // The record is written to the partition that owns the audience, even if the partitioner would now choose another
  // one.
  const [refused] = await producer.send([
    { topic, partition, key: Buffer.from(id), value, headers: [] },
  ]);
  if (refused !== undefined) throw new Error(`${topic}: ${refused.error}`);
}
