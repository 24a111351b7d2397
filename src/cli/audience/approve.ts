/** Carries out a held sync: one record, which the stage `audience` acts on. */

import type { Claimed } from "../../audience/claims.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Producer } from "../../kafka/port.ts";

/**
 * Resolves when it is acknowledged. A release of a sync that is held no longer does nothing.
 *
 * @throws Error when the topic does not take it.
 */
export async function approveSync(
  producer: Pick<Producer, "send">,
  { audienceSyncs: topic }: TopicNames,
  { id, partition }: Claimed,
  syncId: string,
): Promise<void> {
  const value = Buffer.from(JSON.stringify({ type: "release", audienceId: id, syncId }));
  // To the partition that the audience is in, however it got there.
  const [refused] = await producer.send([
    { topic, partition, key: Buffer.from(id), value, headers: [] },
  ]);
  if (refused !== undefined) throw new Error(`${topic}: ${refused.error}`);
}
