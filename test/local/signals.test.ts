// How the program starts and ends: which signals reach it through npm and through an older Node, which of them end it,
// and the flags with which it runs.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";

import { SMALL } from "../support/build/config-source.ts";

const ROOT = join(import.meta.dirname, "../..");
/** A stand-in for the program: it stops gracefully when requested, and prints the signals that reach it. */
const PROGRAM = `
  import { shutdownSignal } from ${JSON.stringify(join(ROOT, "src/base/runtime/shutdown.ts"))};
  let nowMs = 0;
  const { signal } = shutdownSignal(() => nowMs);
  signal.addEventListener("abort", () => console.log(signal.reason));
  process.stdin.on("data", (wish) => {
    if (String(wish).includes("end")) process.exit(signal.aborted ? 0 : 9);
    nowMs += 500;
    console.log("alive");
  });
  console.log("up", ...process.execArgv);
`;

let clone = "";
beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), "switchyard-signals-"));
  cpSync(join(ROOT, "bin"), join(clone, "bin"), { recursive: true });
  for (const folder of ["src", "node_modules/node/bin"]) {
    mkdirSync(join(clone, folder), { recursive: true });
  }
  writeFileSync(join(clone, "package.json"), '{ "type": "module" }');
  writeFileSync(join(clone, "src/main.ts"), PROGRAM);
  symlinkSync(process.execPath, join(clone, "node_modules/node/bin/node"));
  writeFileSync(
    join(clone, "switchyard.yaml"),
    `${SMALL.replace("kafka-1:9092", "127.0.0.1:1")}\nadmin: { host: 127.0.0.1, port: 0 }\n`,
  );
});
afterAll(() => rmSync(clone, { recursive: true }));

/** Starts the command in a separate process group, to which the test may send signals. */
function start(command: string, args: readonly string[], cwd: string) {
  const child = spawn(command, args, { cwd, detached: true, stdio: ["pipe", "pipe", "inherit"] });
  const group = -(child.pid ?? Number.NaN);
  onTestFinished(() => {
    try {
      process.kill(group, "SIGKILL");
    } catch {
      // The process has ended, as expected.
    }
  });
  return { child, group, line: nextLine(child.stdout), ended: once(child, "close") };
}

/** Returns a function that resolves with the next line that contains a text. */
function nextLine(output: Readable): (text: string) => Promise<string> {
  const lines = createInterface(output)[Symbol.asyncIterator]();
  return async (text) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`it ended before it said ${text}`);
      if (value.includes(text)) return value;
    }
  };
}

function say(child: ChildProcess, wish: string): void {
  child.stdin?.write(`${wish}\n`);
}

const BIN = "bin/switchyard.js";

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s to npm stops the program in good order",
  async (signal) => {
    const args = ["run", "-s", "switchyard", "--", "run", "-c", join(clone, "switchyard.yaml")];
    const { child, line, ended } = start("npm", args, ROOT);
    // The program waits for brokers, but there are none.
    await line("admin.listening");
    child.kill(signal);
    expect(await ended).toEqual([0, null]);
  },
);

test("npm's way of starting `run` gives it its flags, and what somebody chose wins", async () => {
  const plain = start(process.execPath, [BIN, "run"], clone);
  expect(await plain.line("up")).toBe(
    "up --max-semi-space-size=16 --initial-old-space-size=160 --no-allocation-site-pretenuring --v8-pool-size=1",
  );
  const own = start(process.execPath, ["--max-semi-space-size=8", BIN, "run"], clone);
  expect(await own.line("up")).toMatch(/ --v8-pool-size=1 --max-semi-space-size=8$/);
  const short = start(process.execPath, [BIN, "status"], clone);
  expect(await short.line("up")).toBe("up");
});

test.for<readonly [string, () => string | null]>([
  ["this Node", () => process.execPath],
  ["the machine's own Node", machineNode],
])("SIGTERM again, to the whole group, ends nothing on %s", async ([, find], { skip }) => {
  const node = find();
  if (node === null) return skip("there is no other Node on the PATH");
  const { child, group, line, ended } = start(node, [BIN], clone);
  await line("up");
  process.kill(group, "SIGTERM");
  await line("SIGTERM");
  for (let times = 1; times <= 3; times += 1) {
    process.kill(group, "SIGTERM");
    say(child, "later");
    await line("alive");
  }
  say(child, "end");
  expect(await ended).toEqual([0, null]);
});

test("Ctrl-C that arrives twice is one; pressed again it ends the program at once", async () => {
  const { child, line, ended } = start(process.execPath, [BIN], clone);
  await line("up");
  child.kill("SIGINT");
  await line("SIGINT");
  child.kill("SIGINT");
  say(child, "later");
  await line("alive");
  child.kill("SIGINT");
  expect(await ended).toEqual([null, "SIGINT"]);
});

/** Returns a Node on the PATH other than the one that runs this test. */
function machineNode(): string | null {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = folders
    .filter((folder) => !folder.includes("node_modules"))
    .map((folder) => join(folder, "node"))
    .find((file) => existsSync(file));
  return found ?? null;
}
