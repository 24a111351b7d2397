// A local Kafka leaves nothing behind, however the process that started it ends.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { prepareBroker, startBroker } from "../../tools/kafka/java.ts";
import { findJava } from "../../tools/kafka/java-home.ts";
import { responds } from "../../tools/kafka/probe.ts";
import { startKafka } from "../../tools/kafka/start.ts";

const START = new URL("../../tools/kafka/start.ts", import.meta.url).href;
/** A broker that has just started may be slow to respond. */
const SLOW_MS = 30_000;

let temporary = "";
beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), "switchyard-test-"));
});
afterEach(() => rmSync(temporary, { recursive: true, force: true }));

test("a killed broker comes back at the same address, and stopping it ends it", async () => {
  const kafka = await startKafka({ private: true });
  const [address = ""] = kafka.brokers;
  expect(await responds(address, SLOW_MS)).toBe(true);
  await kafka.kill();
  expect(await responds(address)).toBe(false);
  await kafka.restart();
  expect(await responds(address, SLOW_MS)).toBe(true);
  await kafka.stop();
  expect(await responds(address)).toBe(false);
});

// The guard is the same for every way to end. test/local/guarded-process.test.ts has the other ways.
test("a parent that ends with SIGKILL takes its broker and the data along", async () => {
  const [parent, address] = await parentWithBroker();
  expect(await responds(address, SLOW_MS)).toBe(true);
  parent.kill("SIGKILL");
  await expect.poll(() => responds(address)).toBe(false);
  await expect.poll(() => readdirSync(temporary)).toEqual([]);
});

test("giving up while it starts leaves nothing behind", async () => {
  const giveUp = new AbortController();
  const log = (line: string) => {
    if (line.startsWith("starting")) setImmediate(() => giveUp.abort(new Error("given up")));
  };
  vi.stubEnv("TMPDIR", temporary);
  const starting = startKafka({ private: true, signal: giveUp.signal, log });
  await expect(starting).rejects.toThrow("given up");
  vi.unstubAllEnvs();
  expect(readdirSync(temporary)).toEqual([]);
});

test("a broker that does not start is an error that quotes its log and names its place", async (context) => {
  const java = findJava();
  if ("problem" in java) return context.skip(`needs Java: ${java.problem}`);
  const signal = new AbortController().signal;
  const noJars = join(temporary, "no-jars");
  const prepared = prepareBroker(java.path, noJars, temporary, signal);
  await expect(prepared).rejects.toThrow(/could not format.*StorageTool/s);
  const place = { directory: temporary, address: "127.0.0.1:1", behind: [], javaOptions: [] };
  const broker = { java: java.path, jars: noJars, ...place };
  const started = startBroker(broker, "guarded", signal);
  await expect(started).rejects.toThrow(/did not start.*kafka\.Kafka.*kafka\.log/s);
});

/** Starts a process that starts a broker, with its files in `temporary`, and then waits. */
async function parentWithBroker(): Promise<[ChildProcess, address: string]> {
  const program = `
    import { startKafka } from ${JSON.stringify(START)};
    const kafka = await startKafka({ private: true });
    process.stdout.write(kafka.brokers[0]);
    setInterval(() => undefined, 1_000);
  `;
  const parent = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [address] = await once(parent.stdout, "data");
  return [parent, String(address)];
}
