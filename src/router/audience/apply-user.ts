/**
 * Applies records about one user: computed traits (docs/audiences.md#records) and `forget` records
 * (docs/deletions.md#forgetting).
 *
 *   trait value   last value sent     then
 *   null          none                nothing
 *   null          any                 a call with null is written, and the value is removed
 *   any           the same            nothing
 *   any           another, or none    a call is written, and the value is stored
 *
 * A suppressed user gets no call, and loses the stored value. When the user is lifted, the next value is sent.
 *
 * A forgotten user is removed from every audience and every trait of the partition, without a call. If the user has
 * arrived in an open sync, that stays marked until the sync has ended, because the user is in its count. If the record was
 * applied before and is read again, nothing changes, because any current membership started after the record.
 */

import { createHash } from "node:crypto";
import type { Audience } from "./audience.ts";
import { traitMessageId } from "./identify-call.ts";
import { memberPrefix, traitKey, traitsRange } from "./keys.ts";
import { hasArrived, onlyArrived, readMembership, writeMembership } from "./membership.ts";
import type { Trait } from "./parse-sync.ts";
import type { Cause } from "./sync-state.ts";
import { makerFor, refuse, type Work } from "./work.ts";

export async function applyTrait(work: Work, cause: Cause, trait: Trait): Promise<void> {
  if (cause.isReplay) return;
  const { state } = work;
  const { record } = cause;
  if (work.settings(null).source === null) {
    const error =
      "the call would have no source: set audienceDefaults.source or defaultSource for traits";
    return refuse(work, cause, error);
  }
  const key = traitKey(trait.userId, trait.key);
  const [sent] = await state.getMany([key]);
  if (work.isSuppressed(trait.userId)) {
    if (sent === undefined || sent === null) return;
    state.set(key, null);
    return state.noteErased();
  }
  const kept = trait.value === null ? null : keptValue(trait.value);
  if (kept === (sent ?? null)) return;
  const maker = makerFor(work, cause, null, trait.key);
  const messageId = traitMessageId(trait.key, trait.userId, record);
  state.call("traits", maker.call(trait.userId, trait.value, messageId), record);
  state.set(key, kept);
}

/** What a user is forgotten by: a record, or a change of the topic `suppressions`, with the position in its place. */
export interface ForgetCause extends Pick<Cause, "isReplay"> {
  readonly record: Pick<Cause["record"], "offset">;
}

export async function applyForget(
  work: Work,
  { isReplay, record }: ForgetCause,
  userIds: readonly string[],
): Promise<void> {
  if (isReplay) return;
  const { state } = work;
  const audiences = [...state.audiences()];
  for (const userId of userIds) {
    const keys = audiences.map(({ first }) => memberPrefix(first) + userId);
    const values = await state.getMany(keys);
    audiences.forEach((audience, index) => {
      forgetMember(work, audience, keys[index] ?? "", values[index] ?? null);
    });
    await work.breathe(record.offset);
  }
  // Pending writes are written first, because traits that are not in the store yet would not be found.
  await work.write(record.offset);
  for (const userId of userIds) {
    const { from, to } = traitsRange(userId);
    for await (const entries of state.store.pieces(from, to)) {
      for (const [key] of entries) {
        state.set(key, null);
        state.noteErased();
      }
    }
    await work.breathe(record.offset);
  }
}

function forgetMember(
  { state }: Work,
  { first, open }: Audience,
  key: string,
  value: string | null,
): void {
  if (value === null) return;
  const counts = state.counts(first);
  const now = readMembership(value, counts.numbering);
  const arrivals = open === null ? null : state.arrivals(first, open);
  const kept = arrivals !== null && hasArrived(now, arrivals) ? onlyArrived(arrivals) : null;
  const left = kept && writeMembership(kept);
  if (left === null) state.noteErased();
  if (!now.isMember) {
    state.setLocal(key, left);
    return;
  }
  state.set(key, left, null);
  const marked = counts.marked - (left === null ? 0 : 1);
  state.setCounts(first, { ...counts, members: counts.members - 1, marked });
}

/**
 * Creates the form in which the last value of a trait is stored, to compare it with the next value. Short values are
 * stored unchanged, longer ones as their SHA-256. The order of keys in objects does not matter.
 */
const VERBATIM_CHARS_MAX = 40;

export function keptValue(value: unknown): string {
  const text = canonicalJson(value);
  if (text.length <= VERBATIM_CHARS_MAX) return `=${text}`;
  return `#${createHash("sha256").update(text).digest("base64url")}`;
}

function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  const members = entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`);
  return `{${members.join(",")}}`;
}
