import { expect, test } from "vitest";

import { History } from "../../../src/console/history.ts";
import { destinationOf, overviewOf, rowsOf } from "../../../src/console/views.ts";
import { destinationSeen, seen } from "../../support/build/console-seen.ts";

const NOW = Date.parse("2026-03-01T09:00:00Z");

test("a stream is told each row once, and again when it has changed", () => {
  const told = new Map<string, string>();
  const history = new History();
  const ids = ["a", "b", "c"];
  const first = seen(ids.map((id) => destinationSeen(id)));
  expect(rowsOf(first, history, told).changed.map(({ id }) => id)).toEqual(ids);
  expect(rowsOf(first, history, told).changed).toEqual([]);
  const second = seen([destinationSeen("b", { waiting: 7 }), destinationSeen("a")]);
  const event = rowsOf(second, history, told);
  expect(event.changed.map(({ id, waiting }) => [id, waiting])).toEqual([["b", 7]]);
  expect(event.ids).toEqual(["b", "a"]);
  // It was gone: a row that comes back is told anew.
  expect(rowsOf(first, history, told).changed.map(({ id }) => id)).toEqual(["b", "c"]);
});

test("each destination counts as one state", () => {
  const all = [
    destinationSeen("a", { state: "delivering" }),
    destinationSeen("b", { state: "failing", failingSince: "2026-03-01T08:00:00Z" }),
    destinationSeen("c", {
      state: "on-hold",
      held: { because: "paused", since: null, until: null },
      failingSince: "2026-03-01T08:00:00Z",
    }),
    destinationSeen("d", {
      state: "on-hold",
      held: { because: "circuit-open", since: null, until: null },
    }),
    destinationSeen("e", { state: null }),
    destinationSeen("f", { state: null, kind: "topic" }),
    destinationSeen("g", { state: "not-owned" }),
  ];
  const { states } = overviewOf(seen(all), new History(), NOW);
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

test("what waits is added where it is known", () => {
  const all = [destinationSeen("a", { waiting: 3 }), destinationSeen("b", { waiting: null })];
  expect(overviewOf(seen(all), new History(), NOW).waiting).toEqual({ lines: 3, tiers: 12 });
  const none = seen([destinationSeen("b", { waiting: null })], { tiers: [] });
  expect(overviewOf(none, new History(), NOW).waiting).toEqual({ lines: null, tiers: null });
});

test("one that is not there is not told", () => {
  const one = seen([destinationSeen("a")]);
  expect(destinationOf(one, new History(), "b", [], NOW)).toBeNull();
  expect(destinationOf(one, new History(), "a", ["web"], NOW)?.sources).toEqual(["web"]);
});
