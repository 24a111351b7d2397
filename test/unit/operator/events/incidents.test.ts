// Which operator events are written: each row of the tables.

import { expect, test } from "vitest";

import { eventText, operatorEvent, readEvent } from "../../../../src/operator/events/event.ts";
import {
  type Observation,
  OUTAGE_KEY,
  outageWriting,
  writings,
} from "../../../../src/operator/events/incidents.ts";

const T = Date.UTC(2026, 2, 1, 9, 30);
const SOURCE = "/switchyard/sw.";
const OF = { is: "so", sinceMs: T } as const;
const FAILING: Observation = {
  ...OF,
  ...{ kind: "destination.failing", subject: "crm", data: { cause: "503" } },
};
const AWAITING: Observation = {
  ...OF,
  ...{ kind: "audience.approval_required", subject: "vip", data: { sync: "s2" } },
};
const REFUSED: Observation = {
  ...OF,
  ...{ kind: "configuration.invalid", subject: "configuration", data: { problems: ["x"] } },
};

function reported(...events: readonly ReturnType<typeof operatorEvent>[]) {
  return new Map(events.map((event) => [`${event.kind}/${event.subject}`, event]));
}

const OPEN = operatorEvent(SOURCE, "destination.failing", "crm", T - 9_000, {});
/** The events, by the key of the incident that they end. */
const ENDED = new Map([
  ["destination.failing/crm", operatorEvent(SOURCE, "destination.recovered", "crm", T - 1, {})],
]);
const OPEN_REFUSED = operatorEvent(SOURCE, "configuration.invalid", "configuration", T - 9_000, {});

const syncReported = (sync: string) =>
  operatorEvent(SOURCE, "audience.approval_required", "vip", T - 9, { sync });

function kindsOf(observation: Observation, known: ReturnType<typeof reported>) {
  return writings([observation], known, SOURCE).map(({ event }) => event?.kind ?? null);
}

test.each<[string, Observation, ReturnType<typeof reported>, readonly (string | null)[]]>([
  ["not open, so", FAILING, reported(), ["destination.failing"]],
  ["ended before, so again", FAILING, ENDED, ["destination.failing"]],
  ["not open, not so", { ...FAILING, is: "not-so" }, reported(), []],
  ["ended before, not so", { ...FAILING, is: "not-so" }, ENDED, []],
  ["open, so", FAILING, reported(OPEN), []],
  ["open, not so", { ...FAILING, is: "not-so" }, reported(OPEN), ["destination.recovered"]],
  ["open, of another", { ...FAILING, subject: "x" }, reported(OPEN), ["destination.failing"]],
  [
    "open, not so, no event for the end",
    { ...REFUSED, is: "not-so" },
    reported(OPEN_REFUSED),
    [null],
  ],
  ["awaiting approval, and its sync was reported", AWAITING, reported(syncReported("s2")), []],
  [
    "awaiting approval, and another sync was reported",
    AWAITING,
    reported(syncReported("s1")),
    ["audience.approval_required"],
  ],
  [
    "not awaiting approval any more",
    { ...AWAITING, is: "not-so", data: {} },
    reported(syncReported("s1")),
    [null],
  ],
  ["not open, nothing that counts", { ...FAILING, is: "unknown" }, reported(), []],
  ["open, nothing that counts", { ...FAILING, is: "unknown" }, reported(OPEN), []],
])("%s", (_name, observation, known, kinds) => {
  expect(kindsOf(observation, known)).toEqual(kinds);
});

test("begin and end are under one key, and the end says since when it was so", () => {
  const [begin] = writings([FAILING], reported(), SOURCE);
  const [end] = writings([{ ...FAILING, is: "not-so", sinceMs: T + 5 }], reported(OPEN), SOURCE);
  expect(begin?.key).toBe("destination.failing/crm");
  expect(end?.key).toBe(begin?.key);
  expect(end?.event).toMatchObject({
    time: "2026-03-01T09:30:00.005Z",
    data: { since: OPEN.time },
  });
});

test("an incident has the same id whichever process reports it", () => {
  const [one] = writings([FAILING], reported(), SOURCE);
  const [other] = writings([{ ...FAILING, data: { cause: "timeout" } }], reported(), SOURCE);
  const [later] = writings([{ ...FAILING, sinceMs: T + 1 }], reported(), SOURCE);
  expect(one?.event?.id).toBe(other?.event?.id);
  expect(one?.event?.id).not.toBe(later?.event?.id);
});

test("an outage is reported once: another process's that overlaps it is the same", () => {
  const outage = { sinceMs: T, untilMs: T + 90_000 };
  const first = outageWriting(outage, new Map(), SOURCE);
  expect(first).toMatchObject({
    key: OUTAGE_KEY,
    event: { kind: "kafka.unreachable", data: { until: "2026-03-01T09:31:30.000Z" } },
  });
  const known = first?.event ? new Map([[OUTAGE_KEY, first.event]]) : new Map();
  expect(outageWriting({ sinceMs: T + 3_000, untilMs: T + 92_000 }, known, SOURCE)).toBeNull();
  expect(
    outageWriting({ sinceMs: T + 95_000, untilMs: T + 200_000 }, known, SOURCE),
  ).not.toBeNull();
});

test("an event is read as it was written, and nothing else is one", () => {
  expect(readEvent(Buffer.from(eventText(OPEN)))).toEqual(OPEN);
  for (const text of [
    "",
    "{",
    "[]",
    '{"type":"switchyard.other"}',
    '{"type":"switchyard.destination.failing"}',
  ]) {
    expect(readEvent(Buffer.from(text))).toBeNull();
  }
});
