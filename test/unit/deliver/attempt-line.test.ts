import { expect, test } from "vitest";

import { sampling } from "../../../src/deliver/attempt-line.ts";

test.each([
  [1, 1_000],
  [0, 0],
  [0.01, 10],
  [0.125, 125],
  [0.001, 1],
])("of 1,000 accepted attempts, a share of %d writes %i lines", (share, lines) => {
  const isSampled = sampling(share);
  const written = Array.from({ length: 1_000 }, () => isSampled()).filter((each) => each);
  expect(written).toHaveLength(lines);
});

test("they are spread evenly", () => {
  const isSampled = sampling(0.25);
  expect(Array.from({ length: 8 }, () => isSampled())).toEqual([
    ...[false, false, false, true],
    ...[false, false, false, true],
  ]);
});
