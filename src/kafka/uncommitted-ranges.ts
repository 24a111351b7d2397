/**
 * Finds the records that groups have not processed, according to the groups' commits. Only this file decides which
 * records are waiting. All other code that counts or reads waiting records uses it.
 *
 *   the commit of a partition                              records that wait
 *   is missing, or belongs to an earlier topic with        all, from the first offset on
 *     the same name: by its ID, or it is past the end
 *   has an offset                                          all from that offset on
 *   lists processed ranges above it                        the same, without these ranges
 *     (`finished-ranges.ts`)
 *   is held back, and contains the offset up to which      all from that offset on
 *     records were handled
 *
 *   the topic                                              is
 *   does not exist                                         missing
 *   is hidden, has a hidden group, or has no leader        unknown, with the reason; the others are known
 */

import type { IncomingRecord } from "../domain/record.ts";
import type { Admin, CommittedOffset, PartitionOffsets } from "./admin-port.ts";
import { finishedIn, type Range, topicIdIn, workedTo } from "./consume/finished-ranges.ts";
import type { ReadRange } from "./port.ts";

/** A topic, and the group that reads it. */
export interface Reading {
  readonly groupId: string;
  readonly topic: string;
}

/** A part of a partition with waiting records. */
export interface UnfinishedPart extends Pick<ReadRange, "topic" | "partition" | "from" | "to"> {
  /** The processed ranges within the part, in increasing order. */
  readonly finished: readonly Range[];
}

export type Unfinished =
  | {
      readonly kind: "known";
      /** Empty if the brokers have no IDs. */
      readonly topicId: string;
      readonly parts: readonly UnfinishedPart[];
    }
  | { readonly kind: "missing" }
  | { readonly kind: "unknown"; readonly error: string };

const MISSING: Unfinished = { kind: "missing" };

/** Returns the requested topics, by name. @throws Error if Kafka does not respond. */
export async function unfinishedIn(
  { admin }: { readonly admin: Pick<Admin, "committedOf" | "offsetsOf" | "topicIds"> },
  readings: readonly Reading[],
): Promise<ReadonlyMap<string, Unfinished>> {
  const topics = readings.map(({ topic }) => topic);
  const groups = [...Map.groupBy(readings, ({ groupId }) => groupId)].map(
    ([groupId, of]) => [groupId, of.map(({ topic }) => topic)] as const,
  );
  const errors = new Map<string, string>();
  const onUnknown = (topic: string, error: Error) => errors.set(topic, error.message);
  // Committed offsets are read first, so that records which are written and committed in between do not make the count
  // negative.
  const committed = await admin.committedOf(new Map(groups), onUnknown);
  const offsets = await admin.offsetsOf(topics, onUnknown);
  const ids = await admin.topicIds([...offsets.keys()]);
  const of = ({ groupId, topic }: Reading): Unfinished => {
    const error = errors.get(topic);
    const logs = offsets.get(topic);
    if (error !== undefined) return { kind: "unknown", error };
    if (logs === undefined) return MISSING;
    const topicId = ids.get(topic) ?? "";
    const commits = committed.get(groupId)?.get(topic) ?? [];
    const parts = logs.flatMap((log) => partOf(topic, topicId, log, commits));
    return { kind: "known", topicId, parts };
  };
  return new Map(readings.map((reading) => [reading.topic, of(reading)]));
}

function partOf(
  topic: string,
  topicId: string,
  { partition, first, end }: PartitionOffsets,
  commits: readonly CommittedOffset[],
): readonly UnfinishedPart[] {
  const commit = commits.find((each) => each.partition === partition);
  if (commit === undefined || isOfEarlier(commit, topicId, end)) {
    return first < end ? [{ topic, partition, from: first, to: end, finished: [] }] : [];
  }
  const from = Math.max(first, workedTo(commit, topicId));
  const finished = within(finishedIn(commit, topicId), from, end);
  const part = { topic, partition, from, to: end, finished };
  return from < end && recordsIn([part]) > 0 ? [part] : [];
}

/** `true` if the commit belongs to an earlier topic with the same name, which has been deleted. */
function isOfEarlier({ offset, metadata }: CommittedOffset, topicId: string, end: number): boolean {
  const countedIn = topicIdIn(metadata, offset);
  return (countedIn !== null && topicId !== "" && countedIn !== topicId) || offset > end;
}

function within(ranges: readonly Range[], from: number, to: number): readonly Range[] {
  return ranges
    .map(([first, end]): Range => [Math.max(first, from), Math.min(end, to)])
    .filter(([first, end]) => first < end);
}

export function partBelow(part: UnfinishedPart, offset: number): UnfinishedPart {
  const to = Math.max(part.from, Math.min(part.to, offset));
  return { ...part, to, finished: within(part.finished, part.from, to) };
}

export function partFrom(part: UnfinishedPart, offset: number): UnfinishedPart {
  const from = Math.min(part.to, Math.max(part.from, offset));
  return { ...part, from, finished: within(part.finished, from, part.to) };
}

/** Returns the number of offsets that are not processed. */
export function recordsIn(parts: readonly UnfinishedPart[]): number {
  const size = (sum: number, [from, to]: Range) => sum + to - from;
  return parts.reduce((sum, { from, to, finished }) => {
    return sum + to - from - finished.reduce(size, 0);
  }, 0);
}

/** `true` if an offset of the part is processed. */
export function isFinished({ finished }: UnfinishedPart, offset: number): boolean {
  return finished.some(([from, to]) => from <= offset && offset < to);
}

interface Reader {
  readonly read: (range: ReadRange) => AsyncIterable<readonly IncomingRecord[]>;
}

/** Reads the unprocessed records of a part, a step at a time. */
export async function* readUnfinished(
  kafka: Reader,
  { finished, ...range }: UnfinishedPart,
  limits: Pick<ReadRange, "maxBytes" | "signal">,
): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
  let at = 0;
  for await (const records of kafka.read({ ...range, ...limits })) {
    yield records.filter(({ offset }) => {
      while ((finished[at]?.[1] ?? Number.POSITIVE_INFINITY) <= offset) at += 1;
      return (finished[at]?.[0] ?? Number.POSITIVE_INFINITY) > offset;
    });
  }
}
