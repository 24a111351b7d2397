// What a rate limit guarantees, however late the timers are.

import fc from "fast-check";
import { expect, test } from "vitest";

import { createRateLimiter } from "../../../src/domain/rate-limit.ts";
import { costlyInputs } from "../../support/build/generated-inputs.ts";

/** Each input is hundreds of events. */
const numRuns = costlyInputs(10, 5_000);

/** Sums of numbers like 1,000 / 3 are not exact. */
const ROUNDING_MS = 1e-6;

/**
 * Runs events as fast as the limiter allows, with timers that are late by the given amounts.
 *
 * @param counts how many events run at once, in turn.
 */
function timesOf(
  perSecond: number,
  latenessMs: readonly number[],
  counts: readonly number[] = [1],
): number[] {
  const limiter = createRateLimiter(perSecond);
  const times: number[] = [];
  let takes = 0;
  let nowMs = 1_000_000;
  for (const late of latenessMs) {
    const count = counts[takes % counts.length] ?? 1;
    const waitMs = limiter.take(nowMs, count);
    if (waitMs > 0) {
      nowMs += waitMs + late;
    } else {
      takes += 1;
      times.push(...new Array<number>(count).fill(nowMs));
    }
  }
  return times;
}

const lateness = fc.array(fc.oneof(fc.constant(0), fc.nat({ max: 30 }), fc.nat({ max: 3_000 })), {
  minLength: 50,
  maxLength: 400,
});

const together = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 10 });

test("no second holds more than the rate, however late timers are and however many go together", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), lateness, together, (perSecond, late, counts) => {
      const allowed = counts.map((count) => Math.min(count, perSecond));
      const times = timesOf(perSecond, late, allowed);
      for (let index = perSecond; index < times.length; index += 1) {
        // A second is a half-open interval: the event that was `perSecond` events ago is at least a second ago.
        const spanMs = (times[index] ?? 0) - (times[index - perSecond] ?? 0);
        expect(spanMs).toBeGreaterThanOrEqual(1_000 - ROUNDING_MS);
      }
    }),
    { numRuns },
  );
});

/** Returns the time for 300 calls of `take`, with these sizes in turn. */
function timeOf(perSecond: number, counts: readonly number[]) {
  const limiter = createRateLimiter(perSecond);
  let nowMs = 0;
  let events = 0;
  for (let take = 0; take < 300; take += 1) {
    const count = counts[take % counts.length] ?? 1;
    for (let waitMs = limiter.take(nowMs, count); waitMs > 0; ) {
      nowMs += waitMs;
      waitMs = limiter.take(nowMs, count);
    }
    events += count;
  }
  return { expectedMs: (events * 1_000) / perSecond, nowMs };
}

const anyRate = fc.double({ min: 0.1, max: 20, noNaN: true });

test("over a long time a rate is reached, whatever its fraction", () => {
  fc.assert(
    fc.property(anyRate, (perSecond) => {
      const { nowMs, expectedMs } = timeOf(perSecond, [1]);
      expect(nowMs).toBeLessThanOrEqual(expectedMs + ROUNDING_MS);
    }),
    { numRuns },
  );
});

test("over a long time it is not exceeded, however many go together", () => {
  fc.assert(
    fc.property(anyRate, together, (perSecond, counts) => {
      const { nowMs, expectedMs } = timeOf(perSecond, counts);
      // The time that the last calls take up is not over yet.
      expect(nowMs).toBeGreaterThanOrEqual(expectedMs - 5_000 / perSecond - ROUNDING_MS);
    }),
    { numRuns },
  );
});

test("events are spread: no two closer than the spacing, but for what late timers missed", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), (perSecond) => {
      const times = timesOf(perSecond, new Array<number>(300).fill(0));
      for (let index = 1; index < times.length; index += 1) {
        const gapMs = (times[index] ?? 0) - (times[index - 1] ?? 0);
        expect(gapMs).toBeGreaterThanOrEqual(1_000 / perSecond - ROUNDING_MS);
      }
    }),
    { numRuns },
  );
});

test("with timers that are a little late, the rate is still reached", () => {
  const times = timesOf(100, new Array<number>(4_000).fill(4));
  const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
  expect(times.length / (spanMs / 1_000)).toBeGreaterThan(99);
});

test("a rate below one a second waits that long", () => {
  const limiter = createRateLimiter(0.25);
  expect(limiter.take(0)).toBe(0);
  expect(limiter.take(1_000)).toBe(3_000);
  expect(limiter.take(4_000)).toBe(0);
});

test("a changed rate holds at once, and what was counted still counts", () => {
  const limiter = createRateLimiter(2);
  expect(limiter.take(0)).toBe(0);
  expect(limiter.take(500)).toBe(0);
  limiter.setRate(1);
  expect(limiter.take(1_400)).toBe(100);
  limiter.setRate(10);
  expect(limiter.take(1_500)).toBe(0);
  expect(limiter.take(1_550)).toBeGreaterThan(0);
});

test("the next event is due as if a changed rate had applied to the last one", () => {
  const raised = createRateLimiter(0.01);
  expect(raised.take(0, 5)).toBe(0);
  raised.setRate(1_000);
  expect(raised.take(4)).toBe(1);
  expect(raised.take(5)).toBe(0);
  const lowered = createRateLimiter(1_000);
  lowered.setRate(500);
  expect(lowered.take(0)).toBe(0);
  lowered.setRate(0.01);
  expect(lowered.take(1)).toBe(99_999);
});

test("a clock that is set back holds nothing up for longer than a second", () => {
  const limiter = createRateLimiter(10);
  expect(limiter.take(1_000_000)).toBe(0);
  expect(limiter.take(500_000)).toBe(0);
  for (let count = 0; count < 20; count += 1) {
    expect(limiter.take(500_100 + count * 100)).toBe(0);
  }
});
