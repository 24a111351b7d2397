// The names of traits.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { snakeCase } from "../../../../src/router/audience/snake-case.ts";

const page = readFileSync(join(import.meta.dirname, "../../../golden/snake-case-names.md"), "utf8");
const [, table = ""] = page.split("<!-- names -->");
const rows = [...table.matchAll(/^\| `(.+)` \| (?:`(.+)`|refused) \|$/gm)].map(
  ([, name = "", key = ""]) => [name, key] as const,
);

test("there are at least 60", () => {
  expect(rows.length).toBeGreaterThanOrEqual(60);
});

test.each(rows)("%s is %s", (name, key) => {
  expect(snakeCase(name)).toBe(key);
});

test("docs/audiences.md has keys as they are made", () => {
  const docs = readFileSync(join(import.meta.dirname, "../../../../docs/audiences.md"), "utf8");
  const [, part = ""] = docs.split("| Name | Key |\n|---|---|\n");
  const [shown = ""] = part.split("\n\n");
  const found = [...shown.matchAll(/^\| (.+) \| `(.+)` \|$/gm)].flatMap(([, names = "", key]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => [snakeCase(name), key]),
  );
  expect(found.length).toBeGreaterThan(7);
  expect(found.filter(([made, key]) => made !== key)).toEqual([]);
});

test("a very long name is taken whole, and quickly enough to be taken at all", () => {
  expect(snakeCase("Abc".repeat(50_000))).toBe(Array(50_000).fill("abc").join("_"));
});
