/**
 * Requests the committed offsets of 500 groups at once: one request for their coordinators, and one to each
 * coordinator.
 *
 *   a group                                       is
 *   whose offsets are known                       in the result
 *   with any error, or whose brokers are older    omitted, and requested again on its own by the caller
 *     than Kafka 3.0 or do not respond
 */

import * as requests from "../broker/requests.ts";
import type { CommittedOffset } from "../port.ts";
import type { Brokers } from "./brokers.ts";

/** A group's ID, and the partitions whose committed offsets are requested. */
export type GroupQuery = readonly [
  groupId: string,
  topics: readonly {
    readonly topic: string;
    readonly partitions: readonly { readonly partition: number }[];
  }[],
];
type CommittedByTopic = ReadonlyMap<string, readonly CommittedOffset[]>;

/** Offsets of transactions in progress are returned as they are. */
const IS_STABLE = false;
const NO_MEMBER = { memberId: null, memberEpoch: -1 };

/** The committed offsets of one group, which any broker can be asked for. */
export const offsetsRequest = (query: GroupQuery) =>
  requests.offsetFetch([groupOf(query)], IS_STABLE);

interface OfGroup {
  readonly errorCode: number;
  readonly topics: readonly GroupTopic[];
}

interface GroupTopic {
  readonly name: string;
  readonly partitions: readonly {
    readonly partitionIndex: number;
    readonly committedOffset: bigint;
    readonly metadata?: string | null | undefined;
    readonly errorCode: number;
  }[];
}

/** The result for the only group. Before version 8, a response has no list of groups. */
export function onlyGroup(response: Partial<OfGroup> & { readonly groups?: readonly OfGroup[] }) {
  const [group] = response.groups ?? [];
  return group ?? { errorCode: response.errorCode ?? 0, topics: response.topics ?? [] };
}

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
    const response = await broker.send(requests.groupsOffsets(own.map(groupOf), IS_STABLE));
    return response.groups.flatMap(({ groupId, errorCode, topics }) => {
      const errors = topics.flatMap(({ partitions }) => partitions.map((each) => each.errorCode));
      const isKnown = errorCode === 0 && errors.every((code) => code === 0);
      return isKnown ? [[groupId, new Map(topics.map(committedIn))] as const] : [];
    });
  });
  const found = await Promise.all(queries.map((query) => query.catch(() => [])));
  return new Map(found.flat());
}

function groupOf([groupId, topics]: GroupQuery) {
  const named = topics.map(({ topic, partitions }) => {
    return { name: topic, partitionIndexes: partitions.map(({ partition }) => partition) };
  });
  return { ...NO_MEMBER, groupId, topics: named };
}

/** Without the partitions that have no committed offset. */
function committedIn({ name, partitions }: GroupTopic) {
  const offsets = partitions
    .map(({ partitionIndex: partition, committedOffset, metadata }) => {
      return { partition, offset: Number(committedOffset), metadata: metadata ?? "" };
    })
    .filter(({ offset }) => offset >= 0)
    .sort((one, other) => one.partition - other.partition);
  return [name, offsets] as const;
}
