// The manual clock: order, cancellation, and code that runs between two sleepers.

import fc from "fast-check";
import { expect, test } from "vitest";

import { ManualClock } from "../../../support/clock/manual-clock.ts";

const never = new AbortController().signal;

test("sleepers wake in the order of time, then of going to sleep", async () => {
  const clock = new ManualClock(0);
  const woken: string[] = [];
  for (const [name, ms] of [
    ["late", 30],
    ["early", 10],
    ["early too", 10],
  ] as const) {
    void clock.sleep(ms, never).then(() => woken.push(`${name} at ${clock.nowMs()}`));
  }
  await clock.advance(29);
  expect(woken).toEqual(["early at 10", "early too at 10"]);
  expect(clock.nowMs()).toBe(29);
  await clock.advance(1);
  expect(woken).toHaveLength(3);
});

test("who wakes may sleep again within the same advance", async () => {
  const clock = new ManualClock(0);
  const atMs: number[] = [];
  const run = async () => {
    for (;;) {
      await clock.sleep(10, never);
      atMs.push(clock.nowMs());
    }
  };
  void run();
  await clock.advance(35);
  expect(atMs).toEqual([10, 20, 30]);
});

test("an aborted sleep rejects with the signal's reason, and the clock forgets it", async () => {
  const clock = new ManualClock(0);
  const abort = new AbortController();
  const sleep = clock.sleep(10, abort.signal);
  abort.abort(new Error("enough"));
  await expect(sleep).rejects.toThrow("enough");
  await expect(clock.sleep(10, abort.signal)).rejects.toThrow("enough");
  expect(await clock.advanceToNext()).toBe(false);
});

test("advancing until a condition holds stops there, or says that it never will", async () => {
  const clock = new ManualClock(0);
  let count = 0;
  for (const ms of [1, 2, 3]) clock.schedule(ms, () => (count += 1));
  await clock.advanceUntil(() => count === 2, 100);
  expect(clock.nowMs()).toBe(2);
  await expect(clock.advanceUntil(() => count === 9, 100)).rejects.toThrow("nothing is scheduled");
});

test("whatever is scheduled and cancelled, the rest runs in order", async () => {
  const item = fc.record({ ms: fc.nat(50), cancelled: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(item), async (items) => {
      const clock = new ManualClock(0);
      const ran: number[] = [];
      const scheduled = items.map(({ ms }, index) => clock.schedule(ms, () => ran.push(index)));
      for (const [index, { cancelled }] of items.entries()) {
        if (cancelled) scheduled[index]?.cancel();
      }
      await clock.advance(50);
      const expected = [...items.keys()].filter((index) => items[index]?.cancelled === false);
      expected.sort((one, other) => (items[one]?.ms ?? 0) - (items[other]?.ms ?? 0) || one - other);
      expect(ran).toEqual(expected);
    }),
  );
});
