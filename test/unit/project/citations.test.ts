// Every page and anchor that is cited exists, and nothing cites a page that is not in the project.

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { anchors, citations, leadingNowhere } from "../../support/project/citations.ts";
import { MOVED } from "../../support/project/moved-anchors.ts";
import { projectTexts, ROOT } from "../../support/project/tracked-texts.ts";

const OWN = "test/unit/project/citations.test.ts";
const OUTSIDE = /\b(?:SPEC|DESIGN)\b/;

const texts = projectTexts().filter(({ path }) => path !== OWN);

function read(path: string): string | null {
  const file = join(ROOT, path);
  if (!existsSync(file)) return null;
  return statSync(file).isDirectory() ? "" : readFileSync(file, "utf8");
}

function nowAt(target: string): string {
  const to = MOVED[target.replace(/^docs\//, "")];
  return to === undefined ? "" : ` (now docs/${to})`;
}

test("what is cited exists", () => {
  const found = texts.map(({ path, text }) => [path, citations(path, text)] as const);
  expect(found.flatMap(([, cited]) => cited).length).toBeGreaterThan(100);
  const broken = found.flatMap(([path, cited]) =>
    leadingNowhere(cited, read).map((target) => `${path}: ${target}${nowAt(target)}`),
  );
  expect(broken).toEqual([]);
});

test("nothing cites a page that a clone does not have", () => {
  expect(texts.length).toBeGreaterThan(600);
  expect(texts.filter(({ text }) => OUTSIDE.test(text)).map(({ path }) => path)).toEqual([]);
  expect("see SPEC section 8").toMatch(OUTSIDE);
  expect("(DESIGN.md)").toMatch(OUTSIDE);
  expect("UNSPECIFIED").not.toMatch(OUTSIDE);
});

test("each section that has moved is where the table says", () => {
  const targets = Object.values(MOVED).flatMap((to) => citations("x.ts", `docs/${to}`));
  expect(targets).toHaveLength(Object.keys(MOVED).length);
  expect(leadingNowhere(targets, read)).toEqual([]);
  expect(nowAt("docs/delivery.md#order")).toBe(" (now docs/guarantees.md#order)");
  expect(nowAt("docs/topics.md#order")).toBe("");
});

const PAGES: Readonly<Record<string, string>> = {
  "docs/a.md":
    "# A\n\n## How long: 5 s, `ms`\n\n## Twice\n\n## Twice\n\n```sh\n# no heading\n```\n",
  "docs/b.md": "# B\n",
};

test.each([
  ["src/x.ts", "// see docs/a.md#twice-1 and docs/b.md", []],
  ["src/x.ts", "// see docs/a.md#thrice", ["docs/a.md#thrice"]],
  ["src/x.ts", "// see docs/c.md.", ["docs/c.md"]],
  ["src/x.ts", "// see ARCHITECTURE.md#invariants", ["ARCHITECTURE.md#invariants"]],
  ["docs/b.md", "[a](a.md#how-long-5-s-ms), [top](#b), [web](https://example.com#x)", []],
  ["docs/b.md", "[a](a.md#no-heading)", ["docs/a.md#no-heading"]],
  ["docs/b.md", "[none](#none)", ["docs/b.md#none"]],
  ["docs/b.md", "[up](../README.md)", ["README.md"]],
  ["README.md", "[a](docs/a.md#gone)", ["docs/a.md#gone"]],
  ["docs/b.md", "Text names docs/a.md#gone.", ["docs/a.md#gone"]],
])("in %s, %j leads nowhere with %j", (path, text, expected) => {
  expect(leadingNowhere(citations(path, text), (page) => PAGES[page] ?? null)).toEqual(expected);
});

test("anchors are as GitHub makes them", () => {
  const page =
    "# At least once\n## `POST /v1/batch` and friends\n### A [link](b.md), here\n## Ü_x\n";
  expect([...anchors(page)]).toEqual([
    "at-least-once",
    "post-v1batch-and-friends",
    "a-link-here",
    "ü_x",
  ]);
});
