// The events that a process may report, according to its own status.

import { expect, test } from "vitest";

import type { DestinationStatus } from "../../../../src/domain/destination-status.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import { observationsOf } from "../../../../src/operator/events/observations.ts";

const T = Date.UTC(2026, 2, 1, 9, 30);
const AGO = (ms: number) => new Date(T - ms).toISOString();
const STATUS: DestinationStatus = {
  id: "crm" as DestinationId,
  state: "delivering",
  failingSince: null,
  lastMinute: { attempts: 0, failures: 0 },
  hold: null,
  lastAcceptedAt: null,
  last: null,
  partitions: 2,
  endpoints: [],
};

const LAST = { at: AGO(1), endpoint: "crm[1] a.test" } as const;

function seen(more: Partial<DestinationStatus>) {
  const destinations = [{ ...STATUS, ...more }];
  const [failing, paused, token, proxy, gone] = observationsOf(
    { destinations, audiences: [], refused: null, wasRefused: false },
    T,
  );
  return { failing, paused, token, proxy, gone };
}

test.each<[Partial<DestinationStatus>, string]>([
  [{ failingSince: AGO(60_000) }, "so"],
  [{ failingSince: AGO(59_999) }, "unknown"],
  [{ lastAcceptedAt: AGO(1) }, "not-so"],
  [{}, "unknown"],
  [{ failingSince: AGO(90_000), lastAcceptedAt: AGO(90_001) }, "so"],
  [{ failingSince: AGO(90_000), last: { ...LAST, outcome: "rejected", cause: "401" } }, "so"],
  [{ failingSince: AGO(90_000), last: { ...LAST, outcome: "accepted", cause: "200" } }, "unknown"],
])("%j: failing is %s", (more, is) => {
  expect(seen(more).failing).toMatchObject({ kind: "destination.failing", subject: "crm", is });
});

test("it says what the last response was, by names that hold nothing secret", () => {
  const last = { at: AGO(1), outcome: "retry", cause: "503", endpoint: "crm[1] a.test" } as const;
  expect(seen({ failingSince: AGO(90_000), last }).failing).toMatchObject({
    sinceMs: T - 90_000,
    data: { endpoint: "crm[1] a.test", cause: "503" },
  });
});

test.each<[DestinationStatus["hold"], string]>([
  [{ reason: "token", since: AGO(10_000), until: null, error: "No token" }, "so"],
  [{ reason: "token", since: AGO(9_999), until: null }, "unknown"],
  [{ reason: "paused", since: AGO(60_000), until: null }, "unknown"],
  [{ reason: "disabled", since: AGO(60_000), until: null }, "unknown"],
  [{ reason: "circuit-open", since: AGO(60_000), until: null }, "not-so"],
  [null, "not-so"],
])("on hold by %j: token missing is %s", (hold, is) => {
  const { token } = seen({ hold: hold });
  expect(token).toMatchObject({ kind: "destination.token_missing", subject: "crm", is });
  expect(token?.data).toEqual(hold?.error === undefined ? {} : { error: "No token" });
});

test.each<[DestinationStatus["hold"], string, string]>([
  [{ reason: "proxy", since: AGO(10_000), until: AGO(1), error: "The proxy" }, "so", "not-so"],
  [{ reason: "proxy", since: AGO(9_999), until: null }, "unknown", "not-so"],
  [{ reason: "gone", since: AGO(0), until: null }, "not-so", "so"],
  [{ reason: "paused", since: AGO(60_000), until: null }, "unknown", "unknown"],
  [null, "not-so", "not-so"],
])("on hold by %j: proxy failed is %s, endpoints gone is %s", (hold, failed, isGone) => {
  const { proxy, gone } = seen({ hold });
  expect(proxy).toMatchObject({ kind: "destination.proxy_failed", subject: "crm", is: failed });
  expect(gone).toMatchObject({ kind: "destination.endpoints_gone", subject: "crm", is: isGone });
  const error = hold?.error === undefined ? {} : { error: hold.error };
  expect([proxy?.data, gone?.data]).toEqual([error, {}]);
});

test.each<[DestinationStatus["hold"], string]>([
  [{ reason: "paused", since: AGO(5), until: null }, "so"],
  [{ reason: "circuit-open", since: AGO(5), until: null }, "not-so"],
  [{ reason: "disabled", since: AGO(5), until: null }, "not-so"],
  [null, "not-so"],
])("on hold by %j: paused is %s", (hold, is) => {
  expect(seen({ hold: hold }).paused).toMatchObject({ kind: "destination.paused", is });
});

test.each([
  [{ sinceMs: T - 5, problems: ["a: b"] }, false, "so"],
  [null, true, "not-so"],
  [null, false, "unknown"],
] as const)("refused %j, before %s: %s", (refused, wasRefused, is) => {
  const [only] = observationsOf({ destinations: [], audiences: [], refused, wasRefused }, T);
  expect(only).toMatchObject({ kind: "configuration.invalid", is });
});

test.each([
  [{ syncId: "s1", removals: 9, sinceMs: T - 5 }, "so", { sync: "s1", removals: 9 }],
  [null, "not-so", {}],
] as const)("an audience with %j awaiting approval: %s", (awaitingApproval, is, data) => {
  const seenThen = {
    destinations: [],
    audiences: [{ id: "vip", awaitingApproval }],
    refused: null,
  };
  const [only] = observationsOf({ ...seenThen, wasRefused: false }, T);
  expect(only).toMatchObject({ kind: "audience.approval_required", subject: "vip", is, data });
});
