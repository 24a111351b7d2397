import { expect, test } from "vitest";
import { createMetrics } from "../../../../../src/base/telemetry/instruments.ts";
import { AT, digest, FLOW_AT, percentileMs } from "../../../../../src/operator/console/counters.ts";
import { RESPONSE_CLASSES } from "../../../../../src/operator/console/view.ts";
import { CAUSES } from "../../../../../src/router/destinations/port.ts";

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
  expect(Array.from(row).slice(AT.skipped)).toEqual([2, 0, 0, 0, 0, 0, 4]);
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
