// Each command, option, metric and npm script that a page names is there.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { beforeAll, expect, test } from "vitest";
import { METRICS } from "../../../src/base/telemetry/metrics.ts";
import { COMMANDS } from "../../../src/program/cli/command-table.ts";
import { projectTexts, ROOT } from "../../support/project/tracked-texts.ts";
import { fakeShell } from "../../support/worlds/fake-shell.ts";

const SHOWN = /(?:^|[\s`"'|])(?:npm run -s )?switchyard (?:-- )?(?=[a-z-])([^\n`|;&>"']*)/g;

/** The words after the program's name, in fenced blocks and in inline code of a page. */
function commandLines(page: string): readonly string[] {
  const code = [...page.matchAll(/^ *```[^\n]*\n([\s\S]*?)^ *```$|`([^`\n]+)`/gm)];
  return code.flatMap(([, block, span]) =>
    [...(block ?? span ?? "").matchAll(SHOWN)].map(([, line = ""]) => line.trim()),
  );
}

/** All commands of the program. */
async function allCommands(): Promise<readonly Command[]> {
  const shell = fakeShell();
  return await Promise.all(
    COMMANDS.map(async ({ load }) => (await load())(shell, () => undefined)),
  );
}

/** The first part of a line that is neither a command nor one of its options, or null. */
function unknownIn(line: string, commands: readonly Command[]): string | null {
  const words = line.split(/\s+/);
  let found: Command | undefined;
  let inner = commands;
  // Commander adds this option.
  if (words[0] === "help") words.shift();
  while (inner.length > 0 && words[0] !== undefined && /^[a-z][a-z-]*$/.test(words[0])) {
    const word = words.shift();
    found = inner.find((command) => command.name() === word);
    if (found === undefined) return `${word} of ${line}`;
    inner = found.commands;
  }
  const known = (found?.options ?? []).flatMap(({ short, long }) => [short, long]);
  const given = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split("=")[0]);
  const wrong = given.find((option) => option !== "--help" && !known.includes(option));
  return wrong === undefined ? null : `${wrong} of ${line}`;
}

/** The changelog and decisions tell of what was; names may be gone since. */
const PAGES = projectTexts().filter(
  ({ path }) => path.endsWith(".md") && path !== "CHANGELOG.md" && !path.includes("decisions/"),
);
const METRIC_NAMES = new Set<string>(Object.values(METRICS).map(({ name }) => name));

let commands: Awaited<ReturnType<typeof allCommands>> = [];
beforeAll(async () => {
  commands = await allCommands();
});

/** A name that ends in `_` stands for all that begin so. */
function unknownMetrics(page: string): readonly string[] {
  return [...page.matchAll(/\bswitchyard_[a-z_]+/g)]
    .map(([name]) => name.replace(/_(?:bucket|sum|count)$/, ""))
    .filter((name) => !METRIC_NAMES.has(name))
    .filter((name) => !name.endsWith("_") || ![...METRIC_NAMES].some((m) => m.startsWith(name)));
}

test("each command and option on a page is one of the program", () => {
  const lines = PAGES.flatMap(({ path, text }) => commandLines(text).map((line) => [path, line]));
  expect(lines.length).toBeGreaterThan(60);
  const wrong = lines.flatMap(([path, line = ""]) => {
    const unknown = unknownIn(line, commands);
    return unknown === null ? [] : [`${path}: ${unknown}`];
  });
  expect(wrong).toEqual([]);
});

test("each metric on a page is one of the table", () => {
  const named = PAGES.flatMap(({ text }) => [...text.matchAll(/\bswitchyard_[a-z_]+/g)]);
  expect(named.length).toBeGreaterThan(100);
  const wrong = PAGES.flatMap(({ path, text }) => unknownMetrics(text).map((m) => `${path}: ${m}`));
  expect(wrong).toEqual([]);
});

test("each npm script on a page is one of package.json", () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const named = PAGES.flatMap(({ path, text }) =>
    [...text.matchAll(/\bnpm run (?:-s )?([a-z][a-z:-]*)/g)].map(([, name]) => [path, name]),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(([, name = ""]) => !(name in scripts))).toEqual([]);
});

/** Names after `npm run bench` that are none of the table in bench/main.ts. */
function unknownBenches(page: string): readonly string[] {
  const main = readFileSync(join(ROOT, "bench/main.ts"), "utf8");
  const table = main.slice(main.indexOf("const BENCHES"), main.indexOf("\n};"));
  const known = [...table.matchAll(/^ {2}"?([a-z0-9-]+)"?: \{$/gm)].map(([, name]) => name);
  return [...page.matchAll(/npm run bench (?:-- )?([a-z][a-z0-9-]*)/g)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "all" && !known.includes(name));
}

test("each benchmark on a page is one of bench/main.ts", () => {
  // The results also have parts of benches that are gone; the commit that such a part names has its bench.
  const wrong = PAGES.filter(({ path }) => path !== "bench/RESULTS.md").flatMap(({ path, text }) =>
    unknownBenches(text).map((name) => `${path}: ${name}`),
  );
  expect(wrong).toEqual([]);
  expect(unknownBenches("`npm run bench deliver`, `npm run bench profile`")).toEqual(["profile"]);
});

test.each([
  ["`switchyard statis`", "statis"],
  ["```\nswitchyard status --admn x\n```", "--admn"],
  ["```sh\nnpm run -s switchyard -- dead-letters lst\n```", "lst"],
  ["`switchyard dead-letters list --dry-run`", "--dry-run"],
])("in %j, %s is found", (page, unknown) => {
  const found = commandLines(page).map((line) => unknownIn(line, commands));
  expect(found).toEqual([expect.stringMatching(new RegExp(`^${unknown} of`))]);
});

test("a metric that is nowhere is found, and a histogram's parts are not", () => {
  expect(
    unknownMetrics("`switchyard_gone_total`, switchyard_delivery_latency_seconds_bucket"),
  ).toEqual(["switchyard_gone_total"]);
});
