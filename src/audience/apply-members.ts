/** The users of a members record or a snapshot arrive in their sync, as `membership.ts` decides. */

import { type Audience, countsFor, type OpenSync } from "./audience.ts";
import type { CallMaker } from "./identify-call.ts";
import { memberPrefix } from "./keys.ts";
import {
  arrive,
  durableMembership,
  type Membership,
  readMembership,
  writeMembership,
} from "./membership.ts";
import { membershipMessageId } from "./message-id.ts";
import { type Cause, makerFor, type Work } from "./work.ts";

/** Users looked up at once: the more, the less the store has to open for each. */
const LOOKED_UP = 5_000;
/** Users worked on before others may run: about a millisecond. */
const PIECE_USERS = 500;

export async function arriveAll(
  work: Work,
  cause: Cause,
  audience: Audience,
  sync: OpenSync,
  userIds: readonly string[],
): Promise<void> {
  const { state } = work;
  const prefix = memberPrefix(audience.first);
  const maker = makerFor(work, cause, audience);
  for (let from = 0; from < userIds.length; from += LOOKED_UP) {
    // Each once: the values looked up here stay right until the last of them has arrived.
    const users = [...new Set(userIds.slice(from, from + LOOKED_UP))];
    const found = await state.getMany(users.map((userId) => prefix + userId));
    for (let at = 0; at < users.length; at += PIECE_USERS) {
      const arrivals = users.slice(at, at + PIECE_USERS).map((userId, index) => {
        return [userId, readMembership(found[at + index] ?? null)] as const;
      });
      arrivePiece(work, cause, { audience, sync, maker, arrivals });
      await work.breathe(cause.record.offset);
    }
  }
}

interface ArrivingPiece {
  readonly audience: Audience;
  readonly sync: OpenSync;
  readonly maker: CallMaker;
  /** With how they are known. */
  readonly arrivals: readonly (readonly [userId: string, now: Membership])[];
}

function arrivePiece({ state }: Work, cause: Cause, piece: ArrivingPiece): void {
  const { audience, sync, maker, arrivals } = piece;
  const { id: audienceId, first } = audience;
  const prefix = memberPrefix(first);
  let { members, arrived, marked } = countsFor(state.counts(first), sync.begin);
  for (const [userId, now] of arrivals) {
    const arrival = arrive(now, sync.begin, cause.isReplay);
    if (arrival.kind === "again") continue;
    const { next, isFirst } = arrival;
    const key = prefix + userId;
    const hasEntered = arrival.kind === "entered";
    if (hasEntered) members += 1;
    if (isFirst) arrived += 1;
    if (next.isMember && (isFirst || hasEntered)) marked += 1;
    if (!hasEntered) {
      state.setLocal(key, writeMembership(next));
      continue;
    }
    const by = { audienceId, first, userId, by: sync.syncId, value: true };
    state.call("entered", maker.call(userId, true, membershipMessageId(by)), cause.record);
    state.set(key, writeMembership(next), durableMembership(next));
  }
  state.setCounts(first, { members, begin: sync.begin, arrived, marked });
}
