/**
 * Reads and writes records of the changelog `audience-members`. It is compacted: the last value of a key applies,
 * and a record without a value removes the key. The keys are those of the store (`keys.ts`).
 */

import type { IncomingRecord, OutgoingRecord, PartitionPlace } from "../../domain/record.ts";

export function changelogRecord(
  at: PartitionPlace,
  key: string,
  value: string | null,
): OutgoingRecord {
  return {
    ...at,
    key: Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    headers: [],
  };
}

export interface ChangelogEntry {
  readonly key: string;
  readonly value: string | null;
}

/** Returns null if the record has no key, and was therefore not written by Switchyard. */
export function readChangelog({ key, value }: IncomingRecord): ChangelogEntry | null {
  if (key === null) return null;
  return { key: key.toString(), value: value?.toString() ?? null };
}
