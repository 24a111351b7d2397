/**
 * Assigns a group's partitions to its members, in the format and with the algorithm of kafkajs' round-robin assigner,
 * so that members that still use kafkajs can be in the same group.
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

import { AssignerProtocol } from "../kafkajs/kafkajs.ts";
import type { Assignment } from "../membership.ts";

export const PROTOCOL = "RoundRobinAssigner";
const VERSION = 0;
const NO_DATA = Buffer.alloc(0);
const UUID_LENGTH = 36;

/** Shown instead of a client ID if the group has no leader. */
export const ASSIGNED_BY_BROKER = "unknown (consumer protocol, KIP-848)";

const { MemberAssignment, MemberMetadata } = AssignerProtocol;

/** The coordinator builds a member ID from the client ID, a hyphen and a UUID. */
export function clientIdOf(memberId: string): string {
  return memberId.slice(0, -(UUID_LENGTH + 1));
}

export function encodeSubscription(topics: readonly string[]): Buffer {
  return MemberMetadata.encode({ version: VERSION, topics: [...topics], userData: NO_DATA });
}

interface Shares {
  /** What the leader sends to the coordinator. */
  readonly assignments: readonly {
    readonly memberId: string;
    readonly memberAssignment: Buffer;
  }[];
  /** The client IDs of other programs. */
  readonly foreign: readonly string[];
}

/** @param topics the number of partitions of each topic. */
export function shareOut(
  memberIds: readonly string[],
  ownClientId: string,
  topics: ReadonlyMap<string, number>,
): Shares {
  const isOwn = (memberId: string): boolean => clientIdOf(memberId) === ownClientId;
  const own = memberIds.filter(isOwn).toSorted();
  const shares = new Map<string, Record<string, number[]>>(memberIds.map((id) => [id, {}]));
  let turn = 0;
  for (const [topic, partitions] of topics) {
    for (let partition = 0; partition < partitions; partition += 1) {
      const share = shares.get(own[turn % own.length] ?? "");
      turn += 1;
      if (share !== undefined) share[topic] = [...(share[topic] ?? []), partition];
    }
  }
  return {
    // Clients in other languages cannot read an assignment of zero bytes.
    assignments: [...shares].map(([memberId, assignment]) => ({
      memberId,
      memberAssignment: MemberAssignment.encode({
        version: VERSION,
        assignment,
        userData: NO_DATA,
      }),
    })),
    foreign: memberIds.filter((memberId) => !isOwn(memberId)).map(clientIdOf),
  };
}

/** @param topics the topics that this member reads. Any other topic that another leader assigns is omitted. */
export function readAssignment(bytes: Buffer, topics: readonly string[]): Assignment {
  const assignment = MemberAssignment.decode(bytes)?.assignment ?? {};
  return Object.fromEntries(Object.entries(assignment).filter(([topic]) => topics.includes(topic)));
}
