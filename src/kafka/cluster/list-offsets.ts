/**
 * Offsets of partitions, as their leader lists them: whatever is in the log, open transactions too.
 * A reader, which stops before these, asks for itself (`range-reader.ts`).
 */

import type { Broker } from "../kafkajs/internals.ts";
import { rawRequest } from "../kafkajs/raw-request.ts";
import { encodeListOffsets, type ListedOffset, readListedOffsets } from "../wire/list-offsets.ts";
import { LIST_OFFSETS } from "../wire/request-kinds.ts";

/** In place of a time: the end of the log. */
export const LATEST = -1;
/** In place of a time: the first offset that is left. */
export const EARLIEST = -2;

/** @param asked partitions that this broker leads. */
export async function listOffsets(
  leader: Broker,
  wanted: readonly { readonly topic: string; readonly partition: number }[],
  timestamp: typeof LATEST | typeof EARLIEST,
): Promise<readonly ListedOffset[]> {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of wanted) {
    const partitions = topics.get(topic);
    if (partitions === undefined) topics.set(topic, [partition]);
    else partitions.push(partition);
  }
  return await rawRequest(leader, LIST_OFFSETS, {
    encode: (version) => encodeListOffsets(topics, timestamp, version),
    read: readListedOffsets,
  });
}
