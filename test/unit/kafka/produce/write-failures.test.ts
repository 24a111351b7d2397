// The table in the header of `write-failures.ts`.

import { expect, test } from "vitest";

import { BLOCK_AFTER_MS, WriteFailures } from "../../../../src/kafka/produce/write-failures.ts";

test("a topic that takes records, or says nothing, is not blocked however long", () => {
  const block = new WriteFailures();
  expect(block.sinceMs).toBeNull();
  expect(block.isBlocked(Number.MAX_SAFE_INTEGER)).toBe(false);
});

test("it is blocked when it has refused for 2 s, counted from the first refusal", () => {
  const block = new WriteFailures();
  block.recordRejection("unavailable", "LEADER_NOT_AVAILABLE", 1_000);
  block.recordRejection("missing", "UNKNOWN_TOPIC_OR_PARTITION", 2_500);
  expect(block.isBlocked(1_000 + BLOCK_AFTER_MS - 1)).toBe(false);
  expect(block.isBlocked(1_000 + BLOCK_AFTER_MS)).toBe(true);
  expect(block).toMatchObject({ sinceMs: 1_000, by: "missing" });
  expect(block.error).toBe("UNKNOWN_TOPIC_OR_PARTITION");
});

test("an acknowledgement ends it, and the next refusal counts again", () => {
  const block = new WriteFailures();
  block.recordRejection("unavailable", "NOT_ENOUGH_REPLICAS", 0);
  block.recordSuccess();
  expect(block.isBlocked(10_000)).toBe(false);
  block.recordRejection("unavailable", "NOT_ENOUGH_REPLICAS", 10_000);
  expect(block.isBlocked(10_000 + BLOCK_AFTER_MS - 1)).toBe(false);
});

test("one record probes every two seconds", () => {
  const block = new WriteFailures();
  block.recordRejection("unavailable", "NOT_ENOUGH_REPLICAS", 0);
  const asked = [2_000, 2_001, 3_999, 4_000, 4_001, 6_000];
  expect(asked.filter((atMs) => block.mayProbe(atMs))).toEqual([2_000, 4_000, 6_000]);
});

test("a clock that was set back keeps neither a block from being seen nor a probe from going", () => {
  const block = new WriteFailures();
  block.recordRejection("unavailable", "NOT_ENOUGH_REPLICAS", 3_600_000);
  expect(block.mayProbe(3_600_000)).toBe(true);
  expect(block.isBlocked(2_000)).toBe(true);
  expect(block.mayProbe(2_000)).toBe(true);
});
