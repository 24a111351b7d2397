// Files that are changed and replaced in every usual way.

import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as timer } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { watchFiles } from "../../src/program/run/watch-files.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "watch-files-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

/** This is less than the time for which the watcher waits for the next piece. */
const PAUSE_MS = 50;
const at = (...names: readonly string[]) => join(folder, ...names);

/** Counts the changes after the first check. */
async function watched(...files: readonly string[]) {
  const seen = { changes: -1 };
  const watch = watchFiles(files, async () => {
    seen.changes += 1;
  });
  onTestFinished(() => watch[Symbol.dispose]());
  await expect.poll(() => seen.changes).toBe(0);
  return { seen, watch };
}

test.each<readonly [string, (file: string) => void]>([
  ["written", (file) => writeFileSync(file, "b")],
  ["appended to", (file) => appendFileSync(file, "b")],
  [
    "exchanged by a rename",
    (file) => {
      writeFileSync(`${file}.tmp`, "b");
      renameSync(`${file}.tmp`, file);
    },
  ],
  ["removed", (file) => rmSync(file)],
])("a file that is %s", async (_how, change) => {
  writeFileSync(at("a"), "a");
  const { seen } = await watched(at("a"));
  change(at("a"));
  await expect.poll(() => seen.changes).toBe(1);
});

test("a file that is touched, or written with the same content, has not changed", async () => {
  writeFileSync(at("a"), "a");
  writeFileSync(at("b"), "b");
  const { seen } = await watched(at("a"), at("b"));
  utimesSync(at("a"), 1, 1);
  writeFileSync(at("a"), "a");
  writeFileSync(at("elsewhere"), "a");
  // Only the next real change is reported.
  writeFileSync(at("b"), "c");
  await expect.poll(() => seen.changes).toBe(1);
});

test("a file that comes to be, in a folder that comes to be", async () => {
  const { seen } = await watched(at("late", "file"));
  mkdirSync(at("late"));
  writeFileSync(at("late", "file"), "a");
  await expect.poll(() => seen.changes).toBe(1);
});

test("a file that appears in a folder, or leaves it", async () => {
  mkdirSync(at("teams"));
  const { seen } = await watched(at("teams"));
  writeFileSync(at("teams", "crm.yaml"), "a");
  await expect.poll(() => seen.changes).toBe(1);
  rmSync(at("teams", "crm.yaml"));
  await expect.poll(() => seen.changes).toBe(2);
});

test("a link in the middle of the path that is put in another's place, as Kubernetes does", async () => {
  for (const [name, text] of [
    ["one", "a"],
    ["two", "b"],
    ["three", "c"],
  ] as const) {
    mkdirSync(at(name));
    writeFileSync(at(name, "file"), text);
  }
  symlinkSync("one", at("..data"));
  symlinkSync(join("..data", "file"), at("file"));
  const { seen } = await watched(at("file"));
  for (const [count, name] of [
    [1, "two"],
    [2, "three"],
  ] as const) {
    symlinkSync(name, at("..tmp"));
    renameSync(at("..tmp"), at("..data"));
    await expect.poll(() => seen.changes).toBe(count);
  }
  rmSync(at("one"), { recursive: true });
});

test("links in a circle are no change, and no end", async () => {
  symlinkSync("b", at("a"));
  symlinkSync("a", at("b"));
  const { seen } = await watched(at("a"));
  rmSync(at("b"));
  writeFileSync(at("b"), "now a file");
  await expect.poll(() => seen.changes).toBe(1);
});

test("a file that is written in pieces is one change, when the last one is there", async () => {
  writeFileSync(at("a"), "a");
  const { seen } = await watched(at("a"));
  let pauses = 0;
  for (let piece = 0; piece < 20; piece += 1) {
    const fromMs = performance.now();
    appendFileSync(at("a"), "b");
    await timer(5);
    // On a busy machine, the writer may pause for so long that the file seems complete.
    if (performance.now() - fromMs > PAUSE_MS) pauses += 1;
  }
  await expect.poll(() => seen.changes).toBeGreaterThanOrEqual(1);
  await timer(500);
  expect(seen.changes).toBeLessThanOrEqual(3 + pauses);
});

test("files that are followed later are watched, and those before no longer", async () => {
  writeFileSync(at("a"), "a");
  writeFileSync(at("b"), "b");
  const { seen, watch } = await watched(at("a"));
  watch.follow([at("b")]);
  writeFileSync(at("b"), "c");
  await expect.poll(() => seen.changes).toBeGreaterThanOrEqual(1);
  await timer(300);
  const before = seen.changes;
  writeFileSync(at("a"), "b");
  writeFileSync(at("b"), "d");
  await expect.poll(() => seen.changes).toBe(before + 1);
});

test("a file that was not written for long, and then in place, has changed", async () => {
  writeFileSync(at("a"), "a");
  const { seen } = await watched(at("a"));
  // By then, its times are certain, so it is not read again.
  await timer(4_000);
  writeFileSync(at("a"), "b");
  await expect.poll(() => seen.changes).toBe(1);
  writeFileSync(at("a"), "c");
  await expect.poll(() => seen.changes).toBe(2);
});
