// The end of a batch that does not contain its end: the first offset that can be read.

import { expect, test } from "vitest";

import { firstReadable } from "../../../../src/kafka/cluster/range-reader.ts";

/** Searches for the end if nothing can be read before `readable`. */
async function search(corrupt: number, end: number, readable: number) {
  let asked = 0;
  const found = await firstReadable(corrupt, end, async (offset) => {
    asked += 1;
    return offset < readable;
  });
  return { found, asked };
}

test.each([
  ["the next offset", 41],
  ["the one after it", 42],
  ["a few behind it", 47],
  ["many behind it", 4_321],
  ["the last one", 9_999],
])("it is %s", async (_what, readable) => {
  expect((await search(40, 10_000, readable)).found).toBe(readable);
});

test("of a million offsets few are asked for", async () => {
  const { found, asked } = await search(0, 2_000_000, 1_000_001);
  expect(found).toBe(1_000_001);
  expect(asked).toBeLessThan(50);
});

test.each([
  ["nothing can be read any more", 50, 50],
  ["the batch is the last one", 41, 41],
  ["the end was not known", 0, 41],
])("where %s, reading continues at the end", async (_what, end, expected) => {
  expect((await search(40, end, 1e9)).found).toBe(expected);
});
