// `config diff --admin`: the hash in the status of processes shows whether they run the current file.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { configHash } from "../../src/config/hash.ts";
import { runProgram } from "../../src/program/cli/program.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { config, SMALL } from "../support/build/config-source.ts";
import { useReceiver } from "../support/kit/receiver.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-diff-"));
afterAll(() => rmSync(folder, { recursive: true }));

const OTHER = SMALL.replace("a.example.com", "b.example.com");
const inPlace = join(folder, "in-place.yaml");
const other = join(folder, "other.yaml");
writeFileSync(inPlace, SMALL);
writeFileSync(other, OTHER);

/** Serves the status of a process with the configuration. */
async function serving(configuration: object): Promise<string> {
  const status = JSON.stringify({ version: "1.2.3", configuration });
  return `127.0.0.1:${(await useReceiver(() => ({ body: status }))).port}`;
}

async function diff(file: string, admin: string) {
  const shell = fakeShell();
  const args = ["config", "diff", "--config", inPlace, "--admin", admin, file];
  const status = await runProgram(args, shell);
  return { status, last: shell.output().trim().split("\n").at(-1) };
}

test.each([
  [configHash(config(SMALL)), inPlace, 0, "runs the current configuration."],
  [configHash(config(SMALL)), other, 1, "runs the current configuration."],
  [configHash(config(OTHER)), other, 1, "already runs the proposed configuration."],
  ["0123456789ab", inPlace, 1, "runs neither of the two configurations (hash 0123456789ab)"],
])("a process with the hash %s, compared with %s: status %i, %s", async (...row) => {
  const [hash, file, status, says] = row;
  const process = await serving({ hash });
  const said = await diff(file, process);
  expect(said.status).toBe(status);
  expect(said.last).toContain(`${process} ${says}`);
});

test("a process that names no hash, and one that is gone", async () => {
  const old = await serving({});
  expect(await diff(inPlace, old)).toEqual({
    status: 1,
    last: `Cannot read the hash of ${old}: it reports no hash`,
  });
  const gone = `127.0.0.1:${await freePort()}`;
  expect(await diff(inPlace, gone)).toEqual({
    status: 1,
    last: `Cannot read the hash of ${gone}: ECONNREFUSED`,
  });
});
