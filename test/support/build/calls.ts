/**
 * Sources, destinations and records of `calls` for tests. Each test passes only the values that matter to it.
 */

import type { Source, WrittenDestination } from "../../../src/domain/destination.ts";
import type { DestinationId, SourceId } from "../../../src/domain/ids.ts";
import type { IncomingRecord } from "../../../src/domain/record.ts";
import { StoredRecord } from "./stored-record.ts";

export function aSource(id: string, destinations: readonly string[], more: Partial<Source> = {}) {
  return {
    id: id as SourceId,
    writeKeys: [],
    destinations: destinations as readonly DestinationId[],
    callsPerSecond: null,
    correctClock: true,
    ...more,
  } satisfies Source;
}

export function aTopicDestination(
  id: string,
  more: Partial<WrittenDestination> = {},
): WrittenDestination {
  const base = {
    name: id,
    enabled: true,
    historical: true,
    partitions: null,
    kind: "topic",
    isAttempted: false,
    getsDeletions: false,
  } as const;
  return { id: id as DestinationId, ...base, ...more };
}

/** @param value a value to write as JSON, or bytes, which stay unchanged. */
export function aRecord(value: unknown, more: Partial<IncomingRecord> = {}): IncomingRecord {
  const isBytes = value === null || Buffer.isBuffer(value);
  return new StoredRecord({
    topic: "calls",
    partition: 3,
    offset: 42,
    timestampMs: 1_770_000_000_000,
    key: null,
    value: isBytes ? value : Buffer.from(JSON.stringify(value)),
    headers: [],
    ...more,
  });
}

/** @param value a value to write as JSON, or a string, which stays unchanged. */
export function valueBytes(value: unknown): Buffer {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
}

interface Headed {
  readonly sharedHeaders?: IncomingRecord["headers"] | undefined;
  readonly headers: IncomingRecord["headers"];
}

/** Cached, because tests read all records again after each step. */
const known = new WeakMap<Headed, Readonly<Record<string, string | null>>>();

/** Headers as strings; if a header is repeated, the last value counts. */
export function headerTexts(record: Headed): Readonly<Record<string, string | null>> {
  const before = known.get(record);
  if (before !== undefined) return before;
  const all = [...(record.sharedHeaders ?? []), ...record.headers];
  const texts = Object.fromEntries(all.map(([name, value]) => [name, value?.toString() ?? null]));
  known.set(record, texts);
  return texts;
}
