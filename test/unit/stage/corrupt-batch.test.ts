// How long a corrupt batch is reported for a consumer that is restarted repeatedly.

import { expect, test } from "vitest";
import type { PartitionProgress } from "../../../src/kafka/port.ts";
import { stillHalts } from "../../../src/stage/keep-consuming.ts";

const place = { topic: "calls", partition: 3, offset: 42, behind: 50, isEndKnown: true };
const batch = { ...place, corruption: "its length is 0" };

function owned(partition: number, next: number): PartitionProgress {
  const at = { topic: "calls", partition, position: 40, next, end: 100, endAtMs: 0 };
  return { ...at, inFlight: 2, oldestUnfinishedMs: null };
}

test.each([
  ["there is none", null, true],
  ["it has not joined, however long that takes", { joinedForMs: null, progress: [] }, true],
  ["it has not read up to the batch", { joinedForMs: 60_000, progress: [owned(3, 40)] }, true],
  ["it stands in the batch", { joinedForMs: 60_000, progress: [owned(3, 49)] }, true],
  ["it has read past the batch", { joinedForMs: 0, progress: [owned(3, 50)] }, false],
  ["it has just joined without it", { joinedForMs: 14_999, progress: [owned(2, 90)] }, true],
  ["another process has the partition", { joinedForMs: 15_000, progress: [owned(2, 90)] }, false],
])("of a consumer: %s", (_what, consumer, halts) => {
  expect(stillHalts(batch, consumer)).toBe(halts);
});
