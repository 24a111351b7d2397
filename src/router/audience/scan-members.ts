/**
 * Scans all members of an audience at the end of a sync, when a sync is approved, and when the audience is deleted.
 *
 *   step                                            if the process crashes after it
 *   1  store the verdict, if members are removed    it is not computed again, because step 2 changes members
 *   2  remove members, or mark them for removal,    the remaining members are found again
 *      in pieces
 *   3  end the sync                                 the record is skipped
 *
 *   at                            these members are removed
 *   the end of a complete sync    members who did not arrive
 *   an approval                   marked members, unless they arrived in a later, open sync
 *   a delete                      all members
 */

import { type Audience, countsFor, type OpenSync, type SyncAwaitingApproval } from "./audience.ts";
import { membershipMessageId } from "./identify-call.ts";
import { membersRange, rememberedKey, slotsRange, userOf } from "./keys.ts";
import {
  type ArrivedNumbers,
  durableMembership,
  hasArrived,
  type Membership,
  readMembership,
  writeMembership,
} from "./membership.ts";
import type { End, Snapshot } from "./parse-sync.ts";
import type { SyncOutcome } from "./ports.ts";
import type { StoreEntry } from "./store/ordered-store.ts";
import type { Cause } from "./sync-state.ts";
import { clearArrivals, makerFor, type Work } from "./work.ts";

export async function endSync(
  work: Work,
  cause: Cause,
  audience: Audience,
  open: OpenSync,
  record: End | Snapshot,
): Promise<void> {
  const { state } = work;
  const { offset } = cause.record;
  const { syncId, begin } = open;
  const arrivals = state.arrivals(audience.first, open);
  const removals = removalsOf(work, audience, open);
  const verdict = open.verdict ?? decide(work, audience, open, record);
  if (verdict === "count-mismatch")
    return await close(work, cause, audience, open, "count-mismatch", 0);
  const sync = { ...open, verdict };
  const judged = { ...audience, open: sync };
  const { awaitingApproval } = judged;
  if (removals > 0) {
    state.setAudience(judged);
    await work.write(offset);
  }
  const replaced =
    awaitingApproval === null ? judged : await state.remember(judged, awaitingApproval.syncId);
  if (verdict === "complete") {
    const isMissing = (member: Membership) => !hasArrived(member, arrivals);
    const left = removals > 0 ? await leave(work, cause, judged, syncId, isMissing) : 0;
    const last = { syncId, endedAtMs: cause.atMs };
    return await close(
      work,
      cause,
      { ...replaced, awaitingApproval: null, last },
      sync,
      "complete",
      left,
    );
  }
  if (removals > 0) await judge(work, cause, judged, arrivals);
  const nowAwaiting: SyncAwaitingApproval = { syncId, begin, removals, sinceMs: cause.atMs };
  await close(
    work,
    cause,
    { ...replaced, awaitingApproval: nowAwaiting },
    sync,
    "awaiting-approval",
    0,
  );
}

/** The number of members who have not arrived. */
function removalsOf({ state }: Work, { first }: Audience, { begin }: OpenSync): number {
  const { members, marked } = countsFor(state.counts(first), begin);
  return members - marked;
}

function decide(
  work: Work,
  audience: Audience,
  sync: OpenSync,
  record: End | Snapshot,
): ReturnType<typeof verdictOf> {
  const { arrived } = countsFor(work.state.counts(audience.first), sync.begin);
  const { approvalShare, approvalMinimum } = work.settings(audience.id);
  return verdictOf({
    count: record.type === "end" ? record.count : null,
    arrived,
    membersBefore: sync.membersBefore,
    removals: removalsOf(work, audience, sync),
    force: record.force,
    approvalShare,
    approvalMinimum,
  });
}

export async function applyApproval(
  work: Work,
  cause: Cause,
  audience: Audience,
  awaitingApproval: SyncAwaitingApproval,
): Promise<void> {
  const { state } = work;
  await work.write(cause.record.offset);
  const { open } = audience;
  const arrivals = open === null ? null : state.arrivals(audience.first, open);
  const left = await leave(work, cause, audience, awaitingApproval.syncId, (member) => {
    const isBack = arrivals !== null && hasArrived(member, arrivals);
    return member.judged === awaitingApproval.begin && !isBack;
  });
  const remembered = await state.remember(audience, awaitingApproval.syncId);
  const last = { syncId: awaitingApproval.syncId, endedAtMs: cause.atMs };
  state.setAudience({ ...remembered, awaitingApproval: null, last });
  report(work, audience, awaitingApproval.syncId, "approved", left, awaitingApproval.sinceMs);
}

export async function removeAudience(work: Work, cause: Cause, audience: Audience): Promise<void> {
  const { state } = work;
  const { first } = audience;
  const { offset } = cause.record;
  await work.write(offset);
  const left = await leave(work, cause, audience, offset, () => true);
  const { from, to } = slotsRange(first);
  // Reading once is sufficient, because there are at most a thousand slots.
  for await (const slots of state.store.pieces(from, to)) {
    for (const [key, digest] of slots) {
      state.set(key, null);
      state.setLocal(rememberedKey(first, digest), null);
    }
  }
  report(work, audience, audience.last?.syncId ?? "", "deleted", left, cause.atMs);
  state.removeAudience(audience);
  await clearArrivals(work, offset, first, null);
}

async function close(
  work: Work,
  cause: Cause,
  audience: Audience,
  sync: OpenSync,
  outcome: SyncOutcome,
  left: number,
): Promise<void> {
  const { state } = work;
  // A sync that awaits approval has not ended. It is stored in `awaitingApproval`.
  const closed =
    outcome === "awaiting-approval" ? audience : await state.remember(audience, sync.syncId);
  state.setAudience({ ...closed, open: null });
  report(work, audience, sync.syncId, outcome, left, sync.beganAtMs);
  await clearArrivals(work, cause.record.offset, audience.first, null);
}

function report(
  work: Work,
  audience: Audience,
  syncId: string,
  outcome: SyncOutcome,
  left: number,
  beganAtMs: number,
): void {
  const { members, arrived } = work.state.counts(audience.first);
  work.state.report(audience.id);
  work.events.ended({ audience, syncId, outcome, members, left, arrived, beganAtMs });
}

/**
 * Removes members, and writes a call with the value false for each of them who is not suppressed. Returns how many were
 * removed.
 */
async function leave(
  work: Work,
  cause: Cause,
  audience: Audience,
  by: string | number,
  leaves: (member: Membership) => boolean,
): Promise<number> {
  const { state } = work;
  const { id, first } = audience;
  const maker = makerFor(work, cause, id, audience.key);
  const { open } = audience;
  const arrivals = open === null ? null : state.arrivals(first, open);
  let left = 0;
  for await (const entries of membersOf(work, first)) {
    let counts = state.counts(first);
    for (const [key, value] of entries) {
      const now = readMembership(value, counts.numbering);
      if (!now.isMember) {
        // If the user is not a member and was only seen during a replay, the entry is no longer needed.
        if (leaves(now)) state.setLocal(key, null);
        continue;
      }
      if (!leaves(now)) continue;
      const userId = userOf(key);
      const change = { audienceId: id, first, userId, by, value: false };
      if (!work.isSuppressed(userId)) {
        state.call("left", maker.call(userId, false, membershipMessageId(change)), cause.record);
      }
      state.set(key, null);
      const isMarked = arrivals !== null && hasArrived(now, arrivals);
      const marked = counts.marked - (isMarked ? 1 : 0);
      counts = { ...counts, members: counts.members - 1, marked };
      left += 1;
    }
    state.setCounts(first, counts);
    await work.breathe(cause.record.offset);
  }
  return left;
}

/** Marks the members who did not arrive, so that an approval can remove them. */
async function judge(
  work: Work,
  cause: Cause,
  { first }: Audience,
  arrivals: ArrivedNumbers,
): Promise<void> {
  const { state } = work;
  const { begin } = arrivals;
  const { numbering } = state.counts(first);
  for await (const entries of membersOf(work, first)) {
    for (const [key, value] of entries) {
      const now = readMembership(value, numbering);
      if (!now.isMember || hasArrived(now, arrivals) || now.judged === begin) continue;
      const next = { ...now, judged: begin };
      state.set(key, writeMembership(next), durableMembership(next));
    }
    await work.breathe(cause.record.offset);
  }
}

function membersOf({ state }: Work, first: number): AsyncIterable<readonly StoreEntry[]> {
  const { from, to } = membersRange(first);
  return state.store.pieces(from, to);
}

/**
 * Decides the outcome of a sync at its `end` record, and of a `snapshot`.
 *
 *   count     approvalShare   force   the sync                                  verdict
 *   differs   any             any     any                                       count-mismatch
 *   matches   not set         any     any                                       complete
 *   matches   set             yes     any                                       complete
 *   matches   set             no      is empty                                  awaiting-approval
 *   matches   set             no      removes more than approvalShare of the    awaiting-approval
 *                                     previous members, and more than
 *                                     approvalMinimum of them
 *   matches   set             no      any other                                 complete
 *
 * A sync that removes exactly `approvalShare` is complete. The comparison uses a quotient, because a quotient is
 * rounded in the same way as the setting: 29 / 100 equals 0.29, but 100 times 0.29 is less than 29.
 */
interface Judged {
  /** The count in the `end` record; null for a snapshot, which always contains all users. */
  readonly count: number | null;
  /** The number of distinct users who arrived. */
  readonly arrived: number;
  /** The number of members before the sync. */
  readonly membersBefore: number;
  /** The number of members who did not arrive. */
  readonly removals: number;
  readonly force: boolean;
  readonly approvalShare: number | null;
  readonly approvalMinimum: number;
}

type Verdict = "count-mismatch" | "complete" | "awaiting-approval";

export function verdictOf(judged: Judged): Verdict {
  const { count, arrived, membersBefore, removals, force, approvalShare, approvalMinimum } = judged;
  if (count !== null && count !== arrived) return "count-mismatch";
  if (approvalShare === null || force) return "complete";
  if (arrived === 0) return "awaiting-approval";
  const isMany = removals > approvalMinimum && removals / membersBefore > approvalShare;
  return isMany ? "awaiting-approval" : "complete";
}
