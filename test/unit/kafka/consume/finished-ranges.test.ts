// Merging two commits of one partition that list different finished records.

import fc from "fast-check";
import { expect, test } from "vitest";

import {
  decodeRanges,
  encodeHeld,
  encodeRanges,
  topicIdIn,
  withFinished,
  workedTo,
} from "../../../../src/kafka/consume/finished-ranges.ts";

const TOPIC = "topic-id";
const LIMIT = 200;

/** Returns, for each offset, whether the record is finished according to the commit. */
function finished({ offset, metadata }: { offset: number; metadata: string }): boolean[] {
  const flags = Array.from({ length: LIMIT }, (_each, at) => at < offset);
  let at = offset;
  for (const [index, length] of decodeRanges(metadata, offset, TOPIC).entries()) {
    if (index % 2 === 1) flags.fill(true, at, at + length);
    at += length;
  }
  return flags;
}

const commits = fc
  .record({
    offset: fc.integer({ min: 0, max: 40 }),
    ranges: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 12 }),
  })
  .map(({ offset, ranges }) => ({ offset, metadata: encodeRanges(offset, TOPIC, ranges) }));

test("a record is finished when either of them knows so, and nothing else is", () => {
  fc.assert(
    fc.property(commits, commits, (committed, remembered) => {
      const both = withFinished(committed, remembered, TOPIC);
      const one = finished(committed);
      const other = finished(remembered);
      expect(finished(both)).toEqual(one.map((flag, at) => flag || (other[at] ?? false)));
      expect(both.offset).toBeGreaterThanOrEqual(committed.offset);
    }),
  );
});

test("where both together are too long, the group's counts", () => {
  const singles = (first: number, count: number) => {
    const ranges = [first, ...Array.from({ length: count - 1 }, () => 1)];
    return { offset: 0, metadata: encodeRanges(0, TOPIC, ranges) };
  };
  const committed = singles(1, 2_000);
  expect(withFinished(committed, singles(5_000, 100), TOPIC)).not.toEqual(committed);
  expect(withFinished(committed, singles(5_000, 2_000), TOPIC)).toEqual(committed);
});

test("a held commit says to where records were worked on, and an owner reads them again", () => {
  const held = { offset: 7, metadata: encodeHeld(7, TOPIC, 30) };
  expect(workedTo(held, TOPIC)).toBe(30);
  expect(decodeRanges(held.metadata, 7, TOPIC)).toEqual([]);
  expect(topicIdIn(held.metadata, 7)).toBe(TOPIC);
  expect(workedTo({ offset: 7, metadata: encodeHeld(7, "", 30) }, "")).toBe(30);
});

test.each([
  ["of another offset", encodeHeld(6, TOPIC, 30)],
  ["of another topic", encodeHeld(7, "other-id", 30)],
  ["without a count", `sw1:7:${TOPIC}:~`],
  ["with ranges", encodeRanges(7, TOPIC, [1, 2])],
  ["that is no number", `sw1:7:${TOPIC}:~-3`],
  ["empty", ""],
])("metadata %s: only what is below the commit was worked on", (_, metadata) => {
  expect(workedTo({ offset: 7, metadata }, TOPIC)).toBe(7);
});
