import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ALERTS } from "../../drill/expected-alerts.ts";
import { PROBLEMS } from "../../drill/problems.ts";

const RULES = readFileSync(
  join(import.meta.dirname, "../../../deploy/prometheus/rules.yaml"),
  "utf8",
);
/** In these cases, no process starts far enough to be scraped. */
const NEVER_RUNS = ["wrong-password"];

test("each problem that a process lives through has its alerts, and ten are drilled", () => {
  const names = PROBLEMS.map(({ name }) => name).filter((name) => !NEVER_RUNS.includes(name));
  expect(Object.keys(ALERTS).toSorted()).toEqual(names.toSorted());
  const drilled = new Set(Object.values(ALERTS).flatMap(({ fire }) => fire));
  expect(drilled.size).toBeGreaterThanOrEqual(10);
});

test("each of them is one of the rules", () => {
  const known = [...RULES.matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const named = Object.values(ALERTS).flatMap(({ fire, mayFire = [] }) => [...fire, ...mayFire]);
  expect(named.filter((name) => !known.includes(name))).toEqual([]);
});
