/**
 * Encodes and decodes the metadata of a commit: the ID of the topic to which the offset belongs, and which records
 * above the committed offset are already processed.
 *
 *   sw1:<committed offset>:<topic id>:<ranges>
 *   sw1:<committed offset>:<topic id>:~<count>    a commit that is held back (`AssignedPartition.hold`)
 *
 * Ranges are lengths in offsets. They start at the committed offset and are alternately unprocessed,
 * processed, unprocessed, processed, ... Everything after the last range is unprocessed. Each length is
 * written in groups of 5 bits, lowest first, one character per group, so most lengths are one character.
 *
 *   metadata                                        decodes to
 *   "sw1:", the same offset and topic ID, valid     its ranges, perhaps none
 *   "sw1:", the same offset, another topic ID       the offset belongs to another topic
 *   anything else                                   no ranges: all records count as unprocessed
 *
 * In a commit that is held back, the count is the number of offsets above the committed offset whose records were
 * already handled. The next owner reads these records again, so they are not listed as processed ranges, but `status`
 * does not count them as waiting.
 *
 * The offset is included because other tools move offsets without changing the metadata. The topic ID is
 * included because a topic that was deleted and recreated has other records at the same offsets.
 */

import assert from "node:assert/strict";

/** The broker's limit is 4,096 by default (`offset.metadata.max.bytes`). */
export const METADATA_CHARS_MAX = 3_000;

const VERSION = "sw1";
/** Marks a commit that is held back. Not a digit, so that the metadata decodes to no ranges. */
const WORKED = "~";
const OFFSET_CHARS_MAX = `${Number.MAX_SAFE_INTEGER}`.length;
const TOPIC_ID = /^[\w-]{0,64}$/;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT_VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));
/** Set in every digit of a length except the last. */
const MORE = 32;

/** The most characters that one length can need, because a length has at most 53 bits. */
export const RANGE_CHARS_MAX = 11;

/** Characters left for the ranges if the offset has as many digits as possible. */
export function rangesCharsMax(topicId: string): number {
  assert(TOPIC_ID.test(topicId), `not a topic id: ${topicId}`);
  return METADATA_CHARS_MAX - VERSION.length - OFFSET_CHARS_MAX - topicId.length - 3;
}

/** Characters that a range of `length` offsets needs; 0 for an empty range. */
export function rangeChars(length: number): number {
  let chars = 0;
  for (let rest = length; rest > 0; rest = Math.floor(rest / 32)) chars += 1;
  return chars;
}

/**
 * The metadata for a commit of `offset`; empty if no record above it is processed and the brokers have
 * no topic IDs.
 *
 * @param ranges lengths of at least 1, the first one unprocessed.
 */
export function encodeRanges(offset: number, topicId: string, ranges: readonly number[]): string {
  // An unprocessed range at the end is redundant, because everything after the last range counts as unprocessed.
  const count = ranges.length - (ranges.length % 2);
  if (count === 0 && topicId === "") return "";
  let text = "";
  for (let index = 0; index < count; index += 1) text += encodeRange(ranges[index] ?? 0);
  assert(text.length <= rangesCharsMax(topicId), `${count} ranges do not fit into the metadata`);
  return `${VERSION}:${offset}:${topicId}:${text}`;
}

/**
 * The metadata of a commit that is held back at `offset`. @param workedTo the offset below which all records were
 * handled.
 */
export function encodeHeld(offset: number, topicId: string, workedTo: number): string {
  return `${VERSION}:${offset}:${topicId}:${WORKED}${workedTo - offset}`;
}

/**
 * The offset below which all records were handled: the committed offset, or a higher one if the commit is held back.
 */
export function workedTo({ offset, metadata }: Commit, topicId: string): number {
  const prefix = `${VERSION}:${offset}:${topicId}:${WORKED}`;
  const count = metadata.startsWith(prefix) ? metadata.slice(prefix.length) : "";
  return /^\d{1,15}$/.test(count) ? offset + Number(count) : offset;
}

/** The same metadata without its ranges: a few bytes that identify the topic. */
export function withoutRanges(metadata: string): string {
  return metadata.slice(0, metadata.lastIndexOf(":") + 1);
}

/**
 * The ID of the topic to which a committed offset belongs. Null if the metadata contains no ID or is about another
 * offset, which happens because other tools move offsets without changing the metadata.
 */
export function topicIdIn(metadata: string, offset: number): string | null {
  const [version, at, topicId = ""] = metadata.split(":", 3);
  const isOurs = version === VERSION && at === `${offset}` && TOPIC_ID.test(topicId);
  return isOurs && topicId !== "" ? topicId : null;
}

function encodeRange(length: number): string {
  assert(length >= 1);
  let text = "";
  let rest = length;
  for (; rest >= 32; rest = Math.floor(rest / 32)) text += DIGITS.charAt((rest % 32) + MORE);
  return text + DIGITS.charAt(rest);
}

/** Shared, because most commits have no ranges. */
const NO_RANGES: readonly number[] = [];

/**
 * The ranges in a commit's metadata, alternately unprocessed and processed; empty if the metadata is not about
 * this offset of this topic. Never throws, because any program can commit any metadata.
 */
export function decodeRanges(
  metadata: string | null,
  offset: number,
  topicId: string,
): readonly number[] {
  const prefix = `${VERSION}:${offset}:${topicId}:`;
  if (metadata === null || !metadata.startsWith(prefix)) return NO_RANGES;
  const text = metadata.slice(prefix.length);
  if (text.length > rangesCharsMax(topicId)) return [];
  const ranges: number[] = [];
  let end = offset;
  let length = 0;
  let unit = 1;
  for (const char of text) {
    const digit = DIGIT_VALUES.get(char);
    if (digit === undefined) return [];
    length += (digit % MORE) * unit;
    unit *= 32;
    if (digit >= MORE) continue;
    end += length;
    // If the last digit is zero, the range is empty or was written with more characters than needed.
    if (digit === 0 || end > Number.MAX_SAFE_INTEGER) return [];
    ranges.push(length);
    length = 0;
    unit = 1;
  }
  return unit === 1 && ranges.length > 0 && ranges.length % 2 === 0 ? ranges : NO_RANGES;
}

export type Range = readonly [from: number, to: number];

export interface Commit {
  readonly offset: number;
  readonly metadata: string;
}

/**
 * Merges two commits: the group's commit, and the commit of the records that this process has processed but could not
 * commit. While this process was not in the group, other members may have processed some of the remaining records,
 * and may have stopped before records that this process had processed.
 *
 * @returns only the group's commit if both together would be too long.
 */
export function withFinished(committed: Commit, remembered: Commit, topicId: string): Commit {
  const start = committed.offset;
  const finished = [
    ...finishedIn(committed, topicId),
    [start, remembered.offset] as Range,
    ...finishedIn(remembered, topicId),
  ]
    .filter(([from, to]) => to > Math.max(from, start))
    .sort(([one], [other]) => one - other);
  const [[, offset], ...above] = merged([start, start], finished);
  const ranges = above.flatMap(([from, to], index) => [
    from - (above[index - 1]?.[1] ?? offset),
    to - from,
  ]);
  const chars = ranges.reduce((sum, length) => sum + rangeChars(length), 0);
  if (chars > rangesCharsMax(topicId)) return committed;
  return { offset, metadata: encodeRanges(offset, topicId, ranges) };
}

/** Merges adjoining ranges. The ranges must be sorted by their start. */
function merged(first: Range, others: readonly Range[]): [Range, ...Range[]] {
  const all: [Range, ...Range[]] = [first];
  for (const [from, to] of others) {
    const [lastFrom, lastTo] = all.at(-1) ?? first;
    if (from <= lastTo) all[all.length - 1] = [lastFrom, Math.max(lastTo, to)];
    else all.push([from, to]);
  }
  return all;
}

/** The processed ranges. The end of a range is the next unprocessed offset. */
export function finishedIn({ offset, metadata }: Commit, topicId: string): Range[] {
  const ranges = decodeRanges(metadata, offset, topicId);
  const found: Range[] = [];
  let at = offset;
  for (let index = 0; index < ranges.length; index += 2) {
    const from = at + (ranges[index] ?? 0);
    at = from + (ranges[index + 1] ?? 0);
    found.push([from, at]);
  }
  return found;
}
