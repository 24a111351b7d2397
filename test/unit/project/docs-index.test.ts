// docs/README.md leads to every page, and README.md to it.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ROOT } from "../../support/project/tracked-texts.ts";

/** The page of the npm package is read there, and linked from pages for receivers. */
const ELSEWHERE = new Set(["README.md", "npm-readme.md"]);

function notLinked(index: string, pages: readonly string[]): readonly string[] {
  return pages.filter((page) => !ELSEWHERE.has(page) && !index.includes(`](${page})`));
}

test("the index links each page of docs", () => {
  const pages = readdirSync(join(ROOT, "docs")).filter((name) => /\.(?:md|yaml)$/.test(name));
  expect(pages.length).toBeGreaterThan(20);
  expect(notLinked(readFileSync(join(ROOT, "docs/README.md"), "utf8"), pages)).toEqual([]);
});

test("README.md links the index", () => {
  expect(readFileSync(join(ROOT, "README.md"), "utf8")).toContain("](docs/README.md)");
});

test("a page that is not linked is found", () => {
  expect(notLinked("[a](a.md)", ["a.md", "b.md", "README.md"])).toEqual(["b.md"]);
});
