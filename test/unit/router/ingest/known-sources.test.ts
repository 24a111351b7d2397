// The table of known-sources.ts, row by row.

import { expect, test } from "vitest";

import type { SourceId } from "../../../../src/domain/ids.ts";
import { knownSources } from "../../../../src/router/ingest/known-sources.ts";
import { aSource } from "../../../support/build/calls.ts";

const WEB = "web" as SourceId;
const limited = (callsPerSecond: number | null) => [aSource("web", [], { callsPerSecond })];
const rateOf = (known: ReturnType<typeof knownSources>) => known.byId.get(WEB)?.rate ?? null;

test("keys that come and go are known and unknown at once", () => {
  const before = knownSources([aSource("web", [], { writeKeys: ["old", "both"] })], null);
  const after = knownSources([aSource("web", [], { writeKeys: ["both", "new"] })], before);
  expect(["old", "both", "new"].map((key) => after.keys.find(key)?.id)).toEqual([
    undefined,
    "web",
    "web",
  ]);
  expect(before.keys.find("old")?.id).toBe("web");
});

test("a source that keeps its limit continues being counted", () => {
  const before = knownSources(limited(2), null);
  expect(rateOf(before)?.take(2, 0)).toBe(0);
  const after = knownSources(limited(2), before);
  expect(rateOf(after)?.take(1, 0)).toBe(500);
});

test("another limit pays off what was taken at its own rate", () => {
  const before = knownSources(limited(2), null);
  expect(rateOf(before)?.take(12, 0)).toBe(0);
  const faster = knownSources(limited(100), before);
  expect(rateOf(faster)?.take(1, 0)).toBe(110);
  expect(rateOf(faster)?.take(1, 110)).toBe(0);
  const slower = knownSources(limited(1), knownSources(limited(100), null));
  expect(rateOf(slower)?.take(1, 0)).toBe(0);
  expect(rateOf(slower)?.take(1, 0)).toBe(1_000);
});

test("a limit that is new begins with a second's worth; one that is gone is none", () => {
  const before = knownSources(limited(null), null);
  expect(rateOf(before)).toBeNull();
  const after = knownSources(limited(3), before);
  expect(rateOf(after)?.take(3, 0)).toBe(0);
  expect(rateOf(after)?.take(1, 0)).toBeGreaterThan(0);
  expect(rateOf(knownSources(limited(null), after))).toBeNull();
});
