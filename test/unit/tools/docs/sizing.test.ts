// Figures are read from the page of results. If a figure is missing, no page is generated.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cell, measured, renderSizing } from "../../../../tools/docs/sizing.ts";
import { ROOT } from "../../../support/project/tracked-texts.ts";

const RESULTS = `# Results

## a

\`npm run bench -- a\`, 2026-11-22, commit 3c6e4c7. Node v24, 2 cores, linux, load average 0.7 before; Kafka.

| who | ms | MB |
| --- | --- | --- |
| x | 1.5 | 10 |
| y | 2.5 | 20 |

| other | table |
| --- | --- |
| z | 3 |

## b

`;

test("a part has its first table", () => {
  const part = measured("a", RESULTS);
  expect(part.rows).toEqual([
    { who: "x", ms: "1.5", MB: "10" },
    { who: "y", ms: "2.5", MB: "20" },
  ]);
  expect(cell(part, { who: "y" }, "MB")).toBe("20");
});

test.each(["b", "c"])("part %s cannot be used", (name) => {
  expect(() => measured(name, RESULTS)).toThrow(/bench\/RESULTS.md/);
});

test("a row or column that is not there is reported", () => {
  const part = measured("a", RESULTS);
  expect(() => cell(part, { who: "z" }, "MB")).toThrow(/MB of/);
  expect(() => cell(part, { who: "x" }, "KB")).toThrow(/KB of/);
  expect(() => cell(part, {}, "MB")).toThrow(/MB of/);
});

test("the default of concurrency on the page is the setting's", () => {
  const configuration = readFileSync(join(ROOT, "docs/configuration.md"), "utf8");
  const [, value] = /^\| `concurrency` \|[^|]*\| `(\d+)` \|/m.exec(configuration) ?? [];
  expect(renderSizing().replace(/\s+/g, " ")).toContain(`With the default of ${value}, a receiver`);
});
