/**
 * Handles one of kafkajs' fetches as part of the shared fetch: lists the partitions that it requests, and
 * decodes the response into the form that kafkajs reads.
 */

import type { DecodeMessageSet, Inflated } from "../wire/decode-records.ts";
import type { RequestedPartition } from "../wire/fetch-request.ts";
import type { FetchedSet } from "../wire/fetch-response.ts";
import type { FetchRequest } from "./consumer-group.ts";
import type { FetchPolicy } from "./fetch-decoder.ts";
import { decodePartition, messageSetDecoder } from "./fetch-decoder.ts";
import { loadInternal } from "./kafkajs.ts";

/** A partition's minimum share of the bytes that its member may fetch. */
const PARTITION_MIN_BYTES = 64 * 1024;

export interface FetchResult {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly DecodedPartition[];
  }[];
}

export interface DecodedPartition {
  readonly partition: number;
  /** The requested offset. */
  readonly fetchOffset: number;
  readonly errorCode: number;
  readonly highWatermark: string;
  readonly lastStableOffset: string;
  readonly abortedTransactions: FetchedSet["aborted"];
  readonly preferredReadReplica: number;
  readonly messages: readonly unknown[];
}

export interface Requested extends RequestedPartition {
  readonly policy: FetchPolicy;
}

/** Returns the offset at which each partition continues, by topic and partition; null if this fetch ends. */
export type TakeResult = (result: FetchResult) => NextOffset[] | null;

export interface NextOffset {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export const NOTHING: FetchResult = { responses: [] };

/** Throws the error of the first partition that has one. */
export const { parse } = loadInternal("src/protocol/requests/fetch/v1/response.js") as {
  parse(result: FetchResult): Promise<FetchResult>;
};
export function requestedIn({ topics, maxBytes }: FetchRequest): Requested[] {
  const count = topics.reduce((sum, { partitions }) => sum + partitions.length, 0);
  // kafkajs' limit applies to a complete response, but here several members share a response.
  const share = Math.max(PARTITION_MIN_BYTES, Math.floor(maxBytes / Math.max(1, count)));
  return topics.flatMap(({ topic, partitions }) =>
    partitions.map((each) => ({
      topic,
      partition: each.partition,
      offset: Number(each.fetchOffset),
      maxBytes: Math.min(share, each.maxBytes),
      policy: each.policy,
    })),
  );
}

export function decodedOf(
  set: FetchedSet,
  fetchOffset: number,
  messages: readonly unknown[],
): DecodedPartition {
  return {
    partition: set.partition,
    fetchOffset,
    errorCode: set.errorCode,
    highWatermark: `${set.end}`,
    lastStableOffset: `${set.lastStableOffset}`,
    abortedTransactions: set.aborted,
    preferredReadReplica: -1,
    messages,
  };
}

export function resultOf(
  decoded: readonly (readonly [topic: string, DecodedPartition])[],
): FetchResult {
  const topics = Map.groupBy(decoded, ([topic]) => topic);
  const responses = [...topics].map(([topicName, partitions]) => ({
    topicName,
    partitions: partitions.map(([, partition]) => partition),
  }));
  return { responses };
}

interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** `true` if both are the same partition of the same topic. */
export function isSame(one: Place, other: Place): boolean {
  return one.partition === other.partition && one.topic === other.topic;
}

export function overlaps(some: readonly Place[], others: readonly Place[]): boolean {
  return some.some((each) => others.some((other) => isSame(each, other)));
}

interface DecodeHow {
  readonly inflated: Inflated;
  /** See `Wanted`. */
  readonly comesInPieces: () => void;
}

const messageSet: DecodeMessageSet = messageSetDecoder(loadInternal);

/**
 * Decodes the part of a response that belongs to one fetch.
 *
 * @param partitions the requested partitions; others in the response are skipped.
 * @throws CorruptBatchError
 */
export async function decodeResponse(
  partitions: readonly Requested[],
  sets: readonly FetchedSet[],
  { inflated, comesInPieces }: DecodeHow,
): Promise<FetchResult> {
  const decoded: [topic: string, DecodedPartition][] = [];
  for (const set of sets) {
    const requested = partitions.find((each) => isSame(each, set));
    if (requested === undefined) continue;
    const how = { from: requested.offset, comesInPieces, ...requested.policy };
    const messages = await decodePartition(set.records, set, how, { inflated, messageSet });
    decoded.push([set.topic, decodedOf(set, requested.offset, messages)]);
  }
  return resultOf(decoded);
}

export function partitionsWithRecords(results: Iterable<readonly FetchedSet[]>): number {
  let count = 0;
  for (const sets of results) for (const { records } of sets) if (records.length > 0) count += 1;
  return count;
}

/** The items in the same order, but starting at a random item and wrapping around. */
export function rotated<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length < 2) return items;
  const first = Math.floor(Math.random() * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
