// The clock of a process, compared with the brokers' clock: the rows of the table in broker-clock.ts.

import { expect, test } from "vitest";
import { BrokerClock } from "../../../../src/base/runtime/broker-clock.ts";

const HOUR_MS = 3_600_000;
const TRUE_MS = 1_800_000_000_000;

/** The brokers' clock is correct, and the process's own clock is ahead by `offsetMs`. */
class World {
  elapsedMs = 1_234.5;
  offsetMs = 0;
  readonly clock = new BrokerClock(
    { nowMs: () => this.trueMs() + this.offsetMs, sleep: () => Promise.reject(new Error("none")) },
    () => this.elapsedMs,
  );

  trueMs(): number {
    return TRUE_MS + Math.floor(this.elapsedMs);
  }

  /** Makes a request that takes `tookMs`. The record is appended after `share` of this time. */
  measure(tookMs: number, share = 0.5): void {
    const sentAtMs = this.elapsedMs;
    this.elapsedMs += tookMs * share;
    const appendedAtMs = this.trueMs();
    this.elapsedMs += tookMs * (1 - share);
    this.clock.measure({ appendedAtMs, sentAtMs, respondedAtMs: this.elapsedMs });
  }

  /** Returns the error of the clock. */
  error(): number {
    return this.clock.nowMs() - this.trueMs();
  }
}

test("nothing is measured: the own clock", () => {
  const world = new World();
  world.offsetMs = 5 * HOUR_MS;
  expect(world.error()).toBe(5 * HOUR_MS);
  expect(world.clock.offsetMs()).toBeNull();
});

test.each([
  [-5 * HOUR_MS, 4],
  [HOUR_MS, 4],
  [5 * HOUR_MS, 4],
  [500, 4],
  [-3_000, 200],
  [60_000, 1_500],
])(
  "an own clock that is %i ms ahead is corrected by a response after %i ms",
  (offsetMs, tookMs) => {
    const world = new World();
    world.offsetMs = offsetMs;
    for (const share of [0, 0.5, 1]) {
      world.measure(tookMs, share);
      expect(Math.abs(world.error())).toBeLessThanOrEqual(tookMs / 2 + 1);
    }
    expect(Math.abs((world.clock.offsetMs() ?? 0) - offsetMs)).toBeLessThanOrEqual(tookMs / 2 + 2);
  },
);

test("an own clock that fits counts as it is", () => {
  const world = new World();
  world.offsetMs = 3;
  world.measure(20);
  expect(world.clock.offsetMs()).toBe(0);
  expect(world.clock.nowMs()).toBe(world.trueMs() + 3);
});

test("a slow response proves no clock right, and leaves what was measured before", () => {
  const world = new World();
  world.offsetMs = 4_000;
  world.measure(20_000);
  expect(world.clock.offsetMs()).toBeNull();
  world.measure(4);
  world.measure(20_000, 0.3);
  expect(Math.abs(world.error())).toBeLessThanOrEqual(3);
});

test("an own clock that is set while the process runs changes nothing, before or behind", () => {
  const world = new World();
  world.offsetMs = -5 * HOUR_MS;
  world.measure(4);
  world.offsetMs = 0;
  world.elapsedMs += 10_000;
  expect(Math.abs(world.error())).toBeLessThanOrEqual(3);
  expect(Math.abs(world.clock.offsetMs() ?? Number.NaN)).toBeLessThanOrEqual(3);
  world.measure(4);
  expect(world.clock.offsetMs()).toBe(0);
});
