// How a trait is named.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { snakeCase } from "../../../src/audience/snake-case.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/audiences.md"), "utf8");
const [, table = ""] = page.split("<!-- names -->");
const rows = [...table.matchAll(/^\| `(.+)` \| (?:`(.+)`|refused) \|$/gm)].map(
  ([, name = "", key = ""]) => [name, key] as const,
);

test("there are at least 60 in docs/audiences.md", () => {
  expect(rows.length).toBeGreaterThanOrEqual(60);
});

test.each(rows)("%s is %s, as docs/audiences.md says", (name, key) => {
  expect(snakeCase(name)).toBe(key);
});

test("a very long name is taken whole, and quickly enough to be taken at all", () => {
  expect(snakeCase("Abc".repeat(50_000))).toBe(Array(50_000).fill("abc").join("_"));
});
