// The table of src/kafka/consume/commit-pace.ts.

import { expect, test, vi } from "vitest";

import { CommitPace } from "../../../../src/kafka/consume/commit-pace.ts";
import { inEachTest } from "../../../support/clock/stepped-timers.ts";

inEachTest(() => vi.useFakeTimers({ now: 10_000 }));

/** Makes this many commits wait at once. Returns when each of them was made, in milliseconds from now. */
function wait(count: number) {
  const pace = new CommitPace();
  const beganAtMs = Date.now();
  const committedMs: number[] = [];
  const cancels = Array.from({ length: count }, () =>
    pace.wait(() => committedMs.push(Date.now() - beganAtMs)),
  );
  return { pace, committedMs, cancels };
}

test("those that finish something within a tick commit together, a second later", async () => {
  vi.setSystemTime(10_020);
  const { pace, committedMs } = wait(3);
  await vi.advanceTimersByTimeAsync(15);
  pace.wait(() => committedMs.push(-1));
  await vi.advanceTimersByTimeAsync(1_014);
  expect(committedMs).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(committedMs).toEqual([1_030, 1_030, 1_030, -1]);
});

test("many have their turns, ten on each tick", async () => {
  const { committedMs } = wait(200);
  await vi.advanceTimersByTimeAsync(1_949);
  expect(committedMs).toHaveLength(190);
  await vi.advanceTimersByTimeAsync(1);
  expect(committedMs.at(-1)).toBe(1_950);
  expect(committedMs).toHaveLength(200);
});

test("none waits for longer than five seconds", async () => {
  const { committedMs } = wait(2_000);
  await vi.advanceTimersByTimeAsync(4_999);
  expect(committedMs).toHaveLength(800);
  await vi.advanceTimersByTimeAsync(1);
  expect(committedMs).toHaveLength(2_000);
});

test("one that was given up takes no turn, and those behind it continue", async () => {
  const { pace, committedMs, cancels } = wait(30);
  for (const cancel of cancels.slice(0, 15)) cancel();
  await vi.advanceTimersByTimeAsync(1_050);
  expect(committedMs).toHaveLength(15);
  pace.wait(() => committedMs.push(-1));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(committedMs.at(-1)).toBe(-1);
});
