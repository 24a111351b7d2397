// The circuit breaker of an endpoint, with a test for each row.

import { expect, test } from "vitest";

import {
  CircuitBreaker,
  HEARD_FOR_MS,
  type Ticket,
} from "../../../../src/router/deliver/circuit-breaker.ts";

function send(breaker: CircuitBreaker, nowMs: number): Ticket {
  const admission = breaker.admit(nowMs, "queue");
  if (admission.kind !== "go") throw new Error(`not sent: ${admission.kind}`);
  return admission.ticket;
}

/** Returns a circuit breaker that has just opened, at `nowMs` 1,000. */
function opened(placesMax = 4): CircuitBreaker {
  const breaker = new CircuitBreaker(placesMax);
  for (let count = 0; count < 19; count += 1) breaker.settle(send(breaker, 0), false, 0);
  expect(breaker.settle(send(breaker, 1_000), false, 1_000)).toBe("open");
  return breaker;
}

test("twenty failures in a row over a second open it", () => {
  expect(opened().admit(1_001, "queue")).toEqual({ kind: "unavailable", untilMs: 6_000 });
});

test("twenty failures at once do not: a burst is no sickness yet", () => {
  const breaker = new CircuitBreaker(64);
  const tickets = Array.from({ length: 64 }, () => send(breaker, 0));
  for (const ticket of tickets) expect(breaker.settle(ticket, false, 500)).toBeNull();
  expect(breaker.state).toBe("closed");
});

test("a success in between begins the count again", () => {
  const breaker = new CircuitBreaker(4);
  for (let count = 0; count < 100; count += 1) {
    breaker.settle(send(breaker, count * 1_000), count % 19 === 0, count * 1_000);
  }
  expect(breaker.state).toBe("closed");
});

test("when its time is over one probe goes out, and others wait for its response", () => {
  const breaker = opened();
  expect(breaker.admit(5_999, "queue").kind).toBe("unavailable");
  expect(breaker.unavailableUntilMs(5_999)).toBe(6_000);
  expect(breaker.unavailableUntilMs(6_000)).toBe(0);
  expect(breaker.admit(6_000, "queue").kind).toBe("go");
  expect(breaker.admit(6_000, "queue").kind).toBe("wait");
});

test("a probe that succeeds lets two through, then one more for each success, then all", () => {
  const breaker = opened(4);
  expect(breaker.settle(send(breaker, 6_000), true, 6_010)).toBe("recovering");
  const first = send(breaker, 6_010);
  send(breaker, 6_010);
  expect(breaker.admit(6_010, "queue").kind).toBe("wait");
  expect(breaker.settle(first, true, 6_020)).toBeNull();
  const third = send(breaker, 6_020);
  send(breaker, 6_020);
  expect(breaker.admit(6_020, "queue").kind).toBe("wait");
  expect(breaker.settle(third, true, 6_030)).toBeNull();
  expect(breaker.settle(send(breaker, 6_030), true, 6_040)).toBe("closed");
  for (let count = 0; count < 10; count += 1) send(breaker, 6_030);
});

test("each probe that fails doubles the pause, up to a minute", () => {
  const breaker = opened();
  let nowMs = 1_000;
  for (const pauseMs of [5_000, 10_000, 20_000, 40_000, 60_000, 60_000]) {
    expect(breaker.unavailableUntilMs(nowMs)).toBe(nowMs + pauseMs);
    nowMs += pauseMs;
    expect(breaker.settle(send(breaker, nowMs), false, nowMs)).toBe("open");
  }
});

test("failures while recovering halve the places once for all that were in progress together", () => {
  const breaker = opened(64);
  breaker.settle(send(breaker, 6_000), true, 6_000);
  for (let count = 0; count < 10; count += 1) breaker.settle(send(breaker, 6_000), true, 6_000);
  const together = Array.from({ length: 12 }, () => send(breaker, 6_000));
  expect(breaker.admit(6_000, "queue").kind).toBe("wait");
  for (const ticket of together.slice(0, 6)) breaker.settle(ticket, false, 6_100);
  // The limit was halved from twelve to six, and six requests are in flight.
  expect(breaker.admit(6_100, "queue").kind).toBe("wait");
  for (const ticket of together.slice(6)) breaker.settle(ticket, true, 6_100);
  const next = Array.from({ length: 12 }, () => send(breaker, 6_200));
  expect(breaker.admit(6_200, "queue").kind).toBe("wait");
  for (const ticket of next.slice(0, 6)) breaker.settle(ticket, true, 6_300);
  breaker.settle(next[6] ?? -1, false, 6_300);
  // The limit was eighteen by then, so it is now nine, and five requests are in flight.
  for (let count = 0; count < 4; count += 1) send(breaker, 6_300);
  expect(breaker.admit(6_300, "queue").kind).toBe("wait");
});

test("eight failures in a row while recovering open it again, for the first pause", () => {
  const breaker = opened(64);
  breaker.settle(send(breaker, 6_000), true, 6_000);
  for (let count = 0; count < 10; count += 1) breaker.settle(send(breaker, 6_000), true, 6_000);
  const tickets = Array.from({ length: 12 }, () => send(breaker, 6_000));
  const changes = tickets.slice(0, 8).map((ticket) => breaker.settle(ticket, false, 7_000));
  expect(changes.slice(0, 7)).toEqual(new Array(7).fill(null));
  expect(changes[7]).toBe("open");
  expect(breaker.unavailableUntilMs(7_001)).toBe(12_000);
});

/** Returns how many requests an endpoint gets in a minute, with at most 64 at a time, each of which takes 100 ms. */
function requestsOfAMinute(
  breaker: CircuitBreaker,
  isSuccess: (request: number) => boolean,
): number {
  let requests = 0;
  let underWay: { readonly ticket: Ticket; readonly endMs: number }[] = [];
  for (let nowMs = 10_000; nowMs < 70_000; nowMs += 10) {
    for (const { ticket } of underWay.filter(({ endMs }) => endMs <= nowMs)) {
      breaker.settle(ticket, isSuccess(requests), nowMs);
      requests += 1;
    }
    underWay = underWay.filter(({ endMs }) => endMs > nowMs);
    while (underWay.length < 64) {
      const admission = breaker.admit(nowMs, "queue");
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
  const before = requestsOfAMinute(new CircuitBreaker(64), isSuccess);
  const after = requestsOfAMinute(opened(64), isSuccess);
  expect(after).toBeGreaterThan(before * 0.7);
});

test("responses to requests from before it opened change nothing", () => {
  const breaker = new CircuitBreaker(64);
  const early = Array.from({ length: 40 }, () => send(breaker, 0));
  for (const ticket of early.slice(0, 19)) breaker.settle(ticket, false, 0);
  expect(breaker.settle(early[19] ?? -1, false, 2_000)).toBe("open");
  expect(breaker.settle(early[20] ?? -1, true, 2_001)).toBeNull();
  expect(breaker.settle(early[21] ?? -1, false, 2_001)).toBeNull();
  expect(breaker.unavailableUntilMs(2_001)).toBe(7_000);
});

function admitted(breaker: CircuitBreaker, nowMs: number): Ticket {
  const admission = breaker.admit(nowMs, "retry");
  if (admission.kind !== "go") throw new Error(`not sent: ${admission.kind}`);
  return admission.ticket;
}

test("a retry goes out while it is open, one at a time, and the queue waits for its response", () => {
  const breaker = opened();
  const retry = admitted(breaker, 1_001);
  expect(breaker.admit(1_002, "retry").kind).toBe("wait");
  expect(breaker.admit(6_000, "queue").kind).toBe("wait");
  expect(breaker.settle(retry, false, 6_001)).toBeNull();
  expect(breaker.admit(6_001, "queue").kind).toBe("go");
});

test("a retry that fails while it is open leaves the time of the next probe as it is", () => {
  const breaker = opened();
  for (const nowMs of [1_001, 2_000, 5_999]) {
    expect(breaker.settle(admitted(breaker, nowMs), false, nowMs)).toBeNull();
    expect(breaker.unavailableUntilMs(nowMs)).toBe(6_000);
  }
});

test("a retry that succeeds while it is open shows that the endpoint is back", () => {
  const breaker = opened();
  expect(breaker.settle(admitted(breaker, 1_001), true, 1_100)).toBe("recovering");
  send(breaker, 1_101);
  admitted(breaker, 1_101);
  expect(breaker.admit(1_101, "retry").kind).toBe("wait");
});

test("a retry that comes when the time is over is the probe", () => {
  const breaker = opened();
  const probe = admitted(breaker, 6_000);
  expect(breaker.state).toBe("half-open");
  expect(breaker.settle(probe, false, 6_100)).toBe("open");
  expect(breaker.unavailableUntilMs(6_100)).toBe(16_100);
});

test("a response to a retry of before it opened again does not bring it back", () => {
  const breaker = opened();
  const early = admitted(breaker, 1_001);
  expect(breaker.settle(early, true, 1_002)).toBe("recovering");
  for (let count = 0; count < 8; count += 1) breaker.settle(send(breaker, 2_000), false, 2_000);
  expect(breaker.state).toBe("open");
  expect(breaker.settle(early, true, 2_001)).toBeNull();
  expect(breaker.state).toBe("open");
});

test("a clock that is set back keeps nobody away for longer, and hides no failures", () => {
  const breaker = opened();
  expect(breaker.unavailableUntilMs(1_000 - 3_600_000)).toBe(0);
  expect(breaker.admit(1_000 - 3_600_000, "queue").kind).toBe("go");
  const other = new CircuitBreaker(4);
  other.settle(send(other, 3_600_000), false, 3_600_000);
  for (let count = 0; count < 19; count += 1) other.settle(send(other, count), false, count);
  expect(other.settle(send(other, 2_000), false, 2_000)).toBe("open");
});

test("with one place at a time, a probe that succeeds closes it", () => {
  const breaker = opened(1);
  expect(breaker.settle(send(breaker, 6_000), true, 6_000)).toBe("closed");
});

test("another process's acceptance lets two go at a time, also while a probe is in progress", () => {
  const breaker = opened();
  expect(breaker.heardAccepted(2_000)).toBe("recovering");
  const [first] = [send(breaker, 2_000), send(breaker, 2_000)];
  expect(breaker.admit(2_000, "queue").kind).toBe("wait");
  expect(breaker.settle(first, true, 2_010)).toBeNull();
  const probed = opened();
  const probe = send(probed, 6_000);
  expect(probed.heardAccepted(6_001)).toBe("recovering");
  expect(probed.settle(probe, false, 6_002)).toBeNull();
  expect(probed.state).toBe("recovering");
});

test("one that is closed stays so when another process is accepted, and opens for its own failures", () => {
  const breaker = new CircuitBreaker(4);
  for (let count = 0; count < 19; count += 1) breaker.settle(send(breaker, 0), false, 0);
  expect(breaker.heardAccepted(500)).toBeNull();
  expect(breaker.settle(send(breaker, 1_000), false, 1_000)).toBe("open");
});

test.each([
  [HEARD_FOR_MS - 1, null],
  [HEARD_FOR_MS, "open"],
])("failures in a row %i ms after another's acceptance: %s", (laterMs, state) => {
  const breaker = opened();
  breaker.heardAccepted(2_000);
  const atMs = 2_000 + laterMs;
  for (let count = 0; count < 7; count += 1) breaker.settle(send(breaker, atMs), false, atMs);
  expect(breaker.settle(send(breaker, atMs), false, atMs)).toBe(state);
});
