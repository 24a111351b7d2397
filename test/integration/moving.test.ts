// Each snippet of docs/moving.md, run with its unmodified library, writes its call to `calls`.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import type { RunningIngest } from "../../src/ingest/stage.ts";
import { fencedBlocks } from "../support/project/fenced-blocks.ts";
import { ROOT } from "../support/project/tracked-texts.ts";
import { PREPARE_LIMIT_MS, preparePython, pythonOf } from "../support/servers/client-libraries.ts";
import { type CallsTopic, callsTopic, ingestOn, KEY } from "../support/worlds/ingest-on-kafka.ts";

const run = promisify(execFile);
const PAGE = readFileSync(join(ROOT, "docs/moving.md"), "utf8");
const SNIPPETS = fencedBlocks(PAGE).filter(({ language }) => /^(?:js|python)$/.test(language));

let calls: CallsTopic;
let ingest: RunningIngest;
let noPython: ReadonlyMap<string, string> = new Map();
beforeAll(async () => {
  noPython = await preparePython();
  calls = await callsTopic("moving");
  ingest = await ingestOn(calls);
}, PREPARE_LIMIT_MS + 30_000);
afterAll(async () => {
  await ingest[Symbol.asyncDispose]();
  await calls[Symbol.asyncDispose]();
});

test("the page has two snippets in each language", () => {
  expect(SNIPPETS.map(({ language }) => language)).toEqual(["js", "js", "python", "python"]);
});

test.for(SNIPPETS)("$info sends its call", async ({ language, info, text }, context) => {
  const reason = noPython.get(info);
  if (reason !== undefined) return context.skip(reason);
  for (const stand of ["WRITE_KEY", "https://calls.example.com", '"Moved"']) {
    expect(text).toContain(stand);
  }
  const folder = mkdtempSync(join(tmpdir(), "switchyard-moving-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const file = language === "js" ? "snippet.mjs" : "snippet.py";
  const filled = text
    .replace("WRITE_KEY", KEY)
    .replace("https://calls.example.com", `http://127.0.0.1:${ingest.port}`)
    .replace("Moved", `Moved ${info}`);
  writeFileSync(join(folder, file), filled);
  await run(language === "js" ? process.execPath : pythonOf(info), [file], { cwd: folder });
  const call = { type: "track", userId: "u-1", event: `Moved ${info}` };
  await expect.poll(() => calls.values()).toContainEqual(expect.objectContaining(call));
});
