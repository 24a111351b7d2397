import { setImmediate as otherWork } from "node:timers/promises";
import { expect, test } from "vitest";

import { clockDriver } from "../../../support/clock/clock-driver.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

const never = new AbortController().signal;

/** Makes something due every second. */
function tick(clock: ManualClock): void {
  clock.schedule(1_000, () => tick(clock));
}

test("the clock moves on until the condition holds, and no further", async () => {
  const clock = new ManualClock(0);
  tick(clock);
  await clockDriver(clock).until(() => clock.nowMs() >= 2_500);
  expect(clock.nowMs()).toBe(3_000);
});

test("a condition that never holds fails when the limit is over", async () => {
  const clock = new ManualClock(0);
  tick(clock);
  const waiting = clockDriver(clock, { limitMs: 5_000 }).until(() => false);
  await expect(waiting).rejects.toThrow("the condition never held");
  expect(clock.nowMs()).toBe(6_000);
});

test("a promise is awaited, whether it resolves or rejects", async () => {
  const clock = new ManualClock(0);
  const { during } = clockDriver(clock);
  expect(await during(clock.sleep(7, never).then(() => "slept"))).toBe("slept");
  const failing = clock.sleep(7, never).then(() => Promise.reject(new Error("no sleep")));
  await expect(during(failing)).rejects.toThrow("no sleep");
  expect(clock.nowMs()).toBe(14);
});

test("work that takes turns of the event loop is not overtaken by the clock", async () => {
  const clock = new ManualClock(0);
  tick(clock);
  const work = async () => {
    for (let turn = 0; turn < 50; turn += 1) await otherWork();
    return clock.nowMs();
  };
  expect(await clockDriver(clock, { turns: 100 }).during(work())).toBe(0);
  expect(await clockDriver(clock).during(work())).toBeGreaterThan(0);
});
