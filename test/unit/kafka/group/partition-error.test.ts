// The table of src/kafka/group/start-offsets.ts.

import { expect, test } from "vitest";
import { CorruptBatchError } from "../../../../src/domain/corrupt-batch.ts";
import { protocolError } from "../../../../src/kafka/cluster/kafka-error.ts";
import { stepAfter } from "../../../../src/kafka/group/start-offsets.ts";

test.each([
  [1, "reset"],
  [3, "compare-topic"],
  [5, "find-leader"],
  [6, "find-leader"],
  [9, "find-leader"],
  [75, "find-leader"],
  [7, "again"],
  [56, "again"],
  [29, "fail"],
  [-1, "fail"],
])("after error %i: %s", (code, step) => {
  expect(stepAfter(protocolError(code))).toBe(step);
});

test("a corrupt batch halts its partition", () => {
  const batch = { topic: "t", partition: 0, offset: 10, behind: 11, isEndKnown: true };
  const corruption = "its length is 0";
  const at = { ...batch, corruption };
  expect(stepAfter(new CorruptBatchError(corruption, 10, at))).toBe("halt");
});
