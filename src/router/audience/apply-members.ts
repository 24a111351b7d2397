/**
 * Adds the users in `members` records and snapshots to their syncs, as `membership.ts` decides. For a user who is
 * already a member, only a bit is set, if there is room for it. All other users are written to the store. No call is
 * written for a suppressed user, who loses the membership.
 */

import { type Audience, countsFor } from "./audience.ts";
import {
  type GatheredRecord,
  type GatheredSync,
  inRanges,
  type UserRange,
} from "./batch-lookups.ts";
import { type CallMaker, membershipMessageId } from "./identify-call.ts";
import { memberPrefix } from "./keys.ts";
import {
  arrive,
  durableMembership,
  hasArrived,
  onlyArrived,
  readMembership,
  writeMembership,
} from "./membership.ts";
import type { PartitionState } from "./partition-state.ts";
import { makerFor, type Work } from "./work.ts";

/** Number of users per lookup. The next lookup runs while the results of the previous one are applied. */
const LOOKED_UP = 5_000;
/** Number of users that are applied before other work may run. Applying them takes about a millisecond. */
const PIECE_USERS = 500;

/** Applies all collected users. */
export async function arriveGathered(work: Work): Promise<void> {
  const { gathering, state } = work;
  const { from } = gathering;
  if (from === null) return;
  for (const gathered of gathering.syncs) {
    const makers = makersFor(work, gathered.audience);
    const prefix = memberPrefix(gathered.audience.first);
    const ranges = await inRanges(gathered.records, () => work.breathe(from));
    for await (const slice of lookedUp(state, prefix, slices(ranges))) {
      for (let at = 0; at < slice.userIds.length; at += PIECE_USERS) {
        arrivePiece(work, gathered, makers, slice, at);
        await work.breathe(from);
      }
    }
  }
  gathering.clear();
}

interface Slice {
  readonly userIds: readonly string[];
  readonly range: UserRange;
}

/** Yields slices in the order of user IDs. */
function* slices(ranges: readonly UserRange[]): Generator<Slice, void, undefined> {
  for (const range of ranges) {
    const userIds = [...range.keys()].sort();
    for (let at = 0; at < userIds.length; at += LOOKED_UP) {
      yield { userIds: userIds.slice(at, at + LOOKED_UP), range };
    }
  }
}

interface LookedUp extends Slice {
  readonly values: readonly (string | null)[];
}

/**
 * Looks up the next slice while the current one is applied. No user is in two slices, so the values that were looked
 * up stay correct, regardless of what is written meanwhile.
 */
async function* lookedUp(
  state: PartitionState,
  prefix: string,
  all: Iterable<Slice>,
): AsyncGenerator<LookedUp, void, undefined> {
  const lookup = async (slice: Slice): Promise<LookedUp> => {
    const keys = slice.userIds.map((userId) => prefix + userId);
    return { ...slice, values: await state.getMany(keys) };
  };
  let ahead: Promise<LookedUp> | null = null;
  for (const slice of all) {
    const started = lookup(slice);
    // If the partition is revoked, nothing awaits this promise any longer.
    started.catch(() => undefined);
    if (ahead !== null) yield await ahead;
    ahead = started;
  }
  if (ahead !== null) yield await ahead;
}

type MakerFor = (record: GatheredRecord) => CallMaker;

/** There is one call maker per record, because a call has the time of the record that causes it. */
function makersFor(work: Work, audience: Audience): MakerFor {
  const makers = new Map<GatheredRecord, CallMaker>();
  return (record) => {
    const known = makers.get(record);
    if (known !== undefined) return known;
    const maker = makerFor(work, record.cause, audience.id, audience.key);
    makers.set(record, maker);
    return maker;
  };
}

function arrivePiece(
  { state, isSuppressed }: Work,
  { audience, sync }: GatheredSync,
  makerOf: MakerFor,
  { userIds, values, range }: LookedUp,
  from: number,
): void {
  const { id: audienceId, first } = audience;
  const prefix = memberPrefix(first);
  const counts = countsFor(state.counts(first), sync.begin);
  const arrivals = state.arrivals(first, sync);
  let { members, arrived, marked, next } = counts;
  for (let index = from; index < Math.min(from + PIECE_USERS, userIds.length); index += 1) {
    const userId = userIds[index] ?? "";
    const record = range.get(userId);
    if (record === undefined) continue;
    const { cause } = record;
    const now = readMembership(values[index] ?? null, counts.numbering);
    if (isSuppressed(userId)) {
      const isFirst = !hasArrived(now, arrivals);
      if (isFirst) arrived += 1;
      if (now.isMember) members -= 1;
      if (now.isMember && !isFirst) marked -= 1;
      const value = writeMembership(onlyArrived(arrivals));
      if (now.isMember) state.set(prefix + userId, value, null);
      else if (isFirst) state.setLocal(prefix + userId, value);
      continue;
    }
    const arrival = arrive(now, arrivals, cause.isReplay);
    if (arrival.kind === "again") continue;
    const { isFirst } = arrival;
    const { isMember } = arrival.next;
    const hasEntered = arrival.kind === "entered";
    if (hasEntered) members += 1;
    if (isFirst) arrived += 1;
    if (isMember && (isFirst || hasEntered)) marked += 1;
    if (now.number !== -1 && arrivals.add(now.number)) continue;
    const hasNumber = now.number !== -1 || !isMember;
    const written = hasNumber ? arrival.next : { ...arrival.next, number: next };
    if (!hasNumber) next += 1;
    const key = prefix + userId;
    if (!hasEntered) {
      state.setLocal(key, writeMembership(written));
      continue;
    }
    const by = { audienceId, first, userId, by: sync.syncId, value: true };
    const call = makerOf(record).call(userId, true, membershipMessageId(by));
    state.call("entered", call, cause.record);
    state.set(key, writeMembership(written), durableMembership(written));
  }
  state.setCounts(first, { ...counts, members, arrived, marked, next });
}
