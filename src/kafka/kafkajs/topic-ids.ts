/** Reads topics' ids through a connection of kafkajs, which knows none: it stops at version 6 of Metadata. */

import { decodeTopicIds, encodeTopicIdRequest } from "../wire/topic-id.ts";
import { type RawTarget, rawRequest } from "./raw-request.ts";

const METADATA = 3;
const VERSION = 10;
const TOPIC_IDS = { apiKey: METADATA, apiVersion: VERSION, apiName: "Metadata" };

/** The part of kafkajs' broker that is needed here. */
export interface RequestTarget extends RawTarget {
  /** Null before the first connection. */
  readonly versions: Readonly<Record<number, { readonly maxVersion: number }>> | null;
}

/**
 * Ids of those of the topics that exist, by name, as UUIDs. Empty when the broker is too old to
 * know ids. Creates no topic.
 */
export async function readTopicIds(
  broker: RequestTarget,
  topics: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const known = broker.versions?.[METADATA]?.maxVersion ?? 0;
  if (known < VERSION || topics.length === 0) return new Map();
  return decodeTopicIds(await rawRequest(broker, TOPIC_IDS, encodeTopicIdRequest(topics)));
}
