// Collected users are returned in ranges, each user once, with the first record that contains the user.

import { expect, test } from "vitest";

import { type GatheredRecord, inRanges } from "../../../../src/router/audience/batch-lookups.ts";
import { createPrng } from "../../../support/clock/prng.ts";

function gathered(lists: readonly (readonly string[])[]): readonly GatheredRecord[] {
  return lists.map((userIds, offset) => {
    const at = { topic: "syncs", partition: 0, offset, timestampMs: 0 };
    const record = { ...at, key: null, value: null, headers: [] };
    return { cause: { record, atMs: 0, isReplay: false }, userIds };
  });
}

test.each([
  ["no user", [[]]],
  ["few, some of them twice", [["b", "a", "b"], [], ["c", "a"]]],
  ["many in no order", lists(30, 1_000, 7)],
  ["many alike", lists(30, 1_000, 7, 20)],
  ["many in order", [Array.from({ length: 50_000 }, (_, index) => `${index + 100_000}`)]],
])("%s", async (_, all) => {
  const records = gathered(all);
  let breaths = 0;
  const ranges = await inRanges(records, () => {
    breaths += 1;
    return Promise.resolve();
  });
  const users = ranges.flatMap((range) => [...range.keys()].sort());
  expect(users).toEqual([...new Set(all.flat())].sort());
  for (const range of ranges) {
    for (const [userId, record] of range) {
      expect(record).toBe(records.find(({ userIds }) => userIds.includes(userId)));
      // This is enough for the slow cases.
      if (users.length > 100) break;
    }
  }
  // No range is long, and other work can run while the ranges are created.
  expect(Math.max(0, ...ranges.map((range) => range.size))).toBeLessThan(8_000);
  expect(breaths).toBe(Math.floor(all.flat().length / 4_000));
});

function lists(count: number, size: number, seed: number, kinds = 1e9): string[][] {
  const random = createPrng(seed);
  const user = () => random.integer(0, kinds).toString(36);
  return Array.from({ length: count }, () => Array.from({ length: size }, user));
}
