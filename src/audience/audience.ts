/**
 * An audience as its partition's owner knows it.
 *
 * These fields are the same on local disk and in the changelog. Counts are local. They are counted
 * from the store, so that they are right wherever a crash cut a step in two.
 */

/** A sync that has begun. Its arrivals are local: the `begin` is not committed yet. */
export interface OpenSync {
  readonly syncId: string;
  /** Offset of its `begin` or `snapshot`; names its marks. */
  readonly begin: number;
  /** Record time of the begin. */
  readonly beganAtMs: number;
  /** Members when it began. */
  readonly membersBefore: number;
  /** The decision at its `end`, written before the first removal and never computed again. */
  readonly verdict: "complete" | "awaiting-approval" | null;
}

/** A complete sync whose removals wait for an `approve`. */
export interface SyncAwaitingApproval {
  readonly syncId: string;
  /** Names the members judged, as the mark of the judgement. */
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
  /** The trait. Frozen at the first sync. */
  readonly key: string;
  /** Offset of its first sync: an audience deleted and sent again has another one. */
  readonly first: number;
  readonly open: OpenSync | null;
  readonly awaitingApproval: SyncAwaitingApproval | null;
  /** The last complete sync that was carried out. */
  readonly last: EndedSync | null;
  /** Syncs that are over, so that the last 1,000 are recognized. */
  readonly closed: number;
}

/** Local, by audience. */
export interface Counts {
  readonly members: number;
  /** The sync that the next two are about; -1: none. */
  readonly begin: number;
  /** Distinct users that have arrived in it. */
  readonly arrived: number;
  /** Members among them. */
  readonly marked: number;
  /** The begin since which numbers of members count (`membership.ts`); -1: all do. */
  readonly numbering: number;
  /** The number that the next member gets. */
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

/** A store of an earlier version has no numbers. */
export function readCounts(text: string): Counts {
  return { ...NO_COUNTS, ...(JSON.parse(text) as Partial<Counts>) };
}

/** The counts as they are for the sync: those about another one start again. */
export function countsFor(counts: Counts, begin: number): Counts {
  if (counts.begin === begin) return counts;
  return { ...counts, begin, arrived: 0, marked: 0 };
}

/**
 * The counts of a sync that begins. Numbers of members who left are not given again. So numbers
 * start again when more than half are of no use: bits stay fewer than twice the members, and the
 * members written again are never more than those that left.
 */
export function countsAtBegin(before: Counts, begin: number): Counts {
  const counts = countsFor(before, begin);
  return counts.next > 2 * counts.members ? { ...counts, numbering: begin, next: 0 } : counts;
}
