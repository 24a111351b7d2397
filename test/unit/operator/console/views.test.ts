import { expect, test } from "vitest";

import { History } from "../../../../src/operator/console/history.ts";
import { destinationOf, overviewOf, rowsOf } from "../../../../src/operator/console/views.ts";
import { deliveringReport, pollOf } from "../../../support/build/console-poll.ts";

const SINCE = "2026-03-01T08:00:00Z";
const NOW = Date.parse("2026-03-01T09:00:00Z");

test("a stream gets each row once, and again when it has changed", () => {
  const sent = new Map<string, string>();
  const history = new History();
  const ids = ["a", "b", "c"];
  const first = pollOf(ids.map((id) => deliveringReport(id)));
  expect(rowsOf(first, history, sent).changed.map(({ destination }) => destination)).toEqual(ids);
  expect(rowsOf(first, history, sent).changed).toEqual([]);
  const second = pollOf([deliveringReport("b", { waiting: 7 }), deliveringReport("a")]);
  const event = rowsOf(second, history, sent);
  expect(event.changed.map(({ destination, waiting }) => [destination, waiting])).toEqual([
    ["b", 7],
  ]);
  expect(event.ids).toEqual(["b", "a"]);
  // The row was removed before: a row that returns is sent again.
  expect(rowsOf(first, history, sent).changed.map(({ destination }) => destination)).toEqual([
    "b",
    "c",
  ]);
});

const TOPIC = { f: { kind: "topic", isAttempted: false } };

test("each destination counts as one state", () => {
  const all = [
    deliveringReport("a", { state: "delivering" }),
    deliveringReport("b", { state: "failing", failingSince: SINCE }),
    deliveringReport("c", {
      state: "on-hold",
      hold: { reason: "paused", since: null, until: null },
      failingSince: SINCE,
    }),
    deliveringReport("d", {
      state: "on-hold",
      hold: { reason: "circuit-open", since: null, until: null },
    }),
    deliveringReport("e", { state: null }),
    deliveringReport("f", { state: null }),
    deliveringReport("g", { state: "not-owned" }),
  ];
  const { states } = overviewOf(pollOf(all, { configured: TOPIC }), new History(), NOW);
  expect(states).toEqual({
    delivering: 1,
    failing: 1,
    quiet: 1,
    "on-hold": 1,
    idle: 0,
    unknown: 1,
    topics: 1,
    "not-owned": 1,
  });
});

test("counts are added if they are known", () => {
  const all = [deliveringReport("a", { waiting: 3 }), deliveringReport("b", { waiting: null })];
  expect(overviewOf(pollOf(all), new History(), NOW).queued).toBe(3);
  const none = pollOf([deliveringReport("b", { waiting: null })]);
  expect(overviewOf(none, new History(), NOW).queued).toBeNull();
});

test("an unknown destination has no view", () => {
  const one = pollOf([deliveringReport("a")]);
  expect(destinationOf(one, new History(), "b", NOW)).toBeNull();
  expect(destinationOf(one, new History(), "a", NOW)?.sources).toEqual(["web"]);
});

test("the overview has the destinations that need attention, the worst first", () => {
  const [endpoint] = deliveringReport("partly").endpoints;
  if (endpoint === undefined) throw new Error("there is no endpoint");
  const all = [
    deliveringReport("fine"),
    deliveringReport("partly", { endpoints: [{ ...endpoint, circuit: "open" }] }),
    deliveringReport("halted", { halted: [{ topic: "calls", partition: 0, offset: 7 }] }),
    deliveringReport("failing", { failingSince: SINCE }),
  ];
  const { worst } = overviewOf(pollOf(all), new History(), NOW);
  expect(worst.map(({ destination }) => destination)).toEqual(["halted", "failing", "partly"]);
});

test("lists of the overview have at most five destinations", () => {
  const all = Array.from({ length: 9 }, (_, index) =>
    deliveringReport(`d${index}`, { failingSince: SINCE }),
  );
  const { worst, busiest } = overviewOf(pollOf(all), new History(), NOW);
  expect(worst).toHaveLength(5);
  // It is not known that anything was delivered.
  expect(busiest).toEqual([]);
});

test("ages become instants to the second, so that a row that stays is sent once", () => {
  const sent = new Map<string, string>();
  const measured = (at: string, oldestMs: number) =>
    rowsOf(pollOf([deliveringReport("a", { oldestMs })], { at }), new History(), sent).changed;
  const [first] = measured("2026-03-01T09:00:00.500Z", 1_800);
  expect(first?.oldestAt).toBe("2026-03-01T08:59:59.000Z");
  expect(measured("2026-03-01T09:00:02.000Z", 3_300)).toEqual([]);
});

test("a destination has its name and kind of the configuration; one that is not there has none", () => {
  const { report, configured, ...poll } = pollOf(
    ["hook", "gone"].map((id) => deliveringReport(id)),
  );
  const known = new Map([...configured].filter(([id]) => id === "hook"));
  const { changed } = rowsOf({ ...poll, report, configured: known }, new History(), new Map());
  expect(changed.map(({ destination, name, kind }) => [destination, name, kind])).toEqual([
    ["hook", "Webhooks", "webhook"],
    ["gone", "", "unknown"],
  ]);
});
