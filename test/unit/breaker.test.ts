// The circuit breaker of an endpoint, row by row.

import { expect, test } from "vitest";

import {
  type Admission,
  Breaker,
  isKeptAwayLongEnough,
  type Ticket,
} from "../../src/deliver/breaker.ts";

function send(breaker: Breaker, nowMs: number): Ticket {
  const admission = breaker.admit(nowMs, "no");
  if (admission.kind !== "go") throw new Error(`not sent: ${admission.kind}`);
  return admission.ticket;
}

/** A breaker that has just opened, at `nowMs` 1,000. */
function opened(placesMax = 4): Breaker {
  const breaker = new Breaker(placesMax);
  for (let count = 0; count < 19; count += 1) breaker.settle(send(breaker, 0), false, 0);
  expect(breaker.settle(send(breaker, 1_000), false, 1_000)).toBe("open");
  return breaker;
}

test("twenty failures in a row over a second open it", () => {
  expect(opened().admit(1_001, "no")).toEqual({ kind: "away", untilMs: 6_000 });
});

test("twenty failures at once do not: a burst is no sickness yet", () => {
  const breaker = new Breaker(64);
  const tickets = Array.from({ length: 64 }, () => send(breaker, 0));
  for (const ticket of tickets) expect(breaker.settle(ticket, false, 500)).toBeNull();
  expect(breaker.state).toBe("closed");
});

test("a success in between begins the count again", () => {
  const breaker = new Breaker(4);
  for (let count = 0; count < 100; count += 1) {
    breaker.settle(send(breaker, count * 1_000), count % 19 === 0, count * 1_000);
  }
  expect(breaker.state).toBe("closed");
});

test("when its time is over one probe goes out, and others wait for its answer", () => {
  const breaker = opened();
  expect(breaker.admit(5_999, "no").kind).toBe("away");
  expect(breaker.awayUntilMs(5_999)).toBe(6_000);
  expect(breaker.awayUntilMs(6_000)).toBe(0);
  expect(breaker.admit(6_000, "no").kind).toBe("go");
  expect(breaker.admit(6_000, "no").kind).toBe("wait");
});

test("a probe that succeeds lets two through, then one more for each success, then all", () => {
  const breaker = opened(4);
  expect(breaker.settle(send(breaker, 6_000), true, 6_010)).toBe("ramping");
  const first = send(breaker, 6_010);
  send(breaker, 6_010);
  expect(breaker.admit(6_010, "no").kind).toBe("wait");
  expect(breaker.settle(first, true, 6_020)).toBeNull();
  const third = send(breaker, 6_020);
  send(breaker, 6_020);
  expect(breaker.admit(6_020, "no").kind).toBe("wait");
  expect(breaker.settle(third, true, 6_030)).toBeNull();
  expect(breaker.settle(send(breaker, 6_030), true, 6_040)).toBe("closed");
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

test("failures while ramping halve the places once for all that were under way together", () => {
  const breaker = opened(64);
  breaker.settle(send(breaker, 6_000), true, 6_000);
  for (let count = 0; count < 10; count += 1) breaker.settle(send(breaker, 6_000), true, 6_000);
  const together = Array.from({ length: 12 }, () => send(breaker, 6_000));
  expect(breaker.admit(6_000, "no").kind).toBe("wait");
  for (const ticket of together.slice(0, 6)) breaker.settle(ticket, false, 6_100);
  // Twelve places have become six, and six of them are taken.
  expect(breaker.admit(6_100, "no").kind).toBe("wait");
  for (const ticket of together.slice(6)) breaker.settle(ticket, true, 6_100);
  const next = Array.from({ length: 12 }, () => send(breaker, 6_200));
  expect(breaker.admit(6_200, "no").kind).toBe("wait");
  for (const ticket of next.slice(0, 6)) breaker.settle(ticket, true, 6_300);
  breaker.settle(next[6] ?? -1, false, 6_300);
  // Eighteen by then, so nine, and five are taken.
  for (let count = 0; count < 4; count += 1) send(breaker, 6_300);
  expect(breaker.admit(6_300, "no").kind).toBe("wait");
});

test("eight failures in a row while ramping open it again, for the first pause", () => {
  const breaker = opened(64);
  breaker.settle(send(breaker, 6_000), true, 6_000);
  for (let count = 0; count < 10; count += 1) breaker.settle(send(breaker, 6_000), true, 6_000);
  const tickets = Array.from({ length: 12 }, () => send(breaker, 6_000));
  const changes = tickets.slice(0, 8).map((ticket) => breaker.settle(ticket, false, 7_000));
  expect(changes.slice(0, 7)).toEqual(new Array(7).fill(null));
  expect(changes[7]).toBe("open");
  expect(breaker.awayUntilMs(7_001)).toBe(12_000);
});

/** How many of the requests of a minute, 64 at most and 100 ms each, an endpoint gets. */
function requestsOfAMinute(breaker: Breaker, isSuccess: (request: number) => boolean): number {
  let requests = 0;
  let underWay: { readonly ticket: Ticket; readonly endMs: number }[] = [];
  for (let nowMs = 10_000; nowMs < 70_000; nowMs += 10) {
    for (const { ticket } of underWay.filter(({ endMs }) => endMs <= nowMs)) {
      breaker.settle(ticket, isSuccess(requests), nowMs);
      requests += 1;
    }
    underWay = underWay.filter(({ endMs }) => endMs > nowMs);
    while (underWay.length < 64) {
      const admission = breaker.admit(nowMs, "no");
      if (admission.kind !== "go") break;
      underWay.push({ ticket: admission.ticket, endMs: nowMs + 100 });
    }
  }
  return requests;
}

test.each([
  ["one time in ten", (request: number) => request % 10 !== 0],
  ["one time in three", (request: number) => request % 3 !== 0],
  ["every other time", (request: number) => request % 2 !== 0],
  ["five times in a row of ten", (request: number) => request % 10 < 5],
])("an endpoint that fails %s gets as much after an outage as before it", (_name, isSuccess) => {
  const before = requestsOfAMinute(new Breaker(64), isSuccess);
  const after = requestsOfAMinute(opened(64), isSuccess);
  expect(after).toBeGreaterThan(before * 0.7);
});

test("answers to requests of before it opened change nothing", () => {
  const breaker = new Breaker(64);
  const early = Array.from({ length: 40 }, () => send(breaker, 0));
  for (const ticket of early.slice(0, 19)) breaker.settle(ticket, false, 0);
  expect(breaker.settle(early[19] ?? -1, false, 2_000)).toBe("open");
  expect(breaker.settle(early[20] ?? -1, true, 2_001)).toBeNull();
  expect(breaker.settle(early[21] ?? -1, false, 2_001)).toBeNull();
  expect(breaker.awayUntilMs(2_001)).toBe(7_000);
});

test("one that was kept away often enough goes out while it is open, but waits like others after it", () => {
  const breaker = opened();
  expect(breaker.admit(1_001, "kept-away").kind).toBe("go");
  const probe = breaker.admit(6_000, "kept-away");
  expect(breaker.state).toBe("probing");
  expect(breaker.admit(6_001, "kept-away").kind).toBe("wait");
  if (probe.kind === "go") breaker.settle(probe.ticket, true, 6_002);
  send(breaker, 6_003);
  send(breaker, 6_003);
  expect(breaker.admit(6_003, "kept-away").kind).toBe("wait");
});

test("a last attempt goes out whatever the state", () => {
  const breaker = opened();
  expect(breaker.admit(1_001, "last").kind).toBe("go");
  const probe = send(breaker, 6_000);
  expect(breaker.admit(6_001, "last").kind).toBe("go");
  breaker.settle(probe, true, 6_002);
  send(breaker, 6_003);
  send(breaker, 6_003);
  expect(breaker.admit(6_003, "last").kind).toBe("go");
});

test.each(["kept-away", "last"] as const)(
  "%s while it is open: a success shows that the endpoint is back, a failure is no news",
  (urgency) => {
    const breaker = opened();
    const [first, second, late] = [1_001, 1_002, 1_003].map((nowMs) =>
      breaker.admit(nowMs, urgency),
    );
    const settle = (admission: Admission | undefined, isSuccess: boolean, nowMs: number) =>
      breaker.settle(admission?.kind === "go" ? admission.ticket : Number.NaN, isSuccess, nowMs);
    expect(settle(first, false, 2_000)).toBeNull();
    expect(breaker.state).toBe("open");
    expect(settle(second, true, 2_001)).toBe("ramping");
    expect(settle(late, false, 2_002)).toBeNull();
    expect(breaker.state).toBe("ramping");
  },
);

test("an answer to one of before it opened anew does not bring it back", () => {
  const breaker = opened();
  const early = breaker.admit(1_001, "last");
  breaker.settle(send(breaker, 6_000), false, 6_001);
  if (early.kind === "go") expect(breaker.settle(early.ticket, true, 6_002)).toBeNull();
  expect(breaker.state).toBe("open");
});

test("a clock that is set back keeps nobody away for longer, and hides no failures", () => {
  const breaker = opened();
  expect(breaker.awayUntilMs(1_000 - 3_600_000)).toBe(0);
  expect(breaker.admit(1_000 - 3_600_000, "no").kind).toBe("go");
  const other = new Breaker(4);
  other.settle(send(other, 3_600_000), false, 3_600_000);
  for (let count = 0; count < 19; count += 1) other.settle(send(other, count), false, count);
  expect(other.settle(send(other, 2_000), false, 2_000)).toBe("open");
});

test("with one place at a time, a probe that succeeds closes it", () => {
  const breaker = opened(1);
  expect(breaker.settle(send(breaker, 6_000), true, 6_000)).toBe("closed");
});

test.each([
  [0, 0, 0, false],
  [1, 0, 0, false],
  [2, 0, 0, true],
  [3, 1, 0, false],
  [4, 1, 0, false],
  [5, 1, 0, true],
  [7, 2, 0, false],
  [8, 2, 0, true],
  [1, 0, 0.24, false],
  [1, 0, 0.25, true],
  [2, 1, 0.49, false],
  [2, 1, 0.5, true],
  [10, 7, 0.99, false],
])(
  "parked %i times with %i attempts, %d of the window: goes out all the same: %s",
  (parked, attempts, ageShare, expected) => {
    expect(isKeptAwayLongEnough(parked, attempts, ageShare)).toBe(expected);
  },
);
