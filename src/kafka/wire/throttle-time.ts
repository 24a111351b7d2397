/**
 * Reads the throttle time in a response: how long the broker, which has responded immediately, will not read from the
 * connection (KIP-219). Nearly all responses contain a throttle time, at one of two positions.
 */

import { MessageReader } from "./flexible.ts";

interface Place {
  /** The first version of the response that has a throttle time. */
  readonly since: number;
  /** The first version in which tagged fields precede the throttle time. */
  readonly flexibleSince?: number;
  readonly isAtEnd?: true;
}

const PRODUCE: Place = { since: 1, isAtEnd: true };
const API_VERSIONS: Place = { since: 1, isAtEnd: true };

/** The position of the throttle time in the response to each request that we send, by API key. */
const PLACES: Readonly<Record<number, Place>> = {
  0: PRODUCE,
  1: { since: 1, flexibleSince: 12 }, // Fetch
  2: { since: 2, flexibleSince: 6 }, // ListOffsets
  3: { since: 3, flexibleSince: 9 }, // Metadata
  8: { since: 3, flexibleSince: 8 }, // OffsetCommit
  9: { since: 3, flexibleSince: 6 }, // OffsetFetch
  10: { since: 1, flexibleSince: 3 }, // FindCoordinator
  11: { since: 2, flexibleSince: 6 }, // JoinGroup
  12: { since: 1, flexibleSince: 4 }, // Heartbeat
  13: { since: 1, flexibleSince: 4 }, // LeaveGroup
  14: { since: 1, flexibleSince: 4 }, // SyncGroup
  15: { since: 1, flexibleSince: 5 }, // DescribeGroups
  16: { since: 1, flexibleSince: 3 }, // ListGroups
  18: API_VERSIONS,
  19: { since: 2, flexibleSince: 5 }, // CreateTopics
  20: { since: 1, flexibleSince: 4 }, // DeleteTopics
  21: { since: 0, flexibleSince: 2 }, // DeleteRecords
  22: { since: 0, flexibleSince: 2 }, // InitProducerId
  29: { since: 0, flexibleSince: 2 }, // DescribeAcls
  32: { since: 0, flexibleSince: 4 }, // DescribeConfigs
  33: { since: 0, flexibleSince: 2 }, // AlterConfigs
  37: { since: 0, flexibleSince: 2 }, // CreatePartitions
  42: { since: 0, flexibleSince: 2 }, // DeleteGroups
  44: { since: 0, flexibleSince: 1 }, // IncrementalAlterConfigs
};

const BYTES = 4;

/**
 * @param payload the part of the response that follows the correlation ID.
 * @throws RangeError if the payload ends in the tagged fields before the throttle time.
 * @returns 0 if the broker requests no pause, or the response has no throttle time.
 */
export function throttleMsIn(apiKey: number, apiVersion: number, payload: Buffer): number {
  const place = PLACES[apiKey];
  if (place === undefined || apiVersion < place.since) return 0;
  // In responses that end with the throttle time, no version that we send has fields after it.
  const isFlexible = place.flexibleSince !== undefined && apiVersion >= place.flexibleSince;
  const reader = new MessageReader(payload);
  if (isFlexible) reader.taggedFields();
  const at = place.isAtEnd ? payload.length - BYTES : reader.at;
  if (at < 0 || at + BYTES > payload.length) return 0;
  return Math.max(0, payload.readInt32BE(at));
}
