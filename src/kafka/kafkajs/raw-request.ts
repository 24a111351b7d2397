/**
 * Sends requests over one of kafkajs' connections, in the highest version that the broker accepts. Other code encodes
 * these requests and decodes their responses.
 */

import { hostAndPort } from "../../runtime/listening.ts";
import { TOPIC_IDS } from "../wire/request-kinds.ts";
import { commonVersion, type RequestKind } from "../wire/request-version.ts";
import { decodeTopicIds, encodeTopicIdRequest } from "../wire/topic-id.ts";
import { acceptedBy, type Protocol, type Versions } from "./internals.ts";

interface Sending {
  send(protocol: Protocol): Promise<unknown>;
}

/** The part of kafkajs' broker that is needed here. */
export interface RawTarget {
  readonly connectionPool: Sending & { readonly host: string; readonly port: number };
  /** Null before the first connection. */
  readonly versions: Versions | null;
}

interface Raw<Result> {
  /** @returns the bytes of the request after the client ID. */
  readonly encode: (version: number) => Buffer;
  /** @param payload the part of the response that follows the correlation ID. */
  readonly read: (payload: Buffer, version: number) => Result;
}

/**
 * @param connection sends the request; by default the one that kafkajs chooses.
 * @throws NoCommonVersionError
 */
export async function rawRequest<Result>(
  broker: RawTarget,
  kind: RequestKind,
  { encode, read }: Raw<Result>,
  connection: Sending = broker.connectionPool,
): Promise<Result> {
  const { host, port } = broker.connectionPool;
  const { apiKey, apiName } = kind;
  const apiVersion = commonVersion(kind, acceptedBy(broker)[apiKey], hostAndPort(host, port));
  const buffer = encode(apiVersion);
  const { length } = buffer;
  const encoded = { buf: buffer, buffer, offset: length, size: () => length };
  const protocol = {
    request: { apiKey, apiName, apiVersion, encode: async () => encoded },
    response: {
      decode: async (payload: Buffer) => ({ payload }),
      parse: async (decoded: unknown) => (decoded as { readonly payload: Buffer }).payload,
    },
  };
  return read((await connection.send(protocol)) as Buffer, apiVersion);
}

/**
 * Returns the IDs of existing topics, by name, as UUIDs. Empty if the broker is too old to have IDs. Does not create
 * any topic. kafkajs supports Metadata only up to version 6, which has no IDs.
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
