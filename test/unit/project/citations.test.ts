// Every page and anchor that is cited exists, and the index leads to every page.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { anchors, citations, leadingNowhere } from "../../support/project/citations.ts";
import { projectTexts, ROOT } from "../../support/project/tracked-texts.ts";

const OWN = "test/unit/project/citations.test.ts";

const texts = projectTexts().filter(({ path }) => path !== OWN);

function read(path: string): string | null {
  const file = join(ROOT, path);
  if (!existsSync(file)) return null;
  return statSync(file).isDirectory() ? "" : readFileSync(file, "utf8");
}

test("what is cited exists", () => {
  const found = texts.map(({ path, text }) => [path, citations(path, text)] as const);
  expect(found.flatMap(([, cited]) => cited).length).toBeGreaterThan(100);
  const broken = found.flatMap(([path, cited]) =>
    leadingNowhere(cited, read).map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test("the index links each page", () => {
  const pages = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith("decisions/"))
    .filter((name) => /\.(?:md|yaml)$/.test(name));
  expect(pages.length).toBeGreaterThan(20);
  const index = read("docs/README.md") ?? "";
  // The page of the npm package is read there, and linked from pages for receivers.
  const inside = pages.filter((page) => !["README.md", "npm-readme.md"].includes(page));
  expect(inside.filter((page) => !index.includes(`](${page})`))).toEqual([]);
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
