/** Approves a sync that awaits it: one record, which the stage `audience` acts on. */

import type { Claimed } from "../../audience/claims.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Producer } from "../../kafka/port.ts";

/**
 * Resolves when it is acknowledged. An approval of a sync that no longer awaits it does nothing.
 *
 * @throws Error when the topic rejects it.
 */
export async function approveSync(
  producer: Pick<Producer, "send">,
  { audienceSyncs: topic }: TopicNames,
  { id, partition }: Claimed,
  syncId: string,
): Promise<void> {
  const value = Buffer.from(JSON.stringify({ type: "approve", audienceId: id, syncId }));
  // To the partition that the audience is in, however it got there.
  const [refused] = await producer.send([
    { topic, partition, key: Buffer.from(id), value, headers: [] },
  ]);
  if (refused !== undefined) throw new Error(`${topic}: ${refused.error}`);
}
