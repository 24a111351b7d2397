// Two commits of one partition that know of different finished records, as one.

import fc from "fast-check";
import { expect, test } from "vitest";

import {
  decodeRanges,
  encodeRanges,
  withFinished,
} from "../../../../src/kafka/consume/finished-ranges.ts";

const TOPIC = "topic-id";
const LIMIT = 200;

/** Whether the commit says that a record is finished, for each offset. */
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
