// A local Kafka leaves nothing behind, however the process that started it ends.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { chooseJava } from "../../tools/kafka/choose.ts";
import { archiveOptions, ensureClassArchive } from "../../tools/kafka/class-archive.ts";
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

test("a broker starts with the archive of its classes, which is written once", async (context) => {
  const { signal } = new AbortController();
  const choice = await chooseJava(signal, () => undefined).catch(() => null);
  if (choice === null) return context.skip("needs Java");
  await prepareBroker(choice.java, choice.jars, temporary, signal);
  const written = () => Promise.reject(new Error("written again"));
  await ensureClassArchive(choice, signal, written);
  // With this option, Java does not start if it cannot use the archive.
  const options = ["-Xshare:on", ...archiveOptions(choice)];
  const command = [...options, "-cp", join(choice.jars, "*"), "kafka.Kafka"];
  expect(options).toHaveLength(2);
  expect(spawnSync(choice.java, command, { encoding: "utf8" }).stderr).toContain("USAGE");
});

test("without an archive a broker starts all the same, and no other is tried", async (context) => {
  const java = findJava();
  if ("problem" in java) return context.skip(`needs Java: ${java.problem}`);
  const { signal } = new AbortController();
  const choice = { java: java.path, jars: temporary };
  const tried: string[] = [];
  const failing = (file: string) => {
    tried.push(file);
    writeFileSync(file, "half");
    return Promise.reject(new Error("the broker did not start"));
  };
  for (let times = 0; times < 2; times += 1) await ensureClassArchive(choice, signal, failing);
  expect(tried).toHaveLength(1);
  expect(archiveOptions(choice)).toEqual([]);
  expect(readdirSync(temporary)).toEqual([expect.stringMatching(/\.jsa$/)]);
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
