import { expect, test } from "vitest";

import {
  consumerTimes,
  idleHeartbeatMs,
  partitionFetchMaxBytes,
} from "../../../../src/kafka/consume/consumer-times.ts";

const KIB = 1024;

test.each([
  // maxBytes, partitions: the maximum number of bytes from one of them in a fetch.
  [4_096, 1, 512],
  [4_096, 4, 128],
  [4_096, 100, 64],
  [16, 1, 64],
  [16, 100, 64],
  [4_096, 0, 512],
])("%i KiB, %i partitions: %i KiB", (maxKib, partitions, kib) => {
  expect(partitionFetchMaxBytes({ maxBytes: maxKib * KIB }, partitions)).toBe(kib * KIB);
});

test.each([
  // Session timeout: the interval of heartbeats while partitions are drained, and at other times, with 2,500 groups,
  // 5,000 and 10,000.
  [45_000, 11_250, 5_000, 10_000, 15_000],
  [30_000, 7_500, 5_000, 10_000, 10_000],
  [10_000, 2_500, 5_000, 5_000, 5_000],
  [6_000, 1_500, 3_000, 3_000, 3_000],
])(
  "with a session of %i ms a heartbeat each %i ms, and each %i, %i or %i ms otherwise",
  (...given) => {
    const [sessionMs, heartbeatMs, ...idleMs] = given;
    expect(consumerTimes(sessionMs, 1_000)).toMatchObject({ heartbeatMs });
    expect([2_500, 5_000, 10_000].map((groups) => idleHeartbeatMs(sessionMs, groups))).toEqual(
      idleMs,
    );
  },
);
