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
 * A forgotten user is removed from every audience and every trait of the partition, without a call. If the record was
 * applied before and is read again, only marks of open syncs are removed, because any current membership started after
 * the record.
 */

import { createHash } from "node:crypto";
import type { Audience } from "./audience.ts";
import { traitMessageId } from "./identify-call.ts";
import { memberPrefix, traitKey, traitsRange } from "./keys.ts";
import { hasArrived, readMembership, writeMembership } from "./membership.ts";
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

export async function applyForget(work: Work, cause: ForgetCause, userId: string): Promise<void> {
  const { state } = work;
  const audiences = [...state.audiences()];
  const keys = audiences.map(({ first }) => memberPrefix(first) + userId);
  const values = await state.getMany(keys);
  audiences.forEach((audience, index) => {
    forgetMember(work, cause, audience, keys[index] ?? "", values[index] ?? null);
  });
  if (cause.isReplay) return;
  // Pending writes are written first, because traits that are not in the store yet would not be found.
  await work.write(cause.record.offset);
  const { from, to } = traitsRange(userId);
  for await (const entries of state.store.pieces(from, to)) {
    for (const [key] of entries) {
      state.set(key, null);
      state.noteErased();
    }
  }
}

function forgetMember(
  { state }: Work,
  { isReplay }: ForgetCause,
  { first, open }: Audience,
  key: string,
  value: string | null,
): void {
  if (value === null) return;
  const counts = state.counts(first);
  const now = readMembership(value, counts.numbering);
  const isMarked = now.isMember && open !== null && hasArrived(now, state.arrivals(first, open));
  const marked = counts.marked - (isMarked ? 1 : 0);
  if (isReplay || !now.isMember) {
    state.setLocal(key, writeMembership({ ...now, mark: -1, number: -1 }));
    state.setCounts(first, { ...counts, marked });
    return;
  }
  state.set(key, null);
  state.noteErased();
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
