import { expect, test } from "vitest";

import { partitionFetchBytesMax } from "../../src/kafka/consumer-config.ts";

const KIB = 1024;

test.each([
  // When full, bytesMax, partitions: at most so many bytes of one of them in a fetch.
  ["hold", 4_096, 100, 1_024],
  ["hold", 16, 100, 64],
  ["pause", 4_096, 1, 1_024],
  ["pause", 4_096, 16, 256],
  ["pause", 4_096, 100, 64],
  ["pause", 16, 1, 64],
  ["pause", 4_096, 0, 1_024],
] as const)("%s, %i KiB, %i partitions: %i KiB", (whenFull, bytesMaxKib, partitions, kib) => {
  const consume = { whenFull, bytesMax: bytesMaxKib * KIB };
  expect(partitionFetchBytesMax(consume, partitions)).toBe(kib * KIB);
});
