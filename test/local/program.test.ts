// The program as users start it: shebang file, Node, exit status, streams.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, expect, test } from "vitest";

import { runProgram } from "../../src/program/cli/program.ts";
import { SMALL } from "../support/build/config-source.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";

const folder = mkdtempSync(join(tmpdir(), "switchyard-program-"));
afterAll(() => rmSync(folder, { recursive: true }));

const GOOD = file("good.yaml", SMALL);
const BAD = file("bad.yaml", "kafka: { partitions: 0 }\nlog: { level: loud }");

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const BIN = join(import.meta.dirname, "../../bin/switchyard.js");

test("without a reader of its errors a command ends as it would have with one", async () => {
  const child = spawn(process.execPath, [BIN, "config", "check", "-c", BAD]);
  child.stderr.destroy();
  expect(await once(child, "exit")).toEqual([2, null]);
});

test("a command that only prints ends with its reader", async () => {
  const child = spawn(process.execPath, [BIN, "explain", "-c", GOOD]);
  child.stdout.destroy();
  // The standard input stays open.
  child.stdin.write('{"type":"identify","userId":"u"}\n');
  expect(await once(child, "exit")).toEqual([0, null]);
});

test.each([
  [["config", "check", "-c", GOOD], 0, "The configuration is valid", ""],
  [["config", "check", "-c", BAD], 2, "", "3 problems"],
  [["sign", "--secret", "abc123", "/no/such/file"], 1, "", "cannot be read"],
] as const)("bin/switchyard.js %j ends with %i", (args, status, out, err) => {
  const { SWITCHYARD_KAFKA_BROKERS: _brokers, ...env } = process.env;
  const ended = spawnSync(process.execPath, [BIN, ...args], { encoding: "utf8", env });
  expect(ended.status).toBe(status);
  expect(ended.stdout).toContain(out);
  expect(ended.stderr).toContain(err);
});

test("a proxy in the environment is named in one warning, without its value", async () => {
  const env = {
    ...process.env,
    SWITCHYARD_KAFKA_BROKERS: "127.0.0.1:1",
    HTTPS_PROXY: "",
    https_proxy: "http://u:hunter2@proxy.example:3128",
    HTTP_PROXY: "http://proxy.example:3128",
  };
  const config = file("proxy.yaml", `${SMALL}admin: { port: 0 }`);
  const child = spawn(process.execPath, [BIN, "run", "-c", config], { env });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (line.includes("kafka.waiting")) child.kill();
  }
  const named = lines.filter((line) => line.includes("proxy.not-used"));
  expect(named).toHaveLength(1);
  expect(JSON.parse(named[0] ?? "")).toMatchObject({
    level: "warn",
    msg: "proxy.not-used",
    variables: expect.toSatisfy((names: string[]) =>
      ["HTTP_PROXY", "https_proxy"].every((name) => names.includes(name)),
    ),
  });
  expect(lines.join()).not.toContain("hunter2");
});

test("without --config a command reads switchyard.yaml in the working directory, and names the file", () => {
  const run = (cwd: string, ...args: string[]) => {
    const { SWITCHYARD_KAFKA_BROKERS: _brokers, SWITCHYARD_CONFIG: _config, ...env } = process.env;
    return spawnSync(process.execPath, [BIN, ...args], { encoding: "utf8", env, cwd });
  };
  const empty = mkdtempSync(join(folder, "empty-"));
  expect(run(empty, "config", "check")).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("there is no switchyard.yaml in this folder"),
  });
  const used = mkdtempSync(join(folder, "used-"));
  writeFileSync(join(used, "switchyard.yaml"), SMALL);
  expect(run(used, "config", "check")).toMatchObject({
    status: 0,
    stderr: "Configuration file: ./switchyard.yaml\n",
  });
  // A file that is named takes precedence, and is not mentioned.
  expect(run(used, "config", "check", "-c", GOOD)).toMatchObject({ status: 0, stderr: "" });
  expect(run(used, "config", "check", "-c", BAD)).toMatchObject({ status: 2 });
});

/** Only the secret of a source is missing, and no broker responds. */
const WITHOUT_SECRETS = file(
  "without-secrets.yaml",
  `${SMALL.replace("kafka-1:9092", "127.0.0.1:1").replace("writeKey: k1", `writeKey: "\${WEB_KEY}"`)}`,
);

test.each([
  ["status", 1],
  ["pause hook", 1],
  ["resume hook", 1],
  ["retry hook", 1],
  ["wait hook", 1],
  ["cancel hook --yes", 1],
  ["dead-letters list", 1],
  ["dead-letters replay --destination hook --yes", 1],
  ["timeline m-1", 1],
  ["audience list", 1],
  ["audience approve vip", 1],
  ["skip-corrupt-batch switchyard.calls 0 0", 1],
  ["run", 2],
  ["config check", 2],
  ["topics", 2],
  ["acls", 2],
  ["publish", 2],
  ["explain", 2],
  ["replay hook --since 1h", 2],
  ["delete u-1", 2],
])(
  "without the secret of a source, `%s` ends with %i: 1 is because of Kafka",
  async (command, status) => {
    const shell = fakeShell();
    const args = [...command.split(" "), "-c", WITHOUT_SECRETS];
    const quick = status === 1 ? ["--kafka-timeout", "1ms"] : [];
    expect([await runProgram([...args, ...quick], shell), shell.errors()]).toEqual([
      status,
      expect.stringContaining("sources[0].writeKey (line 4)"),
    ]);
    if (status === 1) expect(shell.errors().match(/warning:/g)).toHaveLength(1);
  },
);
