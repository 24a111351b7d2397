// A stage is a row of the table in `domain/stages.ts`, a folder and its tests. This finds a stage that
// lacks one of them. Types demand its start and its row in `switchyard status`.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { STAGE_NAMES, STAGES } from "../../../src/domain/stages.ts";

const ROOT = join(import.meta.dirname, "../../..");
const MAP = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");

function folderOf(stage: string): string {
  return stage === "console" ? "operator/console" : `router/${stage}`;
}

/** What a stage needs beside its row. */
function lacks(stage: string): readonly string[] {
  const folder = folderOf(stage);
  // Ingest opens sockets, so its tests are no unit tests.
  const tests = [`test/unit/${folder}/stage.test.ts`, `test/local/${stage}-stage.test.ts`];
  const found = [
    existsSync(join(ROOT, `src/${folder}/stage.ts`)) ? "" : `src/${folder}/stage.ts`,
    tests.some((path) => existsSync(join(ROOT, path))) ? "" : `a test of its shell`,
    MAP.includes(`\`${stage === "console" ? "console" : `src/${folder}`}/\``)
      ? ""
      : "a line in the map of ARCHITECTURE.md",
  ];
  return found.filter((each) => each !== "");
}

/** Folders that have a shell of a stage and no row. */
function unknown(folders: readonly string[]): readonly string[] {
  return folders.filter((folder) => !(folder in STAGES));
}

test("every stage has its folder, a test of its shell, and a line in the map", () => {
  expect(STAGE_NAMES.length).toBeGreaterThan(0);
  expect(STAGE_NAMES.map((stage) => [stage, lacks(stage)])).toEqual(
    STAGE_NAMES.map((stage) => [stage, []]),
  );
  expect(lacks("no-such-stage")).toHaveLength(3);
});

/** What `switchyard status` and alerts would miss of a stage that reads topics, by its source. */
function uncounted(source: string): readonly string[] {
  return [
    source.includes("recordsIn") ? "" : "counts what it takes (recordsIn)",
    /\b(?:countDeadLetters|recordsRefused)\b/.test(source) ? "" : "counts what it refuses",
  ].filter((each) => each !== "");
}

test("every stage that reads topics counts what it takes and what it rejects", () => {
  const readers = STAGE_NAMES.filter((stage) => STAGES[stage].input !== null);
  expect(readers.length).toBeGreaterThan(0);
  for (const stage of readers) {
    const folder = join(ROOT, "src", folderOf(stage));
    const sources = readdirSync(folder)
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(folder, file), "utf8"));
    expect(uncounted(sources.join("\n")), stage).toEqual([]);
  }
  expect(uncounted('deadLetterWriter(deps, "attic", topics.deadLetters)')).toHaveLength(2);
  expect(uncounted("metrics.recordsIn.bind({ stage })")).toEqual(["counts what it refuses"]);
});

test("every folder with a stage.ts is in the table of stages", () => {
  const folders = readdirSync(join(ROOT, "src/router"), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const stages = folders.filter((name) => existsSync(join(ROOT, "src/router", name, "stage.ts")));
  expect(unknown(stages)).toEqual([]);
  expect(unknown([...stages, "no-such-stage"])).toEqual(["no-such-stage"]);
});
