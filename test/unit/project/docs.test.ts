// Pages that are generated are as they would be generated now.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { loadConfig } from "../../../src/config/load.ts";
import { PAGES } from "../../../tools/write-docs.ts";

const ROOT = join(import.meta.dirname, "../../..");

test.each(PAGES.map(({ path, render }) => [path, render] as const))(
  "%s is up to date; `npm run docs` writes it",
  (path, render) => {
    const rendered = render();
    expect(readFileSync(join(ROOT, path), "utf8")).toBe(rendered);
    // Something undefined that got into a page would be up to date, too.
    expect(rendered).not.toMatch(/undefined|\[object|NaN/);
  },
);

test("the example can be used as it is, without a warning", () => {
  const loaded = loadConfig({ file: join(ROOT, "examples/switchyard.yaml"), env: {} });
  expect(loaded).toMatchObject({ kind: "config", warnings: [] });
});
