/**
 * The metadata of a commit: the topic that it was counted in, and which records above the committed
 * offset are finished already.
 *
 *   sw1:<committed offset>:<topic id>:<ranges>
 *   sw1:<committed offset>:<topic id>:~<count>    a commit that is held (`AssignedPartition.hold`)
 *
 * Ranges are lengths in offsets, beginning at the committed offset and in turn unfinished, finished,
 * unfinished, finished, ... Everything after the last range is unfinished. Each length is written in
 * groups of 5 bits, lowest first, one character a group, so that most lengths are one character.
 *
 *   metadata                                        decodes to
 *   "sw1:", the same offset and topic id, sound     its ranges, perhaps none
 *   "sw1:", the same offset, another topic id       the commit counts another topic's records
 *   anything else                                   no ranges: all records count as unfinished
 *
 * The count of a held commit is that of the offsets above it that were worked on. The next owner
 * reads these records again, so ranges do not list them as finished. `status` does not count them
 * as waiting.
 *
 * The offset is named because other tools move offsets and leave the metadata; the topic id
 * because a topic that was deleted and created again has other records at the same offsets.
 */

import assert from "node:assert/strict";

/** The broker's limit is 4,096 by default (`offset.metadata.max.bytes`). */
export const METADATA_CHARS_MAX = 3_000;

const VERSION = "sw1";
/** Not a digit, so that it decodes to no ranges. */
const WORKED = "~";
const OFFSET_CHARS_MAX = `${Number.MAX_SAFE_INTEGER}`.length;
const TOPIC_ID = /^[\w-]{0,64}$/;
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT_VALUES = new Map([...DIGITS].map((digit, value) => [digit, value]));
/** Set in every digit of a length but the last one. */
const MORE = 32;

/** The most that one length can need: 53 bits. */
export const RANGE_CHARS_MAX = 11;

/** Characters left for the ranges when offset and topic id are as long as they can get. */
export function rangesCharsMax(topicId: string): number {
  assert(TOPIC_ID.test(topicId), `not a topic id: ${topicId}`);
  return METADATA_CHARS_MAX - VERSION.length - OFFSET_CHARS_MAX - topicId.length - 3;
}

/** Characters that a range of `length` offsets needs; none for an empty one. */
export function rangeChars(length: number): number {
  let chars = 0;
  for (let rest = length; rest > 0; rest = Math.floor(rest / 32)) chars += 1;
  return chars;
}

/**
 * The metadata for a commit of `offset`; empty when no record above it is finished and the brokers
 * know no ids.
 *
 * @param ranges lengths of at least 1, the first one unfinished.
 */
export function encodeRanges(offset: number, topicId: string, ranges: readonly number[]): string {
  // An unfinished range at the end says nothing: what follows is unfinished anyway.
  const count = ranges.length - (ranges.length % 2);
  if (count === 0 && topicId === "") return "";
  let text = "";
  for (let index = 0; index < count; index += 1) text += encodeRange(ranges[index] ?? 0);
  assert(
    text.length <= rangesCharsMax(topicId),
    `${count} ranges are more than the metadata holds`,
  );
  return `${VERSION}:${offset}:${topicId}:${text}`;
}

/** The metadata of a commit that is held at `offset`. @param workedTo all records below were worked on. */
export function encodeHeld(offset: number, topicId: string, workedTo: number): string {
  return `${VERSION}:${offset}:${topicId}:${WORKED}${workedTo - offset}`;
}

/** The offset below which all records were worked on: the committed one, or a higher one if that is held. */
export function workedTo({ offset, metadata }: Place, topicId: string): number {
  const prefix = `${VERSION}:${offset}:${topicId}:${WORKED}`;
  const count = metadata.startsWith(prefix) ? metadata.slice(prefix.length) : "";
  return /^\d{1,15}$/.test(count) ? offset + Number(count) : offset;
}

/** The same metadata without its ranges: a few bytes that name the topic. */
export function withoutRanges(metadata: string): string {
  return metadata.slice(0, metadata.lastIndexOf(":") + 1);
}

/**
 * The id of the topic in which a commit was counted; null when its metadata does not tell, or is
 * about another offset: other tools move offsets and leave the metadata.
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

/**
 * The ranges that a commit's metadata states, in turn unfinished and finished, or none when it says
 * nothing about this offset of this topic. Never throws: anybody can commit anything.
 */
export function decodeRanges(
  metadata: string | null,
  offset: number,
  topicId: string,
): readonly number[] {
  const prefix = `${VERSION}:${offset}:${topicId}:`;
  if (metadata === null || !metadata.startsWith(prefix)) return [];
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
    // A last digit of zero is either an empty range or one written in more characters than needed.
    if (digit === 0 || end > Number.MAX_SAFE_INTEGER) return [];
    ranges.push(length);
    length = 0;
    unit = 1;
  }
  return unit === 1 && ranges.length % 2 === 0 ? ranges : [];
}

export type Range = readonly [from: number, to: number];

interface Place {
  readonly offset: number;
  readonly metadata: string;
}

/**
 * A commit that knows all that either of them does: the group's, and what this process has finished
 * without being able to commit it. While it was away others may have finished records that it had
 * left, and it others that they had not come to.
 *
 * @returns the group's alone where both together would be too long.
 */
export function withFinished(committed: Place, remembered: Place, topicId: string): Place {
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

/** Of ranges by rising beginnings, those that meet become one. */
function merged(first: Range, others: readonly Range[]): [Range, ...Range[]] {
  const all: [Range, ...Range[]] = [first];
  for (const [from, to] of others) {
    const [lastFrom, lastTo] = all.at(-1) ?? first;
    if (from <= lastTo) all[all.length - 1] = [lastFrom, Math.max(lastTo, to)];
    else all.push([from, to]);
  }
  return all;
}

/** From the first finished offset to before the first that is not, for each such range. */
export function finishedIn({ offset, metadata }: Place, topicId: string): Range[] {
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
