/**
 * Message ids of the calls that follow from syncs: UUIDs of version 5, the same whenever the same
 * record is applied again, so that a repeat after a crash can be recognised.
 *
 *   call        is named by
 *   membership  audience, offset of its first sync, user, sync (or the delete's offset), value
 *   trait       trait, user, partition and offset of its record
 */

import { createHash } from "node:crypto";

/** Namespace of our names; any UUID does as long as it stays. */
const NAMESPACE = Buffer.from("9c1b1e0c54c14f7e8d6a0d6b3f0a7e21", "hex");

export interface MembershipChange {
  readonly audienceId: string;
  readonly first: number;
  readonly userId: string;
  /** The sync's id, or the offset of a `delete`. */
  readonly by: string | number;
  readonly value: boolean;
}

export function membershipMessageId(change: MembershipChange): string {
  const { audienceId, first, userId, by, value } = change;
  return uuidV5(JSON.stringify([audienceId, first, userId, by, value]));
}

export function traitMessageId(
  key: string,
  userId: string,
  at: { readonly partition: number; readonly offset: number },
): string {
  return uuidV5(JSON.stringify(["trait", key, userId, at.partition, at.offset]));
}

function uuidV5(name: string): string {
  const bytes = createHash("sha1").update(NAMESPACE).update(name).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${groups.join("-")}-${hex.slice(20)}`;
}
