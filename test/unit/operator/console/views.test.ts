import { expect, test } from "vitest";

import { History } from "../../../../src/operator/console/history.ts";
import { destinationOf, overviewOf, rowsOf } from "../../../../src/operator/console/views.ts";
import { destinationSnapshot, snapshot } from "../../../support/build/console-snapshot.ts";

const NOW = Date.parse("2026-03-01T09:00:00Z");

test("a stream gets each row once, and again when it has changed", () => {
  const sent = new Map<string, string>();
  const history = new History();
  const ids = ["a", "b", "c"];
  const first = snapshot(ids.map((id) => destinationSnapshot(id)));
  expect(rowsOf(first, history, sent).changed.map(({ id }) => id)).toEqual(ids);
  expect(rowsOf(first, history, sent).changed).toEqual([]);
  const second = snapshot([destinationSnapshot("b", { queued: 7 }), destinationSnapshot("a")]);
  const event = rowsOf(second, history, sent);
  expect(event.changed.map(({ id, queued }) => [id, queued])).toEqual([["b", 7]]);
  expect(event.ids).toEqual(["b", "a"]);
  // The row was removed before: a row that returns is sent again.
  expect(rowsOf(first, history, sent).changed.map(({ id }) => id)).toEqual(["b", "c"]);
});

test("each destination counts as one state", () => {
  const all = [
    destinationSnapshot("a", { state: "delivering" }),
    destinationSnapshot("b", { state: "failing", failingSince: "2026-03-01T08:00:00Z" }),
    destinationSnapshot("c", {
      state: "on-hold",
      hold: { reason: "paused", since: null, until: null },
      failingSince: "2026-03-01T08:00:00Z",
    }),
    destinationSnapshot("d", {
      state: "on-hold",
      hold: { reason: "circuit-open", since: null, until: null },
    }),
    destinationSnapshot("e", { state: null }),
    destinationSnapshot("f", { state: null, kind: "topic", isAttempted: false }),
    destinationSnapshot("g", { state: "not-owned" }),
  ];
  const { states } = overviewOf(snapshot(all), new History(), NOW);
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
  const all = [destinationSnapshot("a", { queued: 3 }), destinationSnapshot("b", { queued: null })];
  expect(overviewOf(snapshot(all), new History(), NOW).waiting).toEqual({
    queued: 3,
    awaitingRetry: 12,
  });
  const none = snapshot([destinationSnapshot("b", { queued: null })], { delayTopics: [] });
  expect(overviewOf(none, new History(), NOW).waiting).toEqual({
    queued: null,
    awaitingRetry: null,
  });
});

test("an unknown destination has no view", () => {
  const one = snapshot([destinationSnapshot("a")]);
  expect(destinationOf(one, new History(), "b", [], NOW)).toBeNull();
  expect(destinationOf(one, new History(), "a", ["web"], NOW)?.sources).toEqual(["web"]);
});

test("the overview has the destinations that need attention, the worst first", () => {
  const all = [
    destinationSnapshot("fine"),
    destinationSnapshot("partly", { severity: 2 }),
    destinationSnapshot("halted", { severity: 0 }),
    destinationSnapshot("failing", { severity: 1 }),
  ];
  const { worst } = overviewOf(snapshot(all), new History(), NOW);
  expect(worst.map(({ id }) => id)).toEqual(["halted", "failing", "partly"]);
});

test("lists of the overview have at most five destinations", () => {
  const all = Array.from({ length: 9 }, (_, index) =>
    destinationSnapshot(`d${index}`, { severity: 1 }),
  );
  const { worst, busiest } = overviewOf(snapshot(all), new History(), NOW);
  expect(worst).toHaveLength(5);
  // It is not known that anything was delivered.
  expect(busiest).toEqual([]);
});
