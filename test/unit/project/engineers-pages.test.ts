// docs/debugging.md and docs/recipes.md name files, log lines and metrics that are there.

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";

import { METRICS } from "../../../src/base/telemetry/metrics.ts";
import { projectTexts, ROOT } from "../../support/project/tracked-texts.ts";

const TEXTS = projectTexts();
const FILES = new Set(TEXTS.map(({ path }) => basename(path)));
const SOURCE = TEXTS.filter(({ path }) => path.startsWith("src/"))
  .map(({ text }) => text)
  .join("\n");
const METRIC_NAMES = new Set<string>(Object.values(METRICS).map(({ name }) => name));
const FOLDERS = /^(?:src|test|tools|docs|bench|deploy)\//;

/** Names that are nowhere. What stands for a name, such as `src/<stage>/`, is none. */
function nowhere(page: string): readonly string[] {
  const spans = [...page.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
  return spans.filter((span) => {
    if (/[<\s]/.test(span) || span.includes("name-")) return false;
    if (FOLDERS.test(span)) return !existsSync(join(ROOT, span.replace(/#.*$/, "")));
    if (/^[a-z-]+\.ts$/.test(span)) return !FILES.has(span);
    if (span.startsWith("switchyard_")) return !METRIC_NAMES.has(span);
    const isLogLine =
      /^(?:record|kafka|delivery|audience|ingest|topics|stage|ready)\.[a-z.-]+$/.test(span);
    return isLogLine && !SOURCE.includes(`"${span}"`);
  });
}

test.each(["docs/debugging.md", "docs/recipes.md"])("what %s names is there", (path) => {
  const page = TEXTS.find((text) => text.path === path)?.text ?? "";
  expect(page.length).toBeGreaterThan(1_000);
  expect(nowhere(page)).toEqual([]);
});

test.each([
  "`src/router/deliver/gone.ts`",
  "`gone-file.ts`",
  "`test/unit/attic/`",
  "`delivery.attemptet`",
  "`switchyard_delivery_gone_total`",
])("%s is found", (page) => {
  expect(nowhere(page)).toHaveLength(1);
});
