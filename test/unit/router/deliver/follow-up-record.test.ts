// Records that replace others are written to Kafka together.

import { expect, test } from "vitest";
import { TICK_MS } from "../../../../src/domain/timer-tick.ts";
import { GatheredWrites } from "../../../../src/router/deliver/follow-up-record.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

function gathering(write: (items: readonly number[]) => Promise<void> = async () => undefined) {
  const clock = new ManualClock();
  const stopped = new AbortController();
  const writes: (readonly number[])[] = [];
  const together = new GatheredWrites<number>(
    { nowMs: () => clock.nowMs(), sleep: (ms) => clock.sleep(ms, stopped.signal) },
    (items) => {
      writes.push(items);
      return write(items);
    },
  );
  const gathered = (items: readonly number[]) =>
    new Promise<boolean>((resolve) => together.add(items, resolve));
  return { clock, stopped, writes, gather: gathered };
}

test("what comes within a tick is written at once, and all are reported", async () => {
  const { clock, writes, gather } = gathering();
  const first = gather([1, 2]);
  await clock.advance(TICK_MS - 1);
  const second = gather([3]);
  expect(writes).toEqual([]);
  await clock.advance(1);
  expect(await Promise.all([first, second])).toEqual([true, true]);
  expect(writes).toEqual([[1, 2, 3]]);
});

test("what comes later is written by itself, even while the write before is in progress", async () => {
  const underWay = Promise.withResolvers<void>();
  const { clock, writes, gather } = gathering(() => underWay.promise);
  const first = gather([1]);
  await clock.advance(TICK_MS);
  const second = gather([2]);
  await clock.advance(TICK_MS);
  expect(writes).toEqual([[1], [2]]);
  underWay.resolve();
  await Promise.all([first, second]);
});

test("a failure is reported to all who share it, and to nobody else", async () => {
  let isBroken = true;
  const { clock, gather } = gathering(async () => {
    if (isBroken) throw new Error("no broker");
  });
  const failed = Promise.all([gather([1]), gather([2])]);
  await clock.advance(TICK_MS);
  expect(await failed).toEqual([false, false]);
  isBroken = false;
  const next = gather([3]);
  await clock.advance(TICK_MS);
  expect(await next).toBe(true);
});

test("when the stage stops, nothing waits any longer", async () => {
  const { stopped, writes, gather } = gathering();
  const written = gather([1]);
  stopped.abort();
  await written;
  expect(writes).toEqual([[1]]);
});
