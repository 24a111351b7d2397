/** Reads topics' ids through a connection of kafkajs, which knows none: it stops at version 6 of Metadata. */

import { decodeTopicIds, encodeTopicIdRequest } from "../wire/topic-id.ts";

const METADATA = 3;
const VERSION = 10;

/** The part of kafkajs' broker that is needed here. */
export interface RequestTarget {
  readonly versions: Readonly<Record<number, { readonly maxVersion: number }>>;
  readonly connectionPool: { send(protocol: unknown): Promise<unknown> };
}

/**
 * Ids of those of the topics that exist, by name, as UUIDs. Empty when the broker is too old to
 * know ids. Creates no topic.
 */
export async function readTopicIds(
  broker: RequestTarget,
  topics: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const known = broker.versions[METADATA]?.maxVersion ?? 0;
  if (known < VERSION || topics.length === 0) return new Map();
  const buffer = encodeTopicIdRequest(topics);
  const response = await broker.connectionPool.send({
    request: {
      apiKey: METADATA,
      apiVersion: VERSION,
      apiName: "Metadata",
      encode: async () => ({
        buf: buffer,
        buffer,
        offset: buffer.length,
        size: () => buffer.length,
      }),
    },
    response: {
      decode: async (payload: Buffer) => ({ ids: decodeTopicIds(payload) }),
      parse: async ({ ids }: { ids: ReadonlyMap<string, string> }) => ids,
    },
  });
  return response as ReadonlyMap<string, string>;
}
