import { expect, test } from "vitest";

import {
  consumerTimes,
  partitionFetchMaxBytes,
} from "../../../../src/kafka/consume/consumer-times.ts";

const KIB = 1024;

test.each([
  // When full, maxBytes, partitions: at most so many bytes of one of them in a fetch.
  ["hold", 4_096, 100, 1_024],
  ["hold", 16, 100, 64],
  ["pause", 4_096, 1, 1_024],
  ["pause", 4_096, 16, 256],
  ["pause", 4_096, 100, 64],
  ["pause", 16, 1, 64],
  ["pause", 4_096, 0, 1_024],
] as const)("%s, %i KiB, %i partitions: %i KiB", (whenFull, maxKib, partitions, kib) => {
  const consume = { whenFull, maxBytes: maxKib * KIB };
  expect(partitionFetchMaxBytes(consume, partitions)).toBe(kib * KIB);
});

test.each([
  // Session timeout: heartbeats while fetches are held, and while they find nothing.
  [30_000, 7_500, 5_000],
  [10_000, 2_500, 5_000],
  [6_000, 1_500, 3_000],
])(
  "with a session of %i ms a heartbeat each %i ms, and each %i ms while it fetches",
  (sessionMs, heartbeatMs, idleHeartbeatMs) => {
    expect(consumerTimes(sessionMs, 1_000)).toMatchObject({ heartbeatMs, idleHeartbeatMs });
  },
);
