import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadConfig } from "../../../../../src/config/load.ts";
import { followFile } from "../../../../../src/program/cli/console/serve.ts";

let folder: string;
let file: string;
let nowMs: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-follow-"));
  file = join(folder, "switchyard.yaml");
  nowMs = 0;
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(...ids: readonly string[]): void {
  const destinations = ids.map((id) => `  - { id: ${id}, type: topic, name: ${id} }\n`).join("");
  writeFileSync(file, `kafka: { brokers: "127.0.0.1:1" }\ndestinations:\n${destinations}`);
}

const load = () => loadConfig({ file, env: {} });

function follow(): () => readonly string[] {
  const first = load();
  if (first.kind !== "config") throw new Error("the file is wrong");
  const current = followFile(first, load, () => nowMs);
  return () => current().config.destinations.map(({ id }) => id);
}

test("a change is seen after at most a second", () => {
  write("crm");
  const ids = follow();
  write("crm", "shop");
  expect(ids()).toEqual(["crm"]);
  nowMs += 1_000;
  expect(ids()).toEqual(["crm", "shop"]);
});

test("a file that cannot be used, or is gone, leaves the one before; the next one counts", () => {
  write("crm");
  const ids = follow();
  writeFileSync(file, "kafka: [");
  nowMs += 1_000;
  expect(ids()).toEqual(["crm"]);
  rmSync(file);
  nowMs += 1_000;
  expect(ids()).toEqual(["crm"]);
  write("shop", "mail");
  nowMs += 1_000;
  expect(ids()).toEqual(["shop", "mail"]);
});
