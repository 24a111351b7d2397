// How long the response is delayed if nothing in a body was accepted.

import { expect, test } from "vitest";

import { createPenaltyDelay, waitBeside } from "../../../../src/base/runtime/penalty-delay.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

test.each([
  [0, 250],
  [1, 260],
  [100, 1_250],
  [175, 2_000],
  [10_000, 2_000],
])("next to %i others of its address it waits %i ms", (others, ms) => {
  expect(waitBeside(others)).toBe(ms);
});

test("only responses to the same address wait for longer, and only while others wait", async () => {
  const clock = new ManualClock();
  const penaltyDelay = createPenaltyDelay(clock);
  const responded: string[] = [];
  const wait = (name: string, address: string) =>
    penaltyDelay.wait({}, address).then(() => responded.push(name));
  void wait("first", "192.0.2.1");
  void wait("second", "::ffff:192.0.2.1");
  void wait("another", "192.0.2.2");
  await clock.advance(249);
  expect(responded).toEqual([]);
  await clock.advance(1);
  expect(responded).toEqual(["first", "another"]);
  await clock.advance(10);
  expect(responded).toEqual(["first", "another", "second"]);
  void wait("later", "192.0.2.1");
  await clock.advance(250);
  expect(responded.at(-1)).toBe("later");
});

test("a connection waits until the last of its responses may be sent", async () => {
  const clock = new ManualClock();
  const penaltyDelay = createPenaltyDelay(clock);
  const [one, other] = [{}, {}];
  expect(penaltyDelay.isWaiting(one)).toBe(false);
  void penaltyDelay.wait(one, "192.0.2.1");
  void penaltyDelay.wait(one, "192.0.2.1");
  await clock.advance(255);
  expect([penaltyDelay.isWaiting(one), penaltyDelay.isWaiting(other)]).toEqual([true, false]);
  await clock.advance(5);
  expect(penaltyDelay.isWaiting(one)).toBe(false);
});
