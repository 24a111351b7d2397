/**
 * The state of an audience in its partition.
 *
 * Audiences are the same in the local store and in the changelog. Counts are stored only locally and computed from the
 * store, so that they are correct even if a crash interrupted a step.
 */

/** A sync that has begun. Its arrivals are stored only locally, because its `begin` is not committed yet. */
export interface OpenSync {
  readonly syncId: string;
  /** Offset of the sync's `begin` or `snapshot`; marks refer to the sync by this offset. */
  readonly begin: number;
  /** Record time of the sync's `begin` or `snapshot`. */
  readonly beganAtMs: number;
  /** Number of members when the sync began. */
  readonly membersBefore: number;
  /** The decision at the sync's `end`, which is stored before the first removal and never computed again. */
  readonly verdict: "complete" | "awaiting-approval" | null;
}

/** A complete sync whose removals are applied after an `approve`. */
export interface SyncAwaitingApproval {
  readonly syncId: string;
  /** Offset of the sync's begin, with which the members to be removed are marked. */
  readonly begin: number;
  readonly removals: number;
  readonly sinceMs: number;
}

export interface EndedSync {
  readonly syncId: string;
  readonly endedAtMs: number;
}

export interface Audience {
  readonly id: string;
  readonly name: string;
  /** Key of the audience's trait, which does not change after the first sync. */
  readonly key: string;
  /** Offset of the audience's first sync. An audience that is deleted and sent again gets another offset. */
  readonly first: number;
  readonly open: OpenSync | null;
  readonly awaitingApproval: SyncAwaitingApproval | null;
  /** The last complete sync that was applied. */
  readonly last: EndedSync | null;
  /** Number of syncs that have ended. The IDs of the last 1,000 are remembered. */
  readonly closed: number;
}

/** The counts of an audience, which are stored only locally. */
export interface Counts {
  readonly members: number;
  /** Begin of the sync to which `arrived` and `marked` belong; -1 if there is no such sync. */
  readonly begin: number;
  /** Distinct users that have arrived in the sync. */
  readonly arrived: number;
  /** Members among the arrived users. */
  readonly marked: number;
  /** The begin since which members' numbers are valid (`membership.ts`); -1 if all numbers are valid. */
  readonly numbering: number;
  /** The next member's number. */
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

/** A store that an earlier version wrote has no numbers. */
export function readCounts(text: string): Counts {
  return { ...NO_COUNTS, ...(JSON.parse(text) as Partial<Counts>) };
}

/** The counts for the sync. Counts of another sync are reset. */
export function countsFor(counts: Counts, begin: number): Counts {
  if (counts.begin === begin) return counts;
  return { ...counts, begin, arrived: 0, marked: 0 };
}

/**
 * The counts of a sync that begins. Numbers of members who left are not reused, so the numbering is restarted
 * when more than half of the numbers are unused. As a result, there are never more than two bits per member, and a
 * restart never has to rewrite more members than have left.
 */
export function countsAtBegin(before: Counts, begin: number): Counts {
  const counts = countsFor(before, begin);
  return counts.next > 2 * counts.members ? { ...counts, numbering: begin, next: 0 } : counts;
}
