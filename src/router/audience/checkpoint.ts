/**
 * Decides whether a process that takes over a partition can use the store that it finds.
 *
 *   the store                                        is         then
 *   cannot be read                                   corrupt    rebuilt
 *   has no checkpoint, or one of another version     missing    rebuilt
 *   is ahead of the end of the changelog             ahead      rebuilt
 *   belongs to another changelog                     foreign    rebuilt
 *   is behind the changelog, and was written         stale      rebuilt: tombstones may have been
 *     more than half a day ago                                  compacted away since
 *   is behind the changelog                          behind     catches up
 *   is at the end of the changelog                   current    used
 *
 * A changelog is identified by a record in it. Each owner of the partition writes this record again when it takes over.
 * The record is therefore either at the offset in the checkpoint, or among the entries that are read to catch up.
 */

import { jsonObjectIn } from "../../domain/json.ts";

const VERSION = 1;

export interface Checkpoint {
  readonly version: typeof VERSION;
  /** Identity of the changelog from which the store was built. */
  readonly identity: string;
  readonly identityOffset: number;
  /** The store contains all entries of the changelog below this offset. */
  readonly changelog: number;
  /**
   * All records of `audience-syncs` below this own offset (`own-offsets.ts`) have been applied, including marks of
   * open syncs.
   */
  readonly position: number;
  readonly writtenAtMs: number;
}

/** Half of the changelog's `delete.retention.ms`. */
const STALE_AFTER_MS = 43_200_000;

export function newCheckpoint(identity: string, identityOffset: number, nowMs: number): Checkpoint {
  const changelog = identityOffset + 1;
  return { version: VERSION, identity, identityOffset, changelog, position: 0, writtenAtMs: nowMs };
}

/** Returns null if there is no checkpoint, or if it is invalid. */
export function readCheckpoint(text: string | undefined): Checkpoint | null {
  if (text === undefined) return null;
  const json = jsonObjectIn(text);
  if (json === null || json.version !== VERSION) return null;
  const { identity, identityOffset, changelog, position, writtenAtMs } = json;
  const numbers = [identityOffset, changelog, position, writtenAtMs];
  const isWhole = numbers.every(Number.isSafeInteger);
  // All fields have been checked here.
  if (typeof identity !== "string" || !isWhole) return null;
  return json as unknown as Checkpoint;
}

export type StoreMatch = "current" | "behind" | "stale" | "missing" | "ahead" | "foreign";

export interface ChangelogFacts {
  readonly end: number;
  /** The identity that was found at the checkpoint's `identityOffset`; null if that record no longer exists. */
  readonly identityThere: string | null;
  /** The last identity that was found after the checkpoint; null if there is none. */
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
