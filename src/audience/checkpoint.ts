/**
 * Whether a store can be trusted, when its partition is taken over.
 *
 *   the store                                            is         then
 *   cannot be read                                       damaged    rebuilt
 *   has no checkpoint, or one of another version         missing    rebuilt
 *   knows more of the changelog than there is            ahead      rebuilt
 *   is of another changelog                              foreign    rebuilt
 *   knows less of the changelog than there is, and was   stale      rebuilt: tombstones may have
 *     written more than half a day ago                              been compacted away meanwhile
 *   knows less of the changelog than there is            behind     catches up
 *   knows all of it                                      current    used
 *
 * The changelog says which one it is by a record that each owner writes again when it takes over,
 * so that it stands either where the checkpoint says or among what is read to catch up.
 */

import { jsonObjectIn } from "../domain/json.ts";

/**
 *   version   members                         read by this program
 *   1         have no numbers: each is        yes; members get numbers as they arrive
 *             marked in its own value
 *   2         have numbers (`membership.ts`)  yes
 *
 * A program that knows version 1 alone rebuilds one of version 2: it would not see arrivals there.
 */
const VERSION = 2;
const READ: readonly unknown[] = [1, VERSION];

export interface Checkpoint {
  readonly version: typeof VERSION;
  /** Which changelog the store was made from. */
  readonly identity: string;
  /** Where that was last written. */
  readonly identityOffset: number;
  /** The store holds the changelog up to here. */
  readonly changelog: number;
  /** Records of `audience-syncs` below have been worked on, marks of open syncs included: an own offset. */
  readonly position: number;
  readonly writtenAtMs: number;
}

/** Half of the changelog's `delete.retention.ms`. */
const STALE_AFTER_MS = 43_200_000;

export function newCheckpoint(identity: string, identityOffset: number, nowMs: number): Checkpoint {
  const changelog = identityOffset + 1;
  return { version: VERSION, identity, identityOffset, changelog, position: 0, writtenAtMs: nowMs };
}

/** Null: there is none, or it cannot be used. */
export function readCheckpoint(text: string | undefined): Checkpoint | null {
  if (text === undefined) return null;
  const json = jsonObjectIn(text);
  if (json === null || !READ.includes(json.version)) return null;
  const { identity, identityOffset, changelog, position, writtenAtMs } = json;
  const numbers = [identityOffset, changelog, position, writtenAtMs];
  const isWhole = numbers.every(Number.isSafeInteger);
  // The numbers were just looked at.
  if (typeof identity !== "string" || !isWhole) return null;
  return { ...(json as unknown as Checkpoint), version: VERSION };
}

export type StoreMatch = "current" | "behind" | "stale" | "missing" | "ahead" | "foreign";

export interface ChangelogFacts {
  /** The first offset that is not written yet. */
  readonly end: number;
  /** The text of the record at the checkpoint's `identityOffset`; null: there is none any more. */
  readonly identityThere: string | null;
  /** The text of the last such record behind the checkpoint; null: there is none. */
  readonly identityBehind: string | null;
  readonly nowMs: number;
}

export function matchOf(checkpoint: Checkpoint | null, facts: ChangelogFacts): StoreMatch {
  if (checkpoint === null) return "missing";
  if (checkpoint.changelog > facts.end) return "ahead";
  const identity = facts.identityBehind ?? facts.identityThere;
  if (identity !== checkpoint.identity) return "foreign";
  if (checkpoint.changelog === facts.end) return "current";
  return facts.nowMs - checkpoint.writtenAtMs > STALE_AFTER_MS ? "stale" : "behind";
}
