/** Reads topics' ids through a connection of kafkajs, which knows none: it stops at version 6 of Metadata. */

import { TOPIC_IDS } from "../wire/request-kinds.ts";
import { decodeTopicIds, encodeTopicIdRequest } from "../wire/topic-id.ts";
import { type RawTarget, rawRequest } from "./raw-request.ts";

/**
 * Ids of those of the topics that exist, by name, as UUIDs. Empty when the broker is too old to
 * know ids. Creates no topic.
 */
export async function readTopicIds(
  broker: RawTarget,
  topics: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const known = broker.versions?.[TOPIC_IDS.apiKey]?.maxVersion ?? 0;
  if (known < Math.min(...TOPIC_IDS.versions) || topics.length === 0) return new Map();
  return await rawRequest(broker, TOPIC_IDS, {
    encode: () => encodeTopicIdRequest(topics),
    read: decodeTopicIds,
  });
}
