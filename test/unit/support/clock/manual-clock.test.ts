// A condition that never holds ends a test, rather than the clock running on.

import { expect, test } from "vitest";

import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

test("advancing until a condition holds stops there, or says that it never will", async () => {
  const clock = new ManualClock(0);
  let count = 0;
  for (const ms of [1, 2, 3]) clock.schedule(ms, () => (count += 1));
  await clock.advanceUntil(() => count === 2, 100);
  expect(clock.nowMs()).toBe(2);
  await expect(clock.advanceUntil(() => count === 9, 100)).rejects.toThrow("nothing is scheduled");
});

test("a condition that never holds fails when the limit is over", async () => {
  const clock = new ManualClock(0);
  const tick = () => clock.schedule(1_000, () => tick());
  tick();
  const waiting = clockDriver(clock, { limitMs: 5_000 }).until(() => false);
  await expect(waiting).rejects.toThrow("the condition never held");
  expect(clock.nowMs()).toBe(6_000);
});
