/**
 * The state of an audience in its partition.
 *
 * The local store and the changelog contain the same audiences. Counts are stored only locally, and are computed from
 * the store, so they are correct even if a crash interrupts a step.
 */

import type { AudienceStatus } from "../../domain/audience.ts";

/**
 * A sync that has started and has not ended. Its arrivals are stored only locally, because until its end, no offset
 * after its `begin` record is committed.
 */
export interface OpenSync {
  readonly syncId: string;
  /** Offset of the sync's `begin` or `snapshot`. Marks refer to the sync by this offset. */
  readonly begin: number;
  /** Record time of the sync's `begin` or `snapshot`. */
  readonly beganAtMs: number;
  /** Number of members when the sync started. */
  readonly membersBefore: number;
  /** The decision at the sync's `end` record. It is stored before the first removal, and never computed again. */
  readonly verdict: "complete" | "awaiting-approval" | null;
}

/** A complete sync whose removals are applied only after an `approve`. */
export interface SyncAwaitingApproval extends NonNullable<AudienceStatus["awaitingApproval"]> {
  /** Offset of the sync's `begin` record. The members to be removed are marked with this offset. */
  readonly begin: number;
}

export interface EndedSync {
  readonly syncId: string;
  readonly endedAtMs: number;
}

export interface Audience {
  readonly id: string;
  readonly name: string;
  /** The key of the audience's trait. It does not change after the first sync. */
  readonly key: string;
  /** Offset of the audience's first sync. If an audience is deleted and then sent again, it gets another offset. */
  readonly first: number;
  readonly open: OpenSync | null;
  readonly awaitingApproval: SyncAwaitingApproval | null;
  readonly last: EndedSync | null;
  /** Number of syncs that have ended. The IDs of the last 1,000 are stored. */
  readonly closed: number;
}

/** The sync that awaits approval, as it is reported. */
export function approvalOf({ awaitingApproval }: Audience): AudienceStatus["awaitingApproval"] {
  if (awaitingApproval === null) return null;
  const { syncId, removals, sinceMs } = awaitingApproval;
  return { syncId, removals, sinceMs };
}

/** The counts of an audience, which are stored only locally. */
export interface Counts {
  readonly members: number;
  /** Offset of the `begin` record of the sync to which `arrived` and `marked` belong; -1 if there is no such sync. */
  readonly begin: number;
  readonly arrived: number;
  /** How many of the arrived users are members. */
  readonly marked: number;
  /**
   * Numbers that members got in syncs whose `begin` record is before this offset are invalid (`membership.ts`); -1 if
   * all numbers are valid.
   */
  readonly numbering: number;
  readonly next: number;
}

export const NO_COUNTS: Counts = {
  members: 0,
  begin: -1,
  arrived: 0,
  marked: 0,
  numbering: -1,
  next: 0,
};

/** Returns the counts for the sync. If they belong to another sync, its arrivals are reset to 0. */
export function countsFor(counts: Counts, begin: number): Counts {
  if (counts.begin === begin) return counts;
  return { ...counts, begin, arrived: 0, marked: 0 };
}

/**
 * The counts at the start of a sync. Numbers of members who left are not reused, so the numbering is restarted when
 * more than half of the numbers are unused. As a result, there are at most two bits per member, and a restart never
 * rewrites more members than have left.
 */
export function countsAtBegin(before: Counts, begin: number): Counts {
  const counts = countsFor(before, begin);
  return counts.next > 2 * counts.members ? { ...counts, numbering: begin, next: 0 } : counts;
}
