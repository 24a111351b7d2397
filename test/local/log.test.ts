// The last lines before a process ends show the reason, so none of them may be lost.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const LOG = new URL("../../src/base/telemetry/log.ts", import.meta.url).href;
/** This is more than a pipe can contain. */
const MANY = 2_000;
/** This is less than the log collects for one write. */
const FEW = 3;

const WAYS = [
  ["nothing left to do", "", 0],
  ["process.exit", "process.exit(3)", 3],
  ["an exception that nobody catches", "throw new Error('nobody catches it')", 1],
  ["a rejection that nobody handles", "void Promise.reject(new Error('nobody handles it'))", 1],
] as const;

/** Returns a program that writes this many lines at once, and then runs `then`. */
function writing(lines: number, then: string) {
  const program = `
    import { createLog } from ${JSON.stringify(LOG)};
    const log = createLog("info");
    for (let number = 1; number <= ${lines}; number += 1) {
      log.warn({ number, text: "${"x".repeat(60)}" }, "a.line");
    }
    ${then};
  `;
  return spawnProgram(program);
}

/** Starts a program that writes the given lines. */
function spawnLines(lines: string) {
  return spawnProgram(
    `import { createLog } from ${JSON.stringify(LOG)}; const log = createLog("info"); ${lines}`,
  );
}

function spawnProgram(program: string) {
  const argv = ["--input-type=module", "--eval", program];
  return spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "ignore"] });
}

function numbersIn(output: string): readonly number[] {
  const lines = output.trimEnd().split("\n");
  return lines.map((line) => (JSON.parse(line) as { readonly number: number }).number);
}

test.each(
  WAYS.flatMap(([name, end, status]) =>
    [FEW, MANY].map((lines) => [lines, name, end, status] as const),
  ),
)(
  "of %d lines, a process that ends because of %s has written each",
  async (lines, _name, end, status) => {
    const child = writing(lines, end);
    const [ended, output] = await Promise.all([once(child, "exit"), text(child.stdout)]);
    expect(ended).toEqual([status, null]);
    const numbers = numbersIn(output);
    expect(numbers).toHaveLength(lines);
    expect(numbers.at(-1)).toBe(lines);
  },
);

test("a line of any length comes whole and in its place", async () => {
  const then = `
    log.warn({ number: 2, text: "\u20ac".repeat(60_000) }, "a.line");
    log.warn({ number: 3, text: "\u20ac".repeat(20_000) }, "a.line");
    log.warn({ number: 4 }, "a.line")`;
  const child = writing(1, then);
  const output = await text(child.stdout);
  expect(numbersIn(output)).toEqual([1, 2, 3, 4]);
  expect(output.match(/\u20ac/g)).toHaveLength(80_000);
});

test("a line that is handed over as text comes in its place, and reads as one of fields", async () => {
  const child = spawnLines(`
    log.info({ number: 1, text: "x" }, "a.line");
    log.infoText('"number":2,"text":"x"', "a.line");
    log.info({ number: 3, text: "x" }, "a.line");
  `);
  const output = await text(child.stdout);
  const [first = "", second = "", third = ""] = output.split("\n");
  const bare = (line: string) => line.replace(/"time":"[^"]+"/, "").replace(/"number":\d/, "");
  expect(numbersIn(output)).toEqual([1, 2, 3]);
  expect([second, third].map(bare)).toEqual([bare(first), bare(first)]);
});

test("a few lines come out together while the process continues", async () => {
  const child = writing(FEW, "setInterval(() => undefined, 60_000)");
  const [chunk] = (await once(child.stdout, "data")) as [Buffer];
  child.kill("SIGKILL");
  expect(numbersIn(`${chunk}`)).toHaveLength(FEW);
});

test("lines that were logged before the log was flushed stay in order, even if the threads that write are busy", async () => {
  const child = spawnProgram(`
    import { createLog, flushLog } from ${JSON.stringify(LOG)};
    import { pbkdf2 } from "node:crypto";
    const log = createLog("info");
    for (let thread = 0; thread < 4; thread += 1) {
      pbkdf2("secret", "salt", 200_000, 64, "sha512", () => undefined);
    }
    log.warn({ number: 1 }, "a.line");
    // The log passes this line to a thread after 50 ms.
    setTimeout(async () => {
      log.warn({ number: 2 }, "a.line");
      await flushLog();
      process.exit(0);
    }, 60);
  `);
  expect(numbersIn(await text(child.stdout))).toEqual([1, 2]);
});

/** A program that logs 8 MiB, more than may wait, then flushes the log and exits with 3. */
const FLOOD = `
  import { createLog, droppedLines, flushLog, logProblems } from ${JSON.stringify(LOG)};
  const log = createLog("info");
  const text = "x".repeat(8_192);
  for (let number = 1; number <= 1_000; number += 1) log.warn({ number, text }, "a.line");
  await new Promise(setImmediate);
  await flushLog();
  process.stderr.write(JSON.stringify([droppedLines(), logProblems()]));
  process.exit(3);
`;

test.each([
  ["a device that is full", "exec >/dev/full;", 1_000, "ENOSPC"],
  ["a pipe whose reader is gone", "exec >&4;", 1_000, "EPIPE"],
  ["a pipe that nobody reads", "exec >&5;", 200, "it is not read fast enough"],
])("a process whose log goes to %s counts lines and ends", async (_name, to, least, problem) => {
  const argv = ["-c", `${to} exec "$0" "$@"`, process.execPath, "--input-type=module", "--eval"];
  const stdio = ["ignore", "ignore", "pipe", "ignore", "pipe", "pipe"] as const;
  const child = spawn("/bin/sh", [...argv, FLOOD], { stdio: [...stdio] });
  child.stdio[4]?.destroy();
  const [ended, output] = await Promise.all([
    once(child, "exit"),
    text(child.stderr as NodeJS.ReadableStream),
  ]);
  for (const pipe of [...child.stdio]) pipe?.destroy();
  const [dropped, problems] = JSON.parse(output) as [number, readonly string[]];
  expect(ended).toEqual([3, null]);
  expect(dropped).toBeGreaterThanOrEqual(least);
  expect(problems).toEqual([expect.stringContaining(problem)]);
});
