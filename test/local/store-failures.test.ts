// A real store on a disk that is full or read-only, or with truncated or overwritten files: whether it is reopened
// later, or removed and rebuilt.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { inNamespaces, whyNoDisk } from "../support/script/small-disk.ts";

const SCRIPT = join(import.meta.dirname, "../support/script/store-on-small-disk.ts");

test.for<readonly [string, readonly string[]]>([
  [
    "full",
    [
      ...["write: unavailable", "again: unavailable", "close: fine", "open: unavailable"],
      ...["open: fine", "getMany: fine", "pieces: fine"],
    ],
  ],
  ["read-only", ["open: unavailable", "open: fine"]],
  ["cut", ["getMany: corrupt", "pieces: corrupt"]],
  ["overwritten", ["getMany: corrupt", "pieces: corrupt"]],
])("a store whose disk or files are %s", ([wrong, reported], { skip }) => {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-disk-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const why = whyNoDisk(directory);
  if (why !== null) return skip(why);
  const [command = "", ...args] = inNamespaces(process.execPath, SCRIPT, directory, wrong);
  const { stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  expect({ stderr, lines: stdout.trim().split("\n") }).toEqual({ stderr: "", lines: reported });
});
