import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import { METRICS } from "../../../../src/base/telemetry/metrics.ts";
import {
  AT,
  ATTEMPT_BOUNDS_S,
  type Counters,
  DESTINATION_WIDTH,
  digest,
  FLOW_AT,
  increases,
  percentileMs,
} from "../../../../src/operator/console/counters.ts";
import { RESPONSE_CLASSES } from "../../../../src/operator/console/view.ts";
import { CAUSES } from "../../../../src/router/destinations/port.ts";

function counters(
  calls: number,
  accepted: Readonly<Record<string, number>>,
  startedAtMs = 0,
): Counters {
  const flow = new Float64Array(5);
  flow[FLOW_AT.calls] = calls;
  const destinations = new Map(
    Object.entries(accepted).map(([id, count]) => {
      const row = new Float64Array(DESTINATION_WIDTH);
      row[AT.responses] = count;
      return [id, row];
    }),
  );
  return { flow, destinations, startedAtMs, counts: [true, false, false, false, false] };
}

test("the buckets are those of the metric", () => {
  expect(ATTEMPT_BOUNDS_S).toEqual(METRICS.attemptDuration.buckets);
});

test("counts between two looks are added over the processes", () => {
  const before = new Map([
    ["a:1", counters(10, { crm: 4 })],
    ["b:1", counters(100, { crm: 50 })],
  ]);
  const after = new Map([
    ["a:1", counters(15, { crm: 6, shop: 1 })],
    ["b:1", counters(101, { crm: 50 })],
  ]);
  const { flow, destinations, counts } = increases(before, after, 1);
  expect(flow[FLOW_AT.calls]).toBe(6);
  expect(destinations.get("crm")?.[AT.responses]).toBe(2);
  expect(destinations.get("shop")?.[AT.responses]).toBe(1);
  expect(counts).toEqual([true, false, false, false, false]);
});

test("a process that was started in between counts from 0", () => {
  const before = new Map([["a:1", counters(1_000, { crm: 900 })]]);
  const after = new Map([["a:1", counters(7, { crm: 5 })]]);
  const { flow, destinations } = increases(before, after, 1);
  expect([flow[FLOW_AT.calls], destinations.get("crm")?.[AT.responses]]).toEqual([7, 5]);
});

test("one that was not asked before counts for nothing", () => {
  const { flow, counts } = increases(new Map(), new Map([["a:1", counters(1_000, {})]]), 1);
  expect(flow[FLOW_AT.calls]).toBe(0);
  expect(counts).toEqual([false, false, false, false, false]);
});

test("one that has started again counts from 0, even if it has already counted more than before", () => {
  const before = new Map([["a:1", counters(10, { crm: 9 }, 1)]]);
  const after = new Map([["a:1", counters(25, { crm: 20 }, 5)]]);
  const { flow, destinations } = increases(before, after, 2);
  expect([flow[FLOW_AT.calls], destinations.get("crm")?.[AT.responses]]).toEqual([25, 20]);
});

test("one that was not polled before counts from 0 if it has started since then", () => {
  const after = new Map([["b:1", counters(25, {}, 5)]]);
  expect(increases(new Map(), after, 4).flow[FLOW_AT.calls]).toBe(25);
  expect(increases(new Map(), after, 5).flow[FLOW_AT.calls]).toBe(0);
});

function buckets(counts: Readonly<Record<number, number>>): Float64Array {
  const row = new Float64Array(DESTINATION_WIDTH);
  for (const [at, count] of Object.entries(counts)) row[AT.buckets + Number(at)] = count;
  return row;
}

test.each([
  ["none", {}, 0.5, null],
  ["all in the first bucket, in the middle of it", { 0: 10 }, 0.5, 2.5],
  ["one of a hundred is slow", { 1: 99, 8: 1 }, 0.5, 5 + (5 * 50) / 99],
  ["the slowest of a hundred", { 1: 99, 8: 1 }, 1, 2_500],
  ["longer than every bound is said as the last bound", { 11: 3 }, 0.99, 10_000],
])("%s", (_, counts, share, expected) => {
  const found = percentileMs(buckets(counts), share);
  if (expected === null) expect(found).toBeNull();
  else expect(found).toBeCloseTo(expected, 6);
});

/** Returns the digest of the metrics that a process reports. */
function digested(count: (metrics: ReturnType<typeof createMetrics>) => void) {
  const metrics = createMetrics("top");
  count(metrics);
  return digest(metrics.values());
}

test("attempts are accepted or not; responses have their class", () => {
  const { flow, destinations } = digested((metrics) => {
    for (const [outcome, count] of [
      ["accepted", 7],
      ["retry-scheduled", 2],
      ["rejected", 1],
    ] as const) {
      metrics.attempts.bind({ destination: "crm", outcome }).inc(count);
    }
    for (const outcome of ["2xx", "5xx", "timeout", "429", "tls-expired", "tls"] as const) {
      metrics.requests.bind({ destination: "crm", outcome }).inc(3);
    }
  });
  const row = destinations.get("crm");
  expect([flow[FLOW_AT.accepted], flow[FLOW_AT.failed]]).toEqual([7, 3]);
  const responses = RESPONSE_CLASSES.map((name, at) => [name, row?.[AT.responses + at]]);
  const counted = responses.filter(([, count]) => count !== 0);
  expect(Object.fromEntries(counted)).toEqual({ "2xx": 3, "429": 3, "5xx": 3, timeout: 3, tls: 6 });
});

test("each cause of deliver has a place of its own, all of TLS one", () => {
  for (const cause of CAUSES) {
    const { destinations } = digested((metrics) => {
      metrics.requests.bind({ destination: "crm", outcome: cause }).inc(1);
    });
    const row = destinations.get("crm");
    const found = RESPONSE_CLASSES.filter((_, at) => row?.[AT.responses + at] === 1);
    expect(found).toEqual([cause.startsWith("tls") ? "tls" : cause]);
  }
});

test("skipped calls have a place for each reason", () => {
  const { destinations } = digested((metrics) => {
    metrics.callsSkipped.bind({ destination: "crm", reason: "filtered" }).inc(4);
    metrics.callsSkipped.bind({ destination: "crm", reason: "not-connected" }).inc(2);
    metrics.callsSkipped.bind({ destination: "crm", reason: "of another version" }).inc(9);
  });
  const row = destinations.get("crm") ?? [];
  expect(Array.from(row).slice(AT.skipped)).toEqual([2, 0, 0, 0, 0, 0, 4, 0]);
});

test("attempts are counted by duration, for destinations that /metrics does not show, too", () => {
  const { destinations } = digested((metrics) => {
    const duration = metrics.attemptDuration.bind({ destination: "crm" });
    for (const seconds of [0.001, 0.002, 0.03, 0.3, 60]) duration.observe(seconds);
  });
  const row = destinations.get("crm") ?? [];
  const buckets = Array.from(row).slice(AT.buckets, AT.skipped);
  expect(buckets).toEqual([2, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1]);
  expect(percentileMs(row, 1)).toBe(10_000);
});

test("a process that runs other stages counts no calls", () => {
  const { counts } = digested((metrics) => {
    metrics.recordsIn.bind({ stage: "delay" }).inc(5);
  });
  expect(counts[FLOW_AT.calls]).toBe(false);
  const route = digested((metrics) => {
    metrics.recordsIn.bind({ stage: "route" }).inc(5);
    metrics.callsRouted.bind({ destination: "crm" }).inc(9);
    metrics.deadLetters.bind({ stage: "route", reason: "invalid-call", destination: "" }).inc(1);
  });
  expect([...route.flow]).toEqual([5, 9, 0, 0, 1]);
});
