// The last lines before a process ends are those that say why: none may be lost.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const LOG = new URL("../../src/telemetry/log.ts", import.meta.url).href;
/** More than a pipe holds. */
const LINES = 2_000;

test.each([
  ["nothing left to do", "", 0],
  ["process.exit", "process.exit(3)", 3],
  ["an exception that nobody catches", "throw new Error('nobody catches it')", 1],
  ["a rejection that nobody handles", "void Promise.reject(new Error('nobody handles it'))", 1],
])("a process that ends because of %s has written every line", async (_name, end, status) => {
  const program = `
    import { createLog } from ${JSON.stringify(LOG)};
    const log = createLog("info");
    for (let number = 1; number <= ${LINES}; number += 1) {
      log.warn({ number, text: "${"x".repeat(60)}" }, "a.line");
    }
    ${end};
  `;
  const argv = ["--input-type=module", "--eval", program];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "ignore"] });
  const [ended, output] = await Promise.all([once(child, "exit"), text(child.stdout)]);
  expect(ended).toEqual([status, null]);
  const numbers = output
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { readonly number: number }).number);
  expect(numbers).toHaveLength(LINES);
  expect(numbers.at(-1)).toBe(LINES);
});
