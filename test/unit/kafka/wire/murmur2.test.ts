// The hash itself is compared with Java's in kafka-golden.test.ts.

import { expect, test } from "vitest";

import { murmur2, partitionOfKey } from "../../../../src/kafka/wire/murmur2.ts";

test("a negative hash chooses a partition as Java does: without its sign bit", () => {
  const keys = Array.from({ length: 100 }, (_, index) => Buffer.from(`user-${index}`));
  const negative = keys.filter((key) => murmur2(key) < 0);
  expect(negative.length).toBeGreaterThan(10);
  for (const key of negative) {
    expect(partitionOfKey(key, 12)).toBe((murmur2(key) + 2 ** 31) % 12);
  }
});
