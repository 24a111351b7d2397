import { expect, test } from "vitest";

import { watchSlowSteps } from "../../../../src/base/runtime/slow-steps.ts";

test("a step that takes long is reported until it is settled, the longest first", async () => {
  let nowMs = 1_000;
  const waits = watchSlowSteps({ nowMs: () => nowMs }, 5_000);
  expect(waits.healthProblems()).toEqual([]);
  const slow = Promise.withResolvers<string>();
  const later = Promise.withResolvers<never>();
  const first = waits.during("no response", slow.promise);
  nowMs += 4_999;
  expect(waits.healthProblems()).toEqual([]);
  const second = waits.during("no other response", later.promise);
  nowMs += 1_501;
  expect(waits.healthProblems()).toEqual(["no response for 7 s"]);
  slow.resolve("response");
  expect(await first).toBe("response");
  expect(waits.healthProblems()).toEqual([]);
  nowMs += 5_000;
  expect(waits.healthProblems()).toEqual(["no other response for 7 s"]);
  later.reject(new Error("gone"));
  await expect(second).rejects.toThrow("gone");
  expect(waits.healthProblems()).toEqual([]);
});
