// The data about a destination from Kafka, the file and the processes, combined row by row.

import { expect, test } from "vitest";
import type {
  DestinationStatus,
  EndpointStatus,
} from "../../../../src/domain/destination-status.ts";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import {
  destinationTable,
  endpointTable,
  stateText,
} from "../../../../src/operator/look/destination-text.ts";
import { nextAttemptAt, stateOf } from "../../../../src/operator/look/destinations.ts";
import {
  bySeverity,
  type EndpointReport,
  isFailing,
  severityOf,
} from "../../../../src/operator/look/status-report.ts";
import { destinationReport } from "../../../support/build/status-report.ts";
import { endpointOf, webhookDestination } from "../../../support/build/webhook-destination.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

const A = "https://a.test/hook";
const B = "https://b.test/hook";
const crm = webhookDestination({ urls: [A, B] });
const NOW_MS = Date.UTC(2026, 2, 1, 10);
const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 9, minute)).toISOString();

const NONE = { attempts: 0, failures: 0 };

function endpoint(url: string, given: Partial<EndpointStatus> = {}): EndpointStatus {
  const { key } = endpointOf(url);
  const known = { name: `crm[1] ${new URL(url).host}`, id: key, origin: new URL(url).origin };
  const none = { failingSince: null, lastMinute: NONE, unavailable: null, last: null };
  return { ...known, circuit: "closed", ...none, ...given };
}

function reported(given: Partial<DestinationStatus> = {}): DestinationStatus {
  return {
    id: "crm" as DestinationId,
    state: "delivering",
    failingSince: null,
    lastMinute: NONE,
    hold: null,
    lastAcceptedAt: null,
    last: null,
    partitions: 2,
    endpoints: [],
    ...given,
  };
}

const hold = { reason: "circuit-open", since: at(20), until: at(59) } as const;

test.each([
  ["nobody was asked", [], null],
  ["nobody owns its partitions", [reported({ partitions: 0, state: "failing" })], null],
  ["all deliver", [reported(), reported()], "delivering"],
  ["one has not tried", [reported({ state: "idle" }), reported()], "delivering"],
  ["none has tried", [reported({ state: "idle" })], "idle"],
  ["one fails", [reported(), reported({ state: "failing", failingSince: at(5) })], "failing"],
  [
    "one is on hold",
    [reported({ state: "failing" }), reported({ state: "on-hold", hold })],
    "on-hold",
  ],
])("%s", (_case, processes, state) => {
  expect(stateOf(crm, processes).state).toBe(state);
});

test("blocked users of all owners are added up, and shown with the state", () => {
  const order = { blockedUsers: 1, waitingDeliveries: 3 };
  const gone = reported({ partitions: 0, order });
  const state = stateOf(crm, [reported({ order }), reported({ order }), gone]);
  expect(state.order).toEqual({ blockedUsers: 2, waitingDeliveries: 6 });
  expect(stateOf(crm, [reported()])).not.toHaveProperty("order");
  const text = (given: typeof order) =>
    destinationTable(
      [destinationReport({ state: "delivering", order: given })],
      NOW_MS,
      fakeShell().colors,
    );
  expect(text(order)).toMatch(/ delivering; 1 user blocked, 3 deliveries waiting\n$/);
  expect(text({ blockedUsers: 0, waitingDeliveries: 0 })).toMatch(/ delivering\n$/);
});

test("of several processes the earliest time, and how many of them say so", () => {
  const processes = [
    reported({ state: "failing", failingSince: at(9), lastAcceptedAt: at(8) }),
    reported({ state: "on-hold", hold, failingSince: at(5), lastAcceptedAt: at(4) }),
    reported(),
  ];
  expect(stateOf(crm, processes)).toMatchObject({
    state: "on-hold",
    failingSince: at(5),
    hold,
    processes: { owning: 3, onHold: 1, failing: 2 },
    lastAcceptedAt: at(8),
  });
});

test("the share of failed attempts is that of all processes that own partitions", () => {
  const lastMinute = (failures: number, attempts: number) => ({
    lastMinute: { attempts, failures },
    endpoints: [endpoint(A, { lastMinute: { attempts, failures } })],
  });
  const share = (...all: readonly Partial<DestinationStatus>[]) => {
    const { failedShare, endpoints } = stateOf(crm, all.map(reported));
    return [failedShare, endpoints[0]?.failedShare];
  };
  expect(share(lastMinute(1, 2), lastMinute(60, 98))).toEqual([0.61, 0.61]);
  expect(share(lastMinute(1, 4), { ...lastMinute(9, 9), partitions: 0 })).toEqual([0.25, 0.25]);
  expect(share(lastMinute(0, 4))).toEqual([0, 0]);
  expect(share(lastMinute(0, 0))).toEqual([null, null]);
  expect(share()).toEqual([null, null]);
});

test("a process that attempted nothing for a minute is not failing if all attempts of others were accepted", () => {
  const failed = { state: "failing", failingSince: at(5) } as const;
  const state = (silent: Partial<DestinationStatus>, other: Partial<DestinationStatus>) => {
    const processes = [reported({ ...failed, ...silent }), reported(other)];
    const { state: found, failingSince } = stateOf(crm, processes);
    return [found, failingSince];
  };
  const fine = { lastMinute: { attempts: 3, failures: 0 } };
  expect(state({}, fine)).toEqual(["delivering", null]);
  expect(state({}, {})).toEqual(["failing", at(5)]);
  expect(state(fine, fine)).toEqual(["failing", at(5)]);
  expect(state({}, { lastMinute: { attempts: 3, failures: 1 } })).toEqual(["failing", at(5)]);
});

test("the last outcome is the latest of all processes", () => {
  const last = (minute: number, cause: string) =>
    ({ at: at(minute), outcome: "retry", cause, endpoint: "crm[1] a.test" }) as const;
  const processes = [reported({ last: last(7, "503") }), reported({ last: last(9, "timeout") })];
  expect(stateOf(crm, processes).last).toEqual(last(9, "timeout"));
});

test("paused or disabled by the file is so without a process", () => {
  const paused = webhookDestination({ paused: true });
  expect(stateOf(paused, [])).toMatchObject({
    state: "on-hold",
    hold: { reason: "paused", since: null, until: null },
  });
});

test("a pause by an operator counts if no owner reports", () => {
  const pause = { destination: crm.id, sinceMs: Date.parse(at(8)), by: "command", untilMs: null };
  const hold = { reason: "paused", since: at(8), until: null, by: "command" };
  expect(stateOf(crm, [], pause)).toMatchObject({ state: "on-hold", hold });
  expect(stateOf(crm, [reported({ partitions: 0 })], pause)).toMatchObject({ hold });
  // The owner has not read the pause yet, or has read that the destination was resumed.
  expect(stateOf(crm, [reported()], pause)).toMatchObject({ state: "delivering", hold: null });
  expect(stateOf(webhookDestination({ enabled: false }), [], pause).hold?.reason).toBe("disabled");
  expect(stateOf(null, [], pause).hold).toBeNull();
});

test("an endpoint is as bad as the worst process says; one that only the file has is not known", () => {
  const C = "https://c.test/";
  const open = { reason: "circuit-open", since: at(9), until: at(59) } as const;
  const asks = { reason: "retry-after", since: at(9), until: at(58) } as const;
  const gone = { reason: "gone", since: at(8), until: null } as const;
  const one = reported({
    endpoints: [
      endpoint(A, { circuit: "recovering", failingSince: at(9), unavailable: asks }),
      endpoint(C, { unavailable: gone }),
    ],
  });
  const two = reported({
    endpoints: [endpoint(A, { circuit: "open", unavailable: open }), endpoint(C)],
  });
  expect(stateOf(crm, [one, two]).endpoints).toMatchObject([
    {
      name: "crm[1] a.test",
      circuit: "open",
      failingSince: at(9),
      unavailable: open,
    },
    { name: "crm[2] b.test", circuit: null, last: null },
    { id: endpointOf(C).key, circuit: "closed", unavailable: gone },
  ]);
});

const soon = NOW_MS + 5_000;
const until = new Date(NOW_MS + 30_000).toISOString();
const byBreaker = { hold: { reason: "circuit-open", since: at(1), until } } as const;

test.each([
  ["nothing waits", { hold: null }, 0, null, null],
  ["a queue that proceeds", { hold: null }, 3, soon, NOW_MS],
  ["one that awaits retry", { hold: null }, 0, soon, soon],
  ["on hold", byBreaker, 3, null, NOW_MS + 30_000],
  ["on hold, and one that awaits retry", byBreaker, 3, soon, soon],
  ["on hold with an empty queue", byBreaker, 0, null, null],
  ["one that is overdue", { hold: null }, 0, NOW_MS - 5_000, NOW_MS],
  ["a pause", { hold: { reason: "paused", since: at(1), until: null } }, 3, soon, null],
] as const)("next attempt: %s", (_case, state, waiting, dueMs, expected) => {
  const next = nextAttemptAt(state, waiting, dueMs, NOW_MS);
  expect(next).toBe(expected === null ? null : new Date(expected).toISOString());
});

function endpointReport(given: Partial<EndpointStatus> = {}): EndpointReport {
  return { ...endpoint(A, given), failedShare: null };
}

const PROBLEMS = [
  destinationReport({ destination: "h", halted: [{ topic: "t", partition: 0, offset: 1 }] }),
  destinationReport({ destination: "b", hold, state: "on-hold", waiting: 10 }),
  destinationReport({ destination: "f", failingSince: at(1), waiting: 5 }),
  destinationReport({ destination: "e", endpoints: [endpointReport({ failingSince: at(1) })] }),
  destinationReport({ destination: "p", hold: { reason: "paused", since: at(1), until: null } }),
  destinationReport({ destination: "d", hold: { reason: "disabled", since: null, until: null } }),
  destinationReport({ destination: "u", waiting: 7 }),
  destinationReport({ destination: "o", state: "delivering", waiting: 9_000 }),
  destinationReport({ destination: "q", state: "delivering" }),
];

test("destinations with a problem come first, of those the longer queues", () => {
  expect(PROBLEMS.map(severityOf)).toEqual([0, 1, 1, 2, 3, 4, 5, 6, 6]);
  const sorted = bySeverity(PROBLEMS.toReversed());
  expect(sorted.map(({ destination }) => destination).join("")).toBe("hbfepduoq");
});

test("--failing omits those that somebody paused or disabled, and those without problem", () => {
  const shown = PROBLEMS.filter(isFailing).map(({ destination }) => destination);
  expect(shown).toEqual(["h", "b", "f", "e"]);
});

const LAST = {
  accepted: { at: at(9), outcome: "accepted", cause: "200", endpoint: "crm[1] a.test" },
  rejected: { at: at(9), outcome: "rejected", cause: "401", endpoint: "crm[1] a.test" },
  retry: { at: at(9), outcome: "retry", cause: "503", endpoint: "crm[1] a.test" },
} as const;

test.each([
  ["accepting", LAST.accepted],
  ["rejecting", LAST.rejected],
  ["last attempt failed", LAST.retry],
] as const)("an endpoint that is not failing is %s", (text, last) => {
  const report = destinationReport({ endpoints: [endpointReport({ last })] });
  const shown = endpointTable([report], NOW_MS, fakeShell().colors);
  expect(shown.trimEnd().endsWith(text)).toBe(true);
});

const FAILS = { state: "failing", failingSince: at(5) } as const;
const ofTwo = (failing: number) => ({ processes: { owning: 2, onHold: 0, failing } });
const RETRY_AFTER = { ...hold, reason: "retry-after" } as const;
const ALL_HOLD = { processes: { owning: 2, onHold: 2, failing: 0 } };
const DISABLED = { reason: "disabled", since: null, until: null } as const;
const LONG_AGO = "2026-02-27T09:05:00.000Z";

test.each([
  [{ state: null }, "-"],
  [{ state: "delivering" }, "delivering"],
  [{ ...FAILS, ...ofTwo(2) }, "failing since 09:05:00"],
  [{ ...FAILS, ...ofTwo(1) }, "failing since 09:05:00 (1 of 2 processes)"],
  [{ state: "on-hold", hold: RETRY_AFTER, ...ALL_HOLD }, "on hold since 09:20:00: Retry-After"],
  [
    { ...FAILS, state: "on-hold", hold },
    "on hold since 09:20:00: circuit open, failing since 09:05:00",
  ],
  [
    { ...FAILS, failedShare: 0.664, ...ofTwo(1) },
    "failing since 09:05:00: 66 % of attempts in the last minute (1 of 2 processes)",
  ],
  [
    { ...FAILS, failedShare: 0, ...ofTwo(2) },
    "failing since 09:05:00: recovering, no attempt failed in the last minute",
  ],
  [{ state: "delivering", failedShare: 0.15 }, "delivering"],
  [{ state: "delivering", last: LAST.accepted }, "delivering"],
  [{ state: "delivering", last: LAST.rejected }, "delivering, but the last attempt was rejected"],
  [{ state: "delivering", last: LAST.retry }, "delivering, but the last attempt failed"],
  [{ state: "on-hold", hold: DISABLED }, "on hold: disabled"],
  [{ ...FAILS, failingSince: LONG_AGO }, "failing since 2026-02-27 09:05:00"],
] as const)("state %#", (given, text) => {
  expect(stateText(destinationReport(given), NOW_MS)).toBe(text);
});

test("a thousand destinations: the worst are shown, and endpoints of those that fail alone", () => {
  const many = Array.from({ length: 1_000 }, (_, number) => {
    const isBad = number === 7;
    const circuit = isBad ? "open" : "closed";
    const endpoints = [endpointReport({ name: `d-${number}[1] a.test`, circuit })];
    return destinationReport({ destination: `d-${number}`, state: "delivering", endpoints });
  });
  const { colors } = fakeShell();
  const lines = destinationTable(bySeverity(many), NOW_MS, colors).trimEnd().split("\n");
  expect(lines[1]).toContain("d-7 ");
  expect(lines).toHaveLength(102);
  expect(lines.at(-1)).toBe(
    "900 more destinations, 0 failing or on hold. --destination <id> shows one of them, and --json shows all.",
  );
  const shown = endpointTable(many, NOW_MS, colors).trimEnd().split("\n");
  expect(shown).toHaveLength(2);
  expect(shown[1]).toContain("d-7[1] a.test");
});
