/**
 * Assigns a group's partitions to its members.
 *
 *   a partition of a topic that             is assigned to
 *   one process reads                       this process
 *   several processes read                  the one that has the fewest partitions so far; topics that few
 *                                           processes read are assigned first
 *   a process reads, but whose partitions   nobody: that is reported, and the group's leader assigns again
 *   the group's leader cannot see           when it sees them
 *
 * So processes with different topics can be in one group, as during a rolling change of `topics.calls`.
 *
 * Only Switchyard's processes get partitions. Otherwise another program that joins one of Switchyard's groups
 * would read and commit calls, so that these would never be delivered.
 *
 *   the leader of the group is      a member that is another program     reported to
 *   a Switchyard process            gets no partitions                   the leader
 *   another program                 gets what that program assigns       every process, if it is that leader
 *   nobody: a member has joined     gets what the broker assigns         every process, without its client ID
 *   with the consumer protocol
 */

import { Writer } from "@platformatic/kafka";
import { BoundedReader } from "../broker/bounded-reader.ts";
import type { Assignment } from "../membership.ts";

export const PROTOCOL = "RoundRobinAssigner";
/** The first version of Kafka's consumer protocol, without its later fields. */
const VERSION = 0;
const NO_DATA = Buffer.alloc(0);
const IS_COMPACT = false;
const HAS_TAGS = false;
const VERSION_BYTES = 2;
const UUID_LENGTH = 36;

/** Shown instead of a client ID if the group has no leader. */
export const ASSIGNED_BY_BROKER = "unknown (consumer protocol, KIP-848)";

/** The coordinator builds a member ID from the client ID, a hyphen and a UUID. */
export function clientIdOf(memberId: string): string {
  return memberId.slice(0, -(UUID_LENGTH + 1));
}

/** The topics that a member reads; none if its subscription cannot be read. */
export function readSubscription(metadata: Buffer): readonly string[] {
  try {
    const reader = BoundedReader.of(metadata).skip(VERSION_BYTES);
    return reader.readArray((each) => each.readString(IS_COMPACT), IS_COMPACT, HAS_TAGS);
  } catch {
    return [];
  }
}

export function encodeSubscription(topics: readonly string[]): Buffer {
  return Writer.create()
    .appendInt16(VERSION)
    .appendArray(
      [...topics],
      (to, topic) => to.appendString(topic, IS_COMPACT),
      IS_COMPACT,
      HAS_TAGS,
    )
    .appendBytes(NO_DATA, IS_COMPACT).buffer;
}

export interface MemberAssignment {
  readonly memberId: string;
  readonly assignment: Buffer;
}

interface Shares {
  /** What the leader sends to the coordinator. */
  readonly assignments: readonly MemberAssignment[];
  /** The client IDs of other programs. */
  readonly foreign: readonly string[];
}

/** A member of the group, and the topics that it reads. */
export interface Subscriber {
  readonly memberId: string;
  readonly topics: readonly string[];
}

/** @param partitions the number of partitions of each topic. */
export function shareOut(
  members: readonly Subscriber[],
  ownClientId: string,
  partitions: ReadonlyMap<string, number>,
): Shares {
  const isOwn = ({ memberId }: Subscriber): boolean => clientIdOf(memberId) === ownClientId;
  const all = members
    .toSorted((one, other) => (one.memberId < other.memberId ? -1 : 1))
    .map((member) => ({ member, count: 0, assignment: {} as Record<string, number[]> }));
  const readers = [...partitions]
    .map(([topic, count]) => {
      const of = all.filter(({ member }) => isOwn(member) && member.topics.includes(topic));
      return { topic, count, of };
    })
    .toSorted((one, other) => one.of.length - other.of.length);
  for (const { topic, count, of } of readers) {
    for (let partition = 0; partition < count && of.length > 0; partition += 1) {
      const next = of.reduce((least, each) => (each.count < least.count ? each : least));
      next.assignment[topic] = [...(next.assignment[topic] ?? []), partition];
      next.count += 1;
    }
  }
  return {
    // Clients in other languages cannot read an assignment of zero bytes.
    assignments: all.map(({ member: { memberId }, assignment }) => {
      return { memberId, assignment: encodeAssignment(assignment) };
    }),
    foreign: members.filter((each) => !isOwn(each)).map(({ memberId }) => clientIdOf(memberId)),
  };
}

/** @param topics the topics that this member reads. Any other topic that another leader assigns is omitted. */
export function readAssignment(bytes: Buffer, topics: readonly string[]): Assignment {
  if (bytes.length === 0) return {};
  const assigned = BoundedReader.of(bytes)
    .skip(VERSION_BYTES)
    .readArray(
      (reader) => {
        const topic = reader.readString(IS_COMPACT);
        const partitions = reader.readArray((each) => each.readInt32(), IS_COMPACT, HAS_TAGS);
        return [topic, partitions] as const;
      },
      IS_COMPACT,
      HAS_TAGS,
    );
  return Object.fromEntries(assigned.filter(([topic]) => topics.includes(topic)));
}

function encodeAssignment(assignment: Assignment): Buffer {
  const writeTopic = (to: Writer, [topic, partitions]: readonly [string, readonly number[]]) => {
    const writePartition = (each: Writer, partition: number) => each.appendInt32(partition);
    const list = [...partitions];
    to.appendString(topic, IS_COMPACT).appendArray(list, writePartition, IS_COMPACT, HAS_TAGS);
  };
  return Writer.create()
    .appendInt16(VERSION)
    .appendArray(Object.entries(assignment), writeTopic, IS_COMPACT, HAS_TAGS)
    .appendBytes(NO_DATA, IS_COMPACT).buffer;
}
