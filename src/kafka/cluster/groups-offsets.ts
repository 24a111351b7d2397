/**
 * Requests the committed offsets of 500 groups at once: one request for their coordinators, and one to each
 * coordinator.
 *
 *   a group                                       is
 *   whose offsets are known                       in the result
 *   with any error, or whose brokers are older    omitted, and requested again on its own by the caller
 *     than Kafka 3.0 or do not respond
 */

import { rawRequest } from "../kafkajs/raw-request.ts";
import {
  type CommittedByTopic,
  encodeOffsetsQuery,
  type GroupQuery,
  readGroupsOffsets,
} from "../wire/groups-offsets.ts";
import { GROUPS_OFFSETS } from "../wire/request-kinds.ts";
import type { Brokers } from "./brokers.ts";

/** Never rejects. @param groups at most 500. */
export async function groupsOffsets(
  brokers: Brokers,
  groups: readonly GroupQuery[],
): Promise<ReadonlyMap<string, CommittedByTopic>> {
  const ids = groups.map(([group]) => group);
  const coordinators = await brokers.coordinatorsOf(ids).catch(() => new Map<string, number>());
  const ofBrokers = Map.groupBy(groups, ([group]) => coordinators.get(group));
  const queries = [...ofBrokers].map(async ([nodeId, own]) => {
    if (nodeId === undefined) return [];
    const broker = await brokers.leader(nodeId);
    const encode = () => encodeOffsetsQuery(own);
    return [...(await rawRequest(broker, GROUPS_OFFSETS, { encode, read: readGroupsOffsets }))];
  });
  const found = await Promise.all(queries.map((query) => query.catch(() => [])));
  return new Map(found.flat());
}
