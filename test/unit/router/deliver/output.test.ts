// The table of outputs in decide.ts, row by row.

import { expect, test } from "vitest";

import { allRejected, expired, scheduleRetry } from "../../../../src/router/deliver/decide.ts";
import { deliveryOf } from "../../../support/build/webhook-destination.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const POLICY = { retryDelaysMs: [10_000], retryWindowMs: 14_400_000 };

test.each([
  ["none", null, null],
  ["one before it is due", NOW_MS + 9_999, null],
  ["one at that time", NOW_MS + 10_000, null],
  ["one beyond that", NOW_MS + 10_001, NOW_MS + 10_001],
])(
  "scheduleRetry counts, is due after its delay, and of a not-before keeps: %s",
  (_name, asked, kept) => {
    const delivery = deliveryOf({ attempt: 1, retryCount: 1 });
    expect(scheduleRetry(delivery, 10_000, asked, NOW_MS)).toEqual({
      kind: "retry",
      delayMs: 10_000,
      delivery: { ...delivery, retryCount: 2, dueAtMs: NOW_MS + 10_000, notBeforeMs: kept },
    });
  },
);

test.each([
  [1, null, null, "not accepted within 14400 s, in 1 attempt"],
  [3, "a=503", null, "not accepted within 14400 s, in 3 attempts; the last attempt: a=503"],
  [
    3,
    "a=503",
    "paused",
    "not accepted within 14400 s, in 3 attempts; the next attempt was due, but the destination " +
      "was paused; the last attempt: a=503",
  ],
] as const)(
  "expired after %i attempts, the last one %s, waited: %s",
  (attempt, lastOutcome, waited, error) => {
    const delivery = deliveryOf({ attempt, lastOutcome });
    expect(expired(delivery, POLICY, waited)).toEqual({
      kind: "dead-letter",
      reason: "expired",
      error,
      delivery,
      ...(waited === null ? {} : { waited }),
    });
  },
);

test("all rejected says what the last one responded", () => {
  const delivery = deliveryOf({ attempt: 1, lastOutcome: "a=404" });
  expect(allRejected(delivery)).toEqual({
    kind: "dead-letter",
    reason: "rejected",
    error: "every endpoint rejected it; the last attempt: a=404",
    delivery,
  });
});
