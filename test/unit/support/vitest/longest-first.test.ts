// The files that start first exist, so none was renamed without a change of its line. The other files take turns.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { inTurns, LONG_AND_SMALL } from "../../../support/vitest/longest-first.ts";

const FILES = readdirSync(join(import.meta.dirname, "../../../integration"));

test("each file that begins first is there, and named once", () => {
  expect(LONG_AND_SMALL.filter((name) => !FILES.includes(`${name}.test.ts`))).toEqual([]);
  expect(new Set(LONG_AND_SMALL).size).toBe(LONG_AND_SMALL.length);
});

test("those that are named begin, in their order; then projects take turns until both end", () => {
  const file = (name: string, each: string) => ({
    moduleId: `/test/${each}.test.ts`,
    project: { name },
  });
  const [first = "", second = ""] = LONG_AND_SMALL;
  const sorted = [
    ...["k1", second, "k2", "k3", first, "k4"].map((each) => file("kafka", each)),
    ...["l1", "l2"].map((each) => file("local", each)),
  ];
  const order = inTurns(sorted).map(({ moduleId }) => moduleId.slice(6, -8));
  expect(order).toEqual([first, second, "k1", "l1", "k2", "k3", "l2", "k4"]);
});
