// The response of a process, which may have another version.

import { expect, test } from "vitest";
import { readStatus } from "../../../../src/operator/connect/read-status.ts";
import { DestinationHealth } from "../../../../src/router/deliver/destination-health.ts";
import { statusOf } from "../../../../src/router/deliver/status.ts";
import { resultAt, webhookDestination } from "../../../support/build/webhook-destination.ts";

test("what a process of this version says is read whole", () => {
  const crm = webhookDestination({ urls: ["https://a.test/", "https://b.test/"] });
  const condition = new DestinationHealth(crm, 0);
  condition.own(0);
  const [a] = crm.endpoints;
  const result = { kind: "no-response", cause: "timeout", durationMs: 5_000 } as const;
  condition.attempted({
    delivery: { attempt: 0 },
    results: a ? [resultAt(a.key, result)] : [],
    endedAtMs: 1_000,
  });
  const hold = { reason: "retry-after", sinceMs: 1_000, untilMs: 5_000 } as const;
  const said = {
    version: "1.2.3",
    node: "v24.0.0",
    startedAt: "2026-03-01T08:00:00.000Z",
    stages: [{ name: "deliver", partitions: { "deliveries.crm": [0, 1] } }],
    configuration: { hash: "0011aabbccdd", appliedAt: "2026-03-01T08:00:00.000Z" },
    unreachableBrokers: [
      { broker: "k:1", since: "2026-03-01T08:00:00.000Z", error: "no response" },
    ],
    destinations: [
      statusOf(condition, hold, [], 2_000, { blockedUsers: 2, waitingDeliveries: 31 }),
    ],
    earlier: { agoMs: 45_000, metrics: { switchyard_x: [{ labels: { a: "b" }, value: 1 }] } },
    metrics: {
      switchyard_delivery_attempts_total: [
        { labels: { destination: "crm", outcome: "retry" }, value: 1 },
      ],
      switchyard_delivery_attempt_duration_seconds: [
        { labels: { destination: "crm" }, value: 1, buckets: [0, 1] },
      ],
    },
  };
  expect(readStatus(JSON.stringify(said))).toEqual(said);
});

test.each([["no JSON"], ["null"], ["[]"], ['"x"'], ["{}"], ['{"version":1}']])(
  "%s is no status",
  (text) => {
    expect(readStatus(text)).toBe(null);
  },
);

test("words of another version count as not known, and spoil nothing else", () => {
  const strange = {
    version: "9.0.0",
    metrics: { a: 5, b: [{ labels: { x: 5 }, value: "none", buckets: "all" }] },
    stages: [
      { name: "dreaming", partitions: {} },
      { name: "route", partitions: { calls: "all" } },
      7,
    ],
    destinations: [
      { id: "a", state: "levitating" },
      {
        id: "b",
        state: "on-hold",
        hold: { reason: "gravity" },
        endpoints: [{ name: "b[1] x" }, null],
      },
      {
        id: "c",
        state: "failing",
        failingSince: "soon",
        last: { at: 5 },
        partitions: "two",
        lastMinute: 5,
      },
    ],
  };
  expect(readStatus(JSON.stringify(strange))).toMatchObject({
    version: "9.0.0",
    metrics: { a: [], b: [{ labels: { x: "" }, value: 0, buckets: [] }] },
    stages: [{ name: "route", partitions: { calls: [] } }],
    configuration: { hash: "", appliedAt: null },
    unreachableBrokers: [],
    destinations: [
      { id: "b", state: "on-hold", hold: null, endpoints: [] },
      {
        ...{ id: "c", state: "failing", failingSince: null, last: null, partitions: 0 },
        lastMinute: { attempts: 0, failures: 0 },
      },
    ],
  });
});
