// The table of expiring.ts.

import { expect, test } from "vitest";

import { type OperatorEvent, operatorEvent } from "../../../../src/operator/events/event.ts";
import { expiringWriting, newlyExpiring } from "../../../../src/operator/events/expiring.ts";

const T = Date.UTC(2026, 2, 1, 9, 30);
const HOUR_MS = 3_600_000;
const WINDOW_MS = 4 * HOUR_MS;
const SOURCE = "/switchyard/sw.";

function ago(hours: number, kind: OperatorEvent["kind"]): OperatorEvent {
  return operatorEvent(SOURCE, kind, "crm", T - hours * HOUR_MS, {});
}

function reported(...events: readonly OperatorEvent[]) {
  const keys: Partial<Record<OperatorEvent["kind"], string>> = {
    "destination.recovered": "destination.failing",
    "destination.resumed": "destination.paused",
  };
  return new Map(events.map((each) => [`${keys[each.kind] ?? each.kind}/crm`, each]));
}

const EXPIRING = "deliveries.expiring";
const FAILING = "destination.failing";
const RECOVERED = "destination.recovered";
const PAUSED = "destination.paused";
const EARLIER = ago(9, EXPIRING);
const NEAR_MS = T - 3 * HOUR_MS;

test.each<[string, number, ReturnType<typeof reported>, boolean]>([
  ["not near its end", NEAR_MS + 1, reported(), false],
  ["near its end", NEAR_MS, reported(), true],
  ["past its end", T - 5 * HOUR_MS, reported(), true],
  ["near, attempted before it was reported", NEAR_MS, reported(ago(2, EXPIRING)), false],
  ["near, attempted after it was reported", NEAR_MS, reported(EARLIER), true],
  ["the same, and it fails since before", NEAR_MS, reported(EARLIER, ago(12, FAILING)), false],
  ["the same, and it is paused since before", NEAR_MS, reported(EARLIER, ago(12, PAUSED)), false],
  ["the same, and it has recovered meanwhile", NEAR_MS, reported(EARLIER, ago(8, RECOVERED)), true],
  ["the same, and it fails since then", NEAR_MS, reported(EARLIER, ago(4, FAILING)), true],
])("%s", (_name, firstAttemptAtMs, known, isReported) => {
  const found = newlyExpiring(new Map([["crm", firstAttemptAtMs]]), WINDOW_MS, known, T);
  expect(found).toEqual(isReported ? [{ destination: "crm", firstAttemptAtMs }] : []);
});

test("those that are not reported by name belong to no destination", () => {
  expect(newlyExpiring(new Map([["", NEAR_MS]]), WINDOW_MS, reported(), T)).toEqual([]);
});

test.each([
  [{ deliveries: 7, isLowerBound: false }, {}],
  [{ deliveries: 7, isLowerBound: true }, { isLowerBound: true }],
])("%j: it says how many, the first end, and until when", (expiring, more) => {
  const nearing = { destination: "crm", firstAttemptAtMs: NEAR_MS };
  const { key, event: written } = expiringWriting(nearing, expiring, WINDOW_MS, SOURCE, T);
  expect(key).toBe("deliveries.expiring/crm");
  expect(written).toMatchObject({
    kind: "deliveries.expiring",
    subject: "crm",
    time: "2026-03-01T09:30:00.000Z",
  });
  expect(written?.data).toEqual({
    ...{ count: 7, ...more },
    firstExpiresAt: "2026-03-01T10:30:00.000Z",
    before: "2026-03-01T10:30:00.000Z",
  });
});
