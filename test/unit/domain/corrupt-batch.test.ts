import { expect, test } from "vitest";

import { CorruptBatchError, corruptBatchOf } from "../../../src/domain/corrupt-batch.ts";

const place = { topic: "sw.calls", partition: 3, offset: 42, behind: 50, isEndKnown: true };
const batch = { ...place, corruption: "its length is 0" };
const error = new CorruptBatchError(batch.corruption, batch.offset, batch);

test("the error names the place, and the command that gives the batch up", () => {
  expect(error.message).toBe(
    "The record batch at topic sw.calls, partition 3, offset 42 is corrupt: its length is 0. Restore the partition from an intact replica, or skip the batch and lose its records: switchyard skip-corrupt-batch sw.calls 3 42",
  );
});

test("a corrupt batch is found among the causes of an error", () => {
  expect(corruptBatchOf(new Error("crashed", { cause: new Error("so", { cause: error }) }))).toBe(
    batch,
  );
});

test.each([
  ["another error", new Error("a right is missing")],
  ["a batch whose place is not known yet", new CorruptBatchError("its length is 0", 42)],
  ["no error", "gone"],
])("%s is none", (_what, thrown) => {
  expect(corruptBatchOf(thrown)).toBeNull();
});
