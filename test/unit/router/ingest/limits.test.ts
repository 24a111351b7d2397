// The limits of the ingest stage other than the size of a request, and the responses when they are exceeded.

import fc from "fast-check";
import { expect, test } from "vitest";
import { both, callRate, maxInFlightBytes } from "../../../../src/router/ingest/limits.ts";
import {
  ANSWERS,
  bodyOf,
  type Code,
  failure,
  retryAfterS,
  SUCCESS,
  statusOf,
} from "../../../../src/router/ingest/responses.ts";

test("bytes are let in up to the limit, over all requests", () => {
  const bytes = maxInFlightBytes(100);
  const [first, second] = [bytes.open(), bytes.open()];
  expect(first.grow(60)).toBe(true);
  expect(second.grow(41)).toBe(false);
  expect(second.grow(40)).toBe(true);
  expect(first.grow(1)).toBe(false);
  first.shrink(30);
  expect(second.grow(30)).toBe(true);
  expect(bytes.total()).toBe(100);
  second.release();
  second.release();
  expect(bytes.total()).toBe(30);
});

test("a request alone is let in whatever its size, and nothing next to it", () => {
  const bytes = maxInFlightBytes(100);
  const [first, second] = [bytes.open(), bytes.open()];
  expect(first.grow(1_000)).toBe(true);
  expect(first.grow(1_000)).toBe(true);
  expect(second.grow(1)).toBe(false);
  first.release();
  expect(second.grow(1)).toBe(true);
});

test("what is given back is never more than what was taken", () => {
  const steps = fc.array(fc.tuple(fc.nat(2), fc.constantFrom("grow", "shrink"), fc.nat(200)));
  fc.assert(
    fc.property(steps, (all) => {
      const bytes = maxInFlightBytes(300);
      const holds = [bytes.open(), bytes.open(), bytes.open()];
      for (const [at, step, count] of all) holds[at]?.[step as "grow" | "shrink"](count);
      expect(bytes.total()).toBeGreaterThanOrEqual(0);
      for (const hold of holds) hold.release();
      expect(bytes.total()).toBe(0);
    }),
  );
});

test("of two limits both have room, or nothing is taken of either", () => {
  const [all, few] = [maxInFlightBytes(100), maxInFlightBytes(20)];
  const [others, neighbour] = [all.open(), few.open()];
  others.grow(10);
  neighbour.grow(10);
  const hold = both(all.open(), few.open());
  expect(hold.grow(10)).toBe(true);
  expect(hold.grow(1)).toBe(false);
  expect([all.total(), few.total()]).toEqual([20, 20]);
  hold.shrink(4);
  expect([all.total(), few.total()]).toEqual([16, 16]);
  hold.release();
  expect([all.total(), few.total()]).toEqual([10, 10]);
  others.grow(90);
  expect(both(all.open(), few.open()).grow(1)).toBe(false);
  expect(few.total()).toBe(10);
});

test("a second's worth of calls may come at once, then the rate holds", () => {
  const rate = callRate(10);
  expect(rate.take(10, 0)).toBe(0);
  expect(rate.take(1, 0)).toBeGreaterThan(0);
  expect(rate.take(1, 99)).toBeGreaterThan(0);
  expect(rate.take(1, 100)).toBe(0);
  expect(rate.take(1, 150)).toBeGreaterThan(0);
});

test("a batch may run into debt, which is paid before the next", () => {
  const rate = callRate(10);
  expect(rate.take(100, 0)).toBe(0);
  const waitMs = rate.take(1, 0);
  expect(waitMs).toBe(9_100);
  expect(rate.take(1, 9_099)).toBeGreaterThan(0);
  expect(rate.take(1, 9_101)).toBe(0);
});

test("a clock that was set back stops nobody", () => {
  const rate = callRate(10);
  expect(rate.take(10, 1_000_000)).toBe(0);
  expect(rate.take(1, 0)).toBeGreaterThan(0);
  expect(rate.take(1, 1_000)).toBe(0);
});

test("over any time no more than the rate and one batch is let in", () => {
  const asks = fc.array(fc.tuple(fc.nat(2_000), fc.integer({ min: 1, max: 50 })), { minLength: 1 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), asks, (perSecond, all) => {
      const rate = callRate(perSecond);
      let [nowMs, taken] = [0, 0];
      for (const [waitMs, calls] of all) {
        nowMs += waitMs;
        if (rate.take(calls, nowMs) === 0) taken += calls;
      }
      expect(taken).toBeLessThanOrEqual(perSecond + (nowMs * perSecond) / 1_000 + 50);
    }),
  );
});

test("Retry-After is 1 to 30 whole seconds, and at least the wait", () => {
  fc.assert(
    fc.property(
      fc.nat(100_000),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (waitMs, random) => {
        const seconds = retryAfterS(waitMs, random);
        expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 30).toBe(true);
        expect(seconds * 1_000).toBeGreaterThanOrEqual(Math.min(waitMs, 30_000));
      },
    ),
  );
});

test("success is exactly one body", () => {
  expect([statusOf(SUCCESS), bodyOf(SUCCESS)]).toEqual([200, '{"success":true}']);
});

test.each(Object.keys(ANSWERS) as Code[])(
  "%s has a status of its kind and says what to do",
  (code) => {
    const response = failure(code, "the body is a list");
    expect([400, 401, 404, 405, 408, 413, 429, 431, 503]).toContain(statusOf(response));
    const body: unknown = JSON.parse(bodyOf(response));
    expect(body).toEqual({
      success: false,
      code,
      message: `the body is a list. ${ANSWERS[code].message}`,
    });
    expect(ANSWERS[code].message).toMatch(/^[A-Z].*\.$/);
  },
);
