// The state that is kept about a destination's attempts, row by row, and its text.

import { expect, test } from "vitest";
import { DestinationHealth } from "../../../../src/router/deliver/destination-health.ts";
import { healthProblemsOf, statusOf } from "../../../../src/router/deliver/status.ts";
import type { SendResult } from "../../../../src/router/destinations/port.ts";
import {
  endpointOf,
  resultAt,
  webhookDestination,
} from "../../../support/build/webhook-destination.ts";

const A = "https://a.test/hook";
const B = "https://b.test:8443/hook";
const any = webhookDestination({ urls: [A, B] });
const every = webhookDestination({ urls: [A, B], deliver: "every" });
const NOW_MS = Date.UTC(2026, 2, 1, 9);

type Said = number | "timeout" | "skipped";

function conditionOf(destination = any) {
  const condition = new DestinationHealth(destination, NOW_MS);
  condition.own(NOW_MS);
  let attempt = 0;
  /** @param earlier how many attempts at the same delivery were made before. */
  const retried = (earlier: number, ...of: Parameters<typeof attempted>) => {
    attempt = earlier;
    attempted(...of);
    attempt = 0;
  };
  const attempted = (afterMs: number, a: Said, b?: Said) => {
    const results = [a, ...(b === undefined ? [] : [b])].map((said, at) => {
      return resultAt(endpointOf(at === 0 ? A : B).key, resultOf(said));
    });
    condition.attempted({ delivery: { attempt }, results, endedAtMs: NOW_MS + afterMs });
  };
  return { condition, attempted, retried };
}

function resultOf(said: Said): SendResult | { readonly kind: "skipped" } {
  if (said === "skipped") return { kind: "skipped" };
  if (said === "timeout") return { kind: "no-response", cause: "timeout", durationMs: 5_000 };
  return { kind: "response", status: said, retryAfter: null, durationMs: 1 };
}

/** Returns null if it is not failing, otherwise the time since which it has been failing, after `NOW_MS`. */
function failing({ condition }: ReturnType<typeof conditionOf>, afterMs: number): number | null {
  const sinceMs = condition.failingSinceMs(NOW_MS + afterMs);
  return sinceMs === null ? null : sinceMs - NOW_MS;
}

test("it fails from the first attempt that nobody accepted until enough are accepted", () => {
  const known = conditionOf();
  const { condition, attempted } = known;
  expect(failing(known, 0)).toBeNull();
  attempted(1_000, 503, "timeout");
  attempted(60_000, "timeout", 400);
  attempted(61_000, 500, 200);
  expect(failing(known, 61_000)).toBe(1_000);
  expect(condition.acceptedAtMs).toBe(NOW_MS + 61_000);
  for (let ms = 62_000; ms <= 90_000; ms += 1_000) attempted(ms, 500, 200);
  expect(failing(known, 90_000)).toBeNull();
  expect(statusOf(condition, null, [], NOW_MS + 90_000)).toMatchObject({
    state: "delivering",
    endpoints: [{ failingSince: "2026-03-01T09:00:01.000Z" }, { failingSince: null }],
  });
  attempted(91_000, 500);
  expect(failing(known, 91_000)).toBeNull();
});

test("it recovers when the delivery that failed is accepted at a retry, even if nothing follows", () => {
  for (const destination of [any, every]) {
    const known = conditionOf(destination);
    const { condition, retried } = known;
    for (const earlier of [0, 1, 2]) retried(earlier, earlier * 10_000, 503, 503);
    expect(failing(known, 29_999)).toBe(0);
    retried(3, 30_000, 200, 200);
    for (const afterMs of [30_000, 31_000, 300_000]) {
      expect(failing(known, afterMs)).toBeNull();
      const status = statusOf(condition, null, [], NOW_MS + afterMs);
      expect(status).toMatchObject({
        state: "delivering",
        failingSince: null,
        lastMinute: { failures: 0 },
        endpoints: [{ failingSince: null }, { failingSince: null }],
      });
    }
  }
});

test("one that rejects each call fails, too", () => {
  const known = conditionOf();
  known.attempted(1_000, 400, 410);
  expect(failing(known, 2_000)).toBe(1_000);
});

test("with every it fails since the endpoint that has failed for longest, whatever others do", () => {
  const known = conditionOf(every);
  const { condition, attempted } = known;
  attempted(1_000, 200, 503);
  for (let ms = 2_000; ms <= 40_000; ms += 1_000) attempted(ms, 200, "skipped");
  expect(failing(known, 40_000)).toBe(1_000);
  expect(statusOf(condition, null, [], NOW_MS + 40_000)).toMatchObject({
    lastMinute: { attempts: 1, failures: 1 },
    endpoints: [
      { failingSince: null, lastMinute: { attempts: 40, failures: 0 } },
      { failingSince: "2026-03-01T09:00:01.000Z", lastMinute: { attempts: 1, failures: 1 } },
    ],
  });
  for (let ms = 41_000; ms <= 130_000; ms += 1_000) attempted(ms, 503, "skipped");
  expect(failing(known, 130_000)).toBe(1_000);
  for (let ms = 131_000; ms <= 150_000; ms += 1_000) attempted(ms, "skipped", 200);
  expect(failing(known, 150_000)).toBe(41_000);
  for (let ms = 151_000; ms <= 170_000; ms += 1_000) attempted(ms, 200, 200);
  expect(failing(known, 170_000)).toBeNull();
});

test("while its partitions are elsewhere nothing counts; a rebalance forgets nothing", () => {
  const known = conditionOf();
  const { condition, attempted } = known;
  attempted(1_000, 503);
  condition.leave(NOW_MS + 2_000);
  expect(failing(known, 2_000)).toBeNull();
  expect(statusOf(condition, null, [], NOW_MS + 2_000).lastMinute).toEqual({
    attempts: 0,
    failures: 0,
  });
  condition.own(NOW_MS + 60_000);
  expect(failing(known, 60_000)).toBe(1_000);
  condition.leave(NOW_MS + 61_000);
  condition.own(NOW_MS + 121_001);
  expect(failing(known, 121_001)).toBeNull();
  expect(condition.endpoint(endpointOf(A).key)).toBeNull();
});

test("an endpoint that is gone is forgotten, and other settings end no failing", () => {
  const known = conditionOf();
  const { condition, attempted } = known;
  attempted(1_000, 503, 500);
  condition.update(webhookDestination({ urls: [B] }), NOW_MS + 2_000);
  expect(condition.endpoint(endpointOf(A).key)).toBeNull();
  expect(failing(known, 2_000)).toBe(1_000);
});

test("what a removed endpoint sends to a request in progress is not kept, so it cannot fail for ever", () => {
  const known = conditionOf(every);
  const { condition, attempted } = known;
  condition.update(webhookDestination({ urls: [B], deliver: "every" }), NOW_MS + 500);
  attempted(1_000, 503, 200);
  expect(condition.endpoint(endpointOf(A).key)).toBeNull();
  expect(failing(known, 2_000)).toBeNull();
});

test("paused and disabled count from the change", () => {
  const { condition } = conditionOf();
  expect(condition.still).toBeNull();
  condition.update({ ...any, paused: true }, NOW_MS + 1_000);
  condition.update({ ...any, paused: true, concurrency: 3 }, NOW_MS + 2_000);
  expect(condition.still).toMatchObject({ reason: "paused", sinceMs: NOW_MS + 1_000 });
  condition.update({ ...any, paused: true, enabled: false }, NOW_MS + 3_000);
  expect(condition.still).toMatchObject({ reason: "disabled", sinceMs: NOW_MS + 3_000 });
});

test.each([
  ["idle", [], null],
  ["delivering", [[200, 503]], null],
  ["failing", [[503, 503]], null],
  ["on-hold", [[200]], { reason: "paused", sinceMs: NOW_MS, untilMs: null }],
] as const)("state %s", (state, attempts, hold) => {
  const { condition, attempted } = conditionOf();
  for (const [a, b] of attempts) attempted(1_000, a, b);
  expect(statusOf(condition, hold, [], NOW_MS + 2_000).state).toBe(state);
});

test.each([
  ["not-owned", null],
  ["not-owned", { reason: "circuit-open", sinceMs: NOW_MS, untilMs: NOW_MS + 9_000 }],
  ["on-hold", { reason: "paused", sinceMs: NOW_MS, untilMs: null }],
] as const)("state %s of a process whose partitions have gone", (state, hold) => {
  const { condition, attempted } = conditionOf();
  attempted(1_000, 200, 200);
  condition.leave(NOW_MS + 2_000);
  const status = statusOf(condition, hold, [], NOW_MS + 2_000);
  expect(status).toMatchObject({ state, partitions: 0, lastAcceptedAt: expect.any(String) });
  expect(status.hold === null).toBe(state === "not-owned");
});

test("the status says outcomes by name, and of a URL only the origin", () => {
  const { condition, attempted } = conditionOf();
  attempted(1_000, 503, "timeout");
  const [a, b] = [endpointOf(A), endpointOf(B)];
  const hold = { reason: "circuit-open", sinceMs: NOW_MS + 500, untilMs: NOW_MS + 9_000 } as const;
  const gates = [
    { key: a.key, breaker: "open", unavailable: hold },
    { key: b.key, breaker: "half-open", unavailable: null },
  ] as const;
  const last = { at: "2026-03-01T09:00:01.000Z", outcome: "retry" } as const;
  expect(statusOf(condition, hold, gates, NOW_MS + 2_000)).toEqual({
    id: "crm",
    state: "on-hold",
    failingSince: "2026-03-01T09:00:01.000Z",
    lastMinute: { attempts: 1, failures: 1 },
    hold: {
      reason: "circuit-open",
      since: "2026-03-01T09:00:00.500Z",
      until: "2026-03-01T09:00:09.000Z",
    },
    lastAcceptedAt: null,
    last: { ...last, cause: "503", endpoint: "crm[1] a.test" },
    partitions: 1,
    endpoints: [
      {
        name: "crm[1] a.test",
        id: "1",
        origin: "https://a.test",
        circuit: "open",
        failingSince: "2026-03-01T09:00:01.000Z",
        lastMinute: { attempts: 1, failures: 1 },
        unavailable: {
          reason: "circuit-open",
          since: "2026-03-01T09:00:00.500Z",
          until: "2026-03-01T09:00:09.000Z",
        },
        last: { ...last, cause: "503" },
      },
      {
        name: "crm[2] b.test:8443",
        id: "2",
        origin: "https://b.test:8443",
        circuit: "half-open",
        failingSince: "2026-03-01T09:00:01.000Z",
        lastMinute: { attempts: 1, failures: 1 },
        unavailable: null,
        last: { ...last, cause: "timeout" },
      },
    ],
  });
});

test("of endpoints that responded together, the one that decided is the last outcome", () => {
  const one = conditionOf(any);
  one.attempted(1_000, 503, 200);
  expect(statusOf(one.condition, null, [], NOW_MS + 2_000).last).toMatchObject({ cause: "200" });
  const other = conditionOf(every);
  other.attempted(1_000, 200, 410);
  expect(statusOf(other.condition, null, [], NOW_MS + 2_000).last).toMatchObject({
    cause: "410",
    outcome: "rejected",
    endpoint: "crm[2] b.test:8443",
  });
});

test("the health of a destination names its endpoints that are gone", () => {
  const { condition } = conditionOf();
  const [a, b] = [endpointOf(A), endpointOf(B)];
  const unavailable = { reason: "gone", sinceMs: NOW_MS, untilMs: null } as const;
  const gates = [
    { key: a.key, breaker: "closed", unavailable },
    { key: b.key, breaker: "closed", unavailable: null },
  ] as const;
  expect(healthProblemsOf(condition, gates, null)).toEqual([
    "endpoint crm[1] a.test responded 410 at 2026-03-01T09:00:00.000Z, and gets no more requests",
  ]);
});
