// `config init` writes a file that the program accepts and editors can check, and overwrites nothing.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

import { runProgram } from "../../../../../src/program/cli/program.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-init-"));
  folders.push(folder);
  return folder;
}

async function run(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const shell = fakeShell([], env);
  const status = await runProgram([...args], shell);
  return { status, out: shell.output(), err: shell.errors() };
}

test("the first file can be used as soon as its variables are set", async () => {
  const folder = newFolder();
  const file = join(folder, "first.yaml");
  expect(await run(["config", "init", file])).toMatchObject({ status: 0, err: "" });
  const secrets = { WRITE_KEY: "a-write-key", CRM_SECRET: "0123456789abcdef0123456789abcdef" };
  expect(await run(["config", "check", "--config", file], secrets)).toMatchObject({
    status: 0,
    out: expect.stringContaining("1 source, 1 destination."),
    err: "",
  });
  expect((await run(["config", "check", "--config", file])).err).toContain("WRITE_KEY");
});

test("its first line names the schema that lies next to it", async () => {
  const folder = newFolder();
  await run(["config", "init", join(folder, "switchyard.yaml")]);
  expect(readdirSync(folder).toSorted()).toEqual(["switchyard.schema.json", "switchyard.yaml"]);
  const [first] = readFileSync(join(folder, "switchyard.yaml"), "utf8").split("\n");
  expect(first).toBe("# yaml-language-server: $schema=switchyard.schema.json");
  const { out } = await run(["config", "schema"]);
  expect(readFileSync(join(folder, "switchyard.schema.json"), "utf8")).toBe(out);
  expect(JSON.parse(out).properties).toHaveProperty("destinations");
});

test("an existing file is not overwritten", async () => {
  const file = join(newFolder(), "switchyard.yaml");
  writeFileSync(file, "mine");
  const { status, err } = await run(["config", "init", file]);
  expect({ status, err }).toEqual({
    status: 1,
    err: `Cannot write ${file}: it already exists. Choose another file, or remove this one.\n`,
  });
  expect(readFileSync(file, "utf8")).toBe("mine");
});

test("- prints the file and writes nothing", async () => {
  const { status, out } = await run(["config", "init", "-"]);
  expect(status).toBe(0);
  expect(out).toMatch(/^# Configuration of Switchyard/);
});
