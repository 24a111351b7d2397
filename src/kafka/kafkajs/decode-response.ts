/** Decodes what an answer has for one fetch. */

import type { DecodeMessageSet, Inflated } from "../wire/decode-records.ts";
import type { FetchedSet } from "../wire/fetch-response.ts";
import { decodePartition, messageSetDecoder } from "./fetch-decoder.ts";
import { isSame } from "./fetch-place.ts";
import {
  type DecodedPartition,
  decodedOf,
  type FetchResult,
  type Requested,
  resultOf,
} from "./fetch-result.ts";
import { loadInternal } from "./kafkajs.ts";

export interface DecodeHow {
  readonly inflated: Inflated;
  /** See `Wanted`. */
  readonly comesInPieces: () => void;
}

const messageSet: DecodeMessageSet = messageSetDecoder(loadInternal);

/**
 * @param partitions those asked for. Others are left out.
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

/** From a chance one on, and round. */
export function rotated<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length < 2) return items;
  const first = Math.floor(Math.random() * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
