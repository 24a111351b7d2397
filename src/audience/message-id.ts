/**
 * Creates the message IDs of calls that result from syncs, as UUIDs of version 5. If a record is applied again after
 * a crash, the IDs are the same, so that receivers can detect duplicates.
 *
 *   call        the ID is derived from
 *   membership  audience, offset of its first sync, user, sync (or the delete's offset), value
 *   trait       trait, user, partition and offset of its record
 */

import { uuidV5 } from "../domain/uuid.ts";

/** UUID namespace of the message IDs of calls that result from syncs. */
const NAMESPACE = "9c1b1e0c-54c1-4f7e-8d6a-0d6b3f0a7e21";

export interface MembershipChange {
  readonly audienceId: string;
  readonly first: number;
  readonly userId: string;
  /** The ID of the sync, or the offset of the `delete` record. */
  readonly by: string | number;
  readonly value: boolean;
}

export function membershipMessageId(change: MembershipChange): string {
  const { audienceId, first, userId, by, value } = change;
  return uuidV5(NAMESPACE, JSON.stringify([audienceId, first, userId, by, value]));
}

export function traitMessageId(
  key: string,
  userId: string,
  at: { readonly partition: number; readonly offset: number },
): string {
  return uuidV5(NAMESPACE, JSON.stringify(["trait", key, userId, at.partition, at.offset]));
}
