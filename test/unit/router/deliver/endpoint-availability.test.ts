// The `Retry-After` of an endpoint applies to all its deliveries.

import { expect, test } from "vitest";
import { endpointKey } from "../../../../src/domain/destination.ts";
import type { EndpointKey } from "../../../../src/domain/ids.ts";
import { EndpointGates } from "../../../../src/router/deliver/endpoint-availability.ts";
import type { NotSent, SendResult } from "../../../../src/router/destinations/port.ts";
import { judge } from "../../../../src/router/destinations/webhook/judge.ts";
import { UNOBSERVED } from "../../../support/worlds/dispatch-world.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const KEY = endpointKey("http://a.test/");
const WINDOW_MS = 14_400_000;

const unavailableUntilMs = (of: EndpointGates, nowMs: number) =>
  Math.max(of.onHoldUntilMs(KEY, nowMs), of.openUntilMs(KEY, nowMs));

function gates() {
  const made = new EndpointGates([KEY], { concurrency: 4, retryWindowMs: WINDOW_MS }, UNOBSERVED);
  const asked = (retryAfter: string, atMs: number) => {
    const ticket = made.admit(KEY, atMs, "queue") ?? -1;
    const result = { kind: "response", status: 503, retryAfter, durationMs: 1 } as const;
    made.settle(KEY, ticket, judge(result, atMs), atMs);
  };
  return { made, asked };
}

test("the longest Retry-After counts: a response that asks for less takes nothing back", () => {
  const { made, asked } = gates();
  asked("100", NOW_MS);
  expect(unavailableUntilMs(made, NOW_MS)).toBe(NOW_MS + 100_000);
  asked("1", NOW_MS + 5_000);
  expect(unavailableUntilMs(made, NOW_MS + 5_000)).toBe(NOW_MS + 100_000);
  asked("100", NOW_MS + 5_000);
  expect(unavailableUntilMs(made, NOW_MS + 5_000)).toBe(NOW_MS + 105_000);
});

test("no endpoint is on hold for longer than the retry window", () => {
  const { made, asked } = gates();
  asked("86400", NOW_MS);
  expect(unavailableUntilMs(made, NOW_MS)).toBe(NOW_MS + WINDOW_MS);
});

const OTHER = endpointKey("http://b.test/");
const SERVER_ERROR = { kind: "response", status: 500, retryAfter: null, durationMs: 1 } as const;

function two() {
  const limits = { concurrency: 4, retryWindowMs: WINDOW_MS };
  return new EndpointGates([KEY, OTHER], limits, UNOBSERVED);
}

/** Reports failures until the endpoint's circuit opens, which lasts until `NOW_MS` + 6,000. */
function open(made: EndpointGates, key = KEY): void {
  for (let count = 0; count < 20; count += 1) {
    const atMs = NOW_MS + (count === 0 ? 0 : 1_000);
    made.settle(key, made.admit(key, atMs, "queue") ?? -1, judge(SERVER_ERROR, atMs), atMs);
  }
}

test("the queue proceeds while one endpoint is available", () => {
  const made = two();
  open(made);
  expect(made.queue(NOW_MS + 1_000)).toEqual({ kind: "goes" });
});

test("the queue is on hold while all are unavailable, until the first of them is available", () => {
  const made = two();
  open(made);
  const ticket = made.admit(OTHER, NOW_MS, "queue") ?? -1;
  made.settle(
    OTHER,
    ticket,
    judge({ ...SERVER_ERROR, status: 503, retryAfter: "2" }, NOW_MS),
    NOW_MS,
  );
  const onHold = { kind: "on-hold", untilMs: NOW_MS + 2_000 };
  expect(made.queue(NOW_MS + 1_000)).toEqual(onHold);
  expect(made.queue(NOW_MS + 2_000)).toEqual({ kind: "goes" });
});

test("the queue waits for a response if only a response can end the hold", () => {
  const made = two();
  open(made);
  open(made, OTHER);
  const endMs = NOW_MS + 6_000;
  expect(made.queue(NOW_MS + 1_000)).toEqual({ kind: "on-hold", untilMs: endMs });
  made.admit(KEY, endMs, "queue");
  made.admit(OTHER, endMs, "queue");
  expect(made.queue(endMs)).toEqual({ kind: "waits" });
});

/** Makes a probe at `atMs`, which fails 100 ms later. */
function probeFails(made: EndpointGates, atMs: number, key = KEY): void {
  made.settle(
    key,
    made.admit(key, atMs, "queue") ?? -1,
    judge(SERVER_ERROR, atMs + 100),
    atMs + 100,
  );
}

test("on hold for an open circuit since it opened: a probe that is in progress, or failed, ends nothing", () => {
  const limits = { concurrency: 4, retryWindowMs: WINDOW_MS };
  const made = new EndpointGates([KEY], limits, UNOBSERVED);
  expect(made.hold(NOW_MS)).toBeNull();
  open(made);
  const sinceMs = NOW_MS + 1_000;
  expect(made.hold(sinceMs)).toEqual({ reason: "circuit-open", sinceMs, untilMs: NOW_MS + 6_000 });
  const ticket = made.admit(KEY, NOW_MS + 6_000, "queue") ?? -1;
  expect(made.hold(NOW_MS + 6_050)).toEqual({
    reason: "circuit-open",
    sinceMs,
    untilMs: NOW_MS + 6_050,
  });
  expect(made.states(NOW_MS + 6_050)).toMatchObject([{ key: KEY, breaker: "half-open" }]);
  made.settle(KEY, ticket, judge(SERVER_ERROR, NOW_MS + 6_100), NOW_MS + 6_100);
  expect(made.hold(NOW_MS + 6_100)).toMatchObject({ sinceMs, untilMs: NOW_MS + 16_100 });
  // This is between the end of the open time and the probe.
  expect(made.hold(NOW_MS + 16_101)).toMatchObject({ sinceMs });
});

test("a breaker that nothing comes to probe holds nothing, and its next opening is another one", () => {
  const limits = { concurrency: 4, retryWindowMs: WINDOW_MS };
  const made = new EndpointGates([KEY], limits, UNOBSERVED);
  open(made);
  expect(made.hold(NOW_MS + 8_000)).toBeNull();
  probeFails(made, NOW_MS + 3_600_000);
  expect(made.hold(NOW_MS + 3_600_100)).toMatchObject({ sinceMs: NOW_MS + 3_600_000 });
});

test("on hold for Retry-After since the endpoint sent it, also if it sends it again meanwhile", () => {
  const { made, asked } = gates();
  asked("100", NOW_MS);
  asked("100", NOW_MS + 50_000);
  expect(made.hold(NOW_MS + 120_000)).toEqual({
    reason: "retry-after",
    sinceMs: NOW_MS,
    untilMs: NOW_MS + 150_000,
  });
  expect(made.hold(NOW_MS + 150_000)).toBeNull();
});

test("several endpoints put the queue on hold since the last of them was unavailable, until the first of them is available", () => {
  const made = two();
  open(made);
  expect(made.hold(NOW_MS + 1_000)).toBeNull();
  const ticket = made.admit(OTHER, NOW_MS + 1_500, "queue") ?? -1;
  const asked = { ...SERVER_ERROR, status: 503, retryAfter: "2" };
  made.settle(OTHER, ticket, judge(asked, NOW_MS + 1_500), NOW_MS + 1_500);
  expect(made.hold(NOW_MS + 2_000)).toEqual({
    reason: "retry-after",
    sinceMs: NOW_MS + 1_500,
    untilMs: NOW_MS + 3_500,
  });
});

/** Returns gates, with what they report to the other processes. */
function progressOutput() {
  const reported: string[] = [];
  const made = new EndpointGates(
    [KEY],
    { concurrency: 4, retryWindowMs: WINDOW_MS },
    {
      ...UNOBSERVED,
      tell: (_key, { news, forMs }) => reported.push(forMs === 0 ? news : `${news} ${forMs}`),
    },
  );
  const accepted = { ...SERVER_ERROR, status: 200 };
  const responded = (result: SendResult, atMs: number) =>
    made.settle(KEY, made.admit(KEY, atMs, "retry") ?? -1, judge(result, atMs), atMs);
  return { reported, made, accept: (atMs: number) => responded(accepted, atMs), responded };
}

test("while all is well nothing is reported", () => {
  const { reported, accept } = progressOutput();
  for (let second = 0; second < 100; second += 1) accept(NOW_MS + second * 1_000);
  expect(reported).toEqual([]);
});

test("an opening is reported, each probe that fails, and the first acceptance", () => {
  const { reported, made, accept, responded } = progressOutput();
  open(made);
  expect(reported).toEqual(["fails"]);
  responded(SERVER_ERROR, NOW_MS + 7_000);
  expect(reported).toEqual(["fails", "fails"]);
  accept(NOW_MS + 20_000);
  accept(NOW_MS + 22_000);
  expect(reported).toEqual(["fails", "fails", "accepts"]);
});

test("acceptances are reported once a second for a minute since another process said that it fails", () => {
  const { reported, made, accept } = progressOutput();
  made.heard(KEY, { news: "fails", forMs: 0 }, NOW_MS);
  expect(made.queue(NOW_MS)).toEqual({ kind: "goes" });
  for (let tenth = 0; tenth < 900; tenth += 1) accept(NOW_MS + tenth * 100);
  expect(reported).toEqual(Array(60).fill("accepts"));
});

test("Retry-After is reported once a second, and counts for those who hear of it as if it was sent to them", () => {
  const { reported, made, responded } = progressOutput();
  const asks = { ...SERVER_ERROR, status: 503, retryAfter: "30" };
  responded(asks, NOW_MS);
  const heard = gates().made;
  heard.heard(KEY, { news: "asks", forMs: 30_000 }, NOW_MS + 50);
  expect(reported).toEqual(["asks 30000"]);
  expect(unavailableUntilMs(heard, NOW_MS + 50)).toBe(NOW_MS + 30_050);
  expect(unavailableUntilMs(made, NOW_MS)).toBe(NOW_MS + 30_000);
});

test("another process's acceptance ends a hold", () => {
  const { made } = progressOutput();
  open(made);
  expect(made.queue(NOW_MS + 1_001).kind).toBe("on-hold");
  made.heard(KEY, { news: "accepts", forMs: 0 }, NOW_MS + 1_002);
  expect(made.queue(NOW_MS + 1_003)).toEqual({ kind: "goes" });
});

const GONE: SendResult = { ...SERVER_ERROR, status: 410 };
const MINUTE_MS = 60_000;

/** Returns gates of two endpoints, with those that were reported as gone. */
function goneGates() {
  const reported: (readonly [string, number])[] = [];
  const limits = { concurrency: 4, retryWindowMs: WINDOW_MS };
  const gone = (key: string, atMs: number) => reported.push([key, atMs]);
  const made = new EndpointGates([KEY, OTHER], limits, { ...UNOBSERVED, gone });
  const responds = (key: EndpointKey, result: SendResult, atMs: number) => {
    const ticket = made.admit(key, atMs, "queue");
    return () => made.settle(key, ticket ?? -1, judge(result, atMs), atMs);
  };
  return { made, reported, responds };
}

test("an endpoint that responds 410 gets no requests, and the others do", () => {
  const { made, reported, responds } = goneGates();
  const inProgress = responds(KEY, GONE, NOW_MS + 5);
  responds(KEY, GONE, NOW_MS)();
  inProgress();
  expect(reported).toEqual([[KEY, NOW_MS]]);
  expect(made.admit(KEY, NOW_MS, "queue")).toBeNull();
  expect([made.stopOf(KEY, NOW_MS), made.stopOf(OTHER, NOW_MS)]).toEqual(["gone", null]);
  expect([made.stopped(NOW_MS), made.hold(NOW_MS)]).toEqual([null, null]);
  expect(made.queue(NOW_MS)).toEqual({ kind: "goes" });
  const unavailable = { reason: "gone", sinceMs: NOW_MS, untilMs: null };
  expect(made.states(NOW_MS)).toMatchObject([{ unavailable }, { unavailable: null }]);
});

test("if all endpoints are gone, the destination is on hold since the last one is", () => {
  const { made, responds } = goneGates();
  responds(KEY, GONE, NOW_MS)();
  responds(OTHER, GONE, NOW_MS + 10)();
  expect(made.stopped(NOW_MS + 10)?.reason).toBe("gone");
  expect(made.hold(NOW_MS + 10)).toEqual({ reason: "gone", sinceMs: NOW_MS + 10, untilMs: null });
});

test("if one endpoint is gone and the other unavailable, the other one decides", () => {
  const { made, responds } = goneGates();
  responds(KEY, GONE, NOW_MS)();
  responds(OTHER, { ...SERVER_ERROR, status: 503, retryAfter: "2" }, NOW_MS)();
  const untilMs = NOW_MS + 2_000;
  expect([made.stopped(NOW_MS), made.queue(NOW_MS)]).toEqual([null, { kind: "on-hold", untilMs }]);
  expect(made.hold(NOW_MS)).toEqual({ reason: "retry-after", sinceMs: NOW_MS, untilMs });
  // The circuit of an endpoint that is gone has no probe.
  made.update([KEY, OTHER], 4);
  open(made, OTHER);
  made.update([KEY, OTHER], 4, new Map([[OTHER, NOW_MS]]));
  expect(made.isProbeDue(NOW_MS + MINUTE_MS)).toBe(false);
});

test("the topic decides: a record that is removed lets requests start, and one that is read stops them", () => {
  const { made, reported, responds } = goneGates();
  made.update([KEY, OTHER], 4, new Map([[KEY, NOW_MS - MINUTE_MS]]));
  expect(made.states(NOW_MS)).toMatchObject([
    { unavailable: { reason: "gone", sinceMs: NOW_MS - MINUTE_MS, untilMs: null } },
    { unavailable: null },
  ]);
  expect(made.stopped(NOW_MS)).toBeNull();
  made.update([KEY, OTHER], 4);
  expect(made.admit(KEY, NOW_MS, "queue")).not.toBeNull();
  responds(KEY, GONE, NOW_MS)();
  made.update([KEY, OTHER], 4, new Map([[KEY, NOW_MS]]));
  expect(reported).toEqual([[KEY, NOW_MS]]);
  made.update([KEY, OTHER], 4);
  expect(made.stopOf(KEY, NOW_MS)).toBe(null);
});

test("another URL gets requests, and the URL that was replaced is still gone when it is back", () => {
  const { made, responds } = goneGates();
  responds(KEY, GONE, NOW_MS)();
  const gone = new Map([[KEY, NOW_MS]]);
  made.update([OTHER], 4, gone);
  expect(made.hold(NOW_MS)).toBeNull();
  made.update([KEY], 4, gone);
  expect(made.stopped(NOW_MS)?.reason).toBe("gone");
});

test("if the record cannot be written, this process asks again after a minute", () => {
  const { made, reported, responds } = goneGates();
  responds(KEY, GONE, NOW_MS)();
  responds(OTHER, GONE, NOW_MS + 10)();
  // Settings that change meanwhile end nothing.
  made.update([KEY, OTHER], 4);
  expect(made.stopped(NOW_MS + 10)?.untilMs).toBe(NOW_MS + MINUTE_MS);
  expect(made.stopOf(KEY, NOW_MS + MINUTE_MS - 1)).toBe("gone");
  responds(KEY, GONE, NOW_MS + MINUTE_MS)();
  expect(reported.map(([, atMs]) => atMs - NOW_MS)).toEqual([0, 10, MINUTE_MS]);
});

const PROXY_FAILS: NotSent = { kind: "not-sent", proxy: "p:1", error: "p:1 fails", durationMs: 1 };

test("a failure of the proxy is reported with the time until its probe, the start of the probe, and its success", () => {
  const { reported, made, accept } = progressOutput();
  made.notSent(KEY, made.admit(KEY, NOW_MS, "queue") ?? -1, PROXY_FAILS, NOW_MS);
  expect(made.admit(KEY, NOW_MS + 999, "queue")).toBe(null);
  const probe = made.admit(KEY, NOW_MS + 1_000, "queue") ?? -1;
  expect(reported).toEqual(["proxy-fails 1000", "proxy-fails 5000"]);
  made.notSent(KEY, probe, PROXY_FAILS, NOW_MS + 1_000);
  accept(NOW_MS + 3_000);
  accept(NOW_MS + 3_001);
  expect(reported.slice(2)).toEqual(["proxy-fails 2000", "proxy-fails 5000", "proxy-works"]);
});
