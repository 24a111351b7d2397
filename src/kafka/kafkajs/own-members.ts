/**
 * Partitions are given to the processes of Switchyard alone. Another program that joins one of its
 * groups would read calls and commit them, so that nobody delivers them.
 *
 *   the leader of the group is      a member that is another program     reported to
 *   a process of Switchyard         is given no partitions               the leader
 *   another program                 is given what that program likes     all processes, of the leader alone
 *
 * A member ID is the client ID, a hyphen and a UUID, as the coordinator makes them up.
 */

import type { Assigner, PartitionAssigner } from "kafkajs";

import { AssignerProtocol } from "./kafkajs.ts";

const UUID_LENGTH = 36;

export function clientIdOf(memberId: string): string {
  return memberId.slice(0, -(UUID_LENGTH + 1));
}

/** @param tell called by the leader at each rebalance, with the client IDs of other programs. */
export function ownMembersOnly(
  assigner: PartitionAssigner,
  ownClientId: string,
  report: (clientIds: readonly string[]) => void,
): PartitionAssigner {
  return (config): Assigner => {
    const own = assigner(config);
    // Clients of other languages do not read an assignment without any bytes.
    const nothing = AssignerProtocol.MemberAssignment.encode({
      version: own.version,
      assignment: {},
      userData: Buffer.alloc(0),
    });
    const assign: Assigner["assign"] = async ({ members, topics }) => {
      const isOwn = ({ memberId }: { readonly memberId: string }) =>
        clientIdOf(memberId) === ownClientId;
      const others = members.filter((member) => !isOwn(member));
      report(others.map(({ memberId }) => clientIdOf(memberId)));
      const assigned = await own.assign({ members: members.filter(isOwn), topics });
      const none = others.map(({ memberId }) => ({
        memberId,
        memberAssignment: nothing,
      }));
      return [...assigned, ...none];
    };
    return { ...own, assign };
  };
}
