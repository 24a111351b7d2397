// The circuit breaker of an endpoint, row by row.

import { expect, test } from "vitest";

import {
  type Breaker,
  createBreaker,
  isKeptAwayLongEnough,
  type Ticket,
} from "../../src/deliver/breaker.ts";

function send(breaker: Breaker, nowMs: number): Ticket {
  const admission = breaker.admit(nowMs, false);
  if (admission.kind !== "go") throw new Error(`not sent: ${admission.kind}`);
  return admission.ticket;
}

/** A breaker that has just opened, at `nowMs` 1,000. */
function opened(placesMax = 4): Breaker {
  const breaker = createBreaker(placesMax);
  for (let count = 0; count < 19; count += 1) breaker.settle(send(breaker, 0), false, 0);
  expect(breaker.settle(send(breaker, 1_000), false, 1_000)).toBe("open");
  return breaker;
}

test("twenty failures in a row over a second open it", () => {
  expect(opened().admit(1_001, false)).toEqual({ kind: "away", untilMs: 6_000 });
});

test("twenty failures at once do not: a burst is no sickness yet", () => {
  const breaker = createBreaker(64);
  const tickets = Array.from({ length: 64 }, () => send(breaker, 0));
  for (const ticket of tickets) expect(breaker.settle(ticket, false, 500)).toBeNull();
  expect(breaker.state()).toBe("closed");
});

test("a success in between begins the count again", () => {
  const breaker = createBreaker(4);
  for (let count = 0; count < 100; count += 1) {
    breaker.settle(send(breaker, count * 1_000), count % 19 === 0, count * 1_000);
  }
  expect(breaker.state()).toBe("closed");
});

test("when its time is over one probe goes out, and others wait for its answer", () => {
  const breaker = opened();
  expect(breaker.admit(5_999, false).kind).toBe("away");
  expect(breaker.awayUntilMs(5_999)).toBe(6_000);
  expect(breaker.awayUntilMs(6_000)).toBe(0);
  expect(breaker.admit(6_000, false).kind).toBe("go");
  expect(breaker.admit(6_000, false).kind).toBe("wait");
});

test("a probe that succeeds lets two through, then one more for each success, then all", () => {
  const breaker = opened(4);
  expect(breaker.settle(send(breaker, 6_000), true, 6_010)).toBe("ramping");
  const first = send(breaker, 6_010);
  send(breaker, 6_010);
  expect(breaker.admit(6_010, false).kind).toBe("wait");
  expect(breaker.settle(first, true, 6_020)).toBeNull();
  const third = send(breaker, 6_020);
  send(breaker, 6_020);
  expect(breaker.admit(6_020, false).kind).toBe("wait");
  expect(breaker.settle(third, true, 6_030)).toBe("closed");
  for (let count = 0; count < 10; count += 1) send(breaker, 6_030);
});

test("each probe that fails doubles the pause, up to a minute", () => {
  const breaker = opened();
  let nowMs = 1_000;
  for (const pauseMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
    expect(breaker.awayUntilMs(nowMs)).toBe(nowMs + pauseMs);
    nowMs += pauseMs;
    expect(breaker.settle(send(breaker, nowMs), false, nowMs)).toBe("open");
  }
});

test("a failure while ramping halves the places; five in a row open it again, for the first pause", () => {
  const breaker = opened(64);
  breaker.settle(send(breaker, 6_000), true, 6_000);
  for (let count = 0; count < 10; count += 1) breaker.settle(send(breaker, 6_000), true, 6_000);
  expect(breaker.settle(send(breaker, 6_000), false, 6_000)).toBeNull();
  expect(breaker.state()).toBe("ramping");
  // Twelve places have become six.
  const tickets = Array.from({ length: 6 }, () => send(breaker, 6_000));
  expect(breaker.admit(6_000, false).kind).toBe("wait");
  const changes = tickets.slice(0, 4).map((ticket) => breaker.settle(ticket, false, 7_000));
  expect(changes).toEqual([null, null, null, "open"]);
  expect(breaker.awayUntilMs(7_001)).toBe(12_000);
});

test("an endpoint that is back and fails one time in ten is not shut out", () => {
  const breaker = opened(64);
  breaker.settle(send(breaker, 6_000), true, 6_000);
  for (let count = 1; count <= 2_000; count += 1) {
    breaker.settle(send(breaker, 6_000 + count), count % 10 !== 0, 6_000 + count);
  }
  expect(breaker.state()).not.toBe("open");
});

test("answers to requests of before it opened change nothing", () => {
  const breaker = createBreaker(64);
  const early = Array.from({ length: 40 }, () => send(breaker, 0));
  for (const ticket of early.slice(0, 19)) breaker.settle(ticket, false, 0);
  expect(breaker.settle(early[19] ?? -1, false, 2_000)).toBe("open");
  expect(breaker.settle(early[20] ?? -1, true, 2_001)).toBeNull();
  expect(breaker.settle(early[21] ?? -1, false, 2_001)).toBeNull();
  expect(breaker.awayUntilMs(2_001)).toBe(7_000);
});

test("a forced delivery goes out whatever the state, and its answer counts for nothing", () => {
  const breaker = opened();
  const admission = breaker.admit(1_001, true);
  expect(admission).toEqual({ kind: "go", ticket: -1 });
  expect(breaker.settle(-1, true, 1_002)).toBeNull();
  expect(breaker.state()).toBe("open");
});

test("with one place at a time, a probe that succeeds closes it", () => {
  const breaker = opened(1);
  expect(breaker.settle(send(breaker, 6_000), true, 6_000)).toBe("closed");
});

test.each([
  [0, 0, false],
  [1, 0, false],
  [2, 0, true],
  [3, 1, false],
  [4, 1, false],
  [5, 1, true],
  [7, 2, false],
  [8, 2, true],
])("parked %i times with %i attempts: goes out all the same: %s", (parked, attempts, expected) => {
  expect(isKeptAwayLongEnough(parked, attempts)).toBe(expected);
});
