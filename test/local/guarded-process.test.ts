// A process that a tool or a bench starts ends with the tool or bench, however that ends.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { freePort } from "../../tools/kafka/free-port.ts";
import { spawnGuarded } from "../../tools/kafka/guarded-process.ts";
import { isAlive } from "../../tools/kafka/process.ts";

const ROOT = new URL("../../", import.meta.url);
const SIGNALS = ["SIGKILL", "SIGTERM", "SIGINT"] as const;

let temporary = "";
beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), "switchyard-test-"));
});
afterEach(() => rmSync(temporary, { recursive: true, force: true }));

/** Runs a module that can import from the project. */
function startParent(source: string): ChildProcess {
  const argv = ["--input-type=module", "--eval", source];
  return spawn(process.execPath, argv, {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

test.each(SIGNALS)("a parent that ends with %s takes its child and its files", async (signal) => {
  const directory = join(temporary, "files");
  mkdirSync(directory);
  const parent = startParent(`
    import { spawnGuarded } from "${ROOT}tools/kafka/guarded-process.ts";
    const command = [process.execPath, "--eval", "setInterval(() => undefined, 1_000)"];
    const child = spawnGuarded(${JSON.stringify(directory)}, command, { output: ["ignore", "inherit"] });
    process.stdout.write(String(child.pid));
  `);
  const [pid] = parent.stdout === null ? [] : await once(parent.stdout, "data");
  expect(isAlive(Number(pid))).toBe(true);
  parent.kill(signal);
  await expect.poll(() => isAlive(Number(pid))).toBe(false);
  await expect.poll(() => existsSync(directory)).toBe(false);
});

test("a child that ends by itself gives its status, and its files stay", async () => {
  const command = [process.execPath, "--eval", "process.exitCode = 7"];
  const child = spawnGuarded(temporary, command, { output: ["ignore", "inherit"] });
  expect(await once(child, "exit")).toEqual([7, null]);
  expect(existsSync(temporary)).toBe(true);
});

test("tests that are killed leave no program behind", async () => {
  const nowhere = `127.0.0.1:${await freePort()}`;
  const tests = startParent(`
    import { programWorld } from "${ROOT}test/support/servers/program.ts";
    const world = programWorld("kafka: { brokers: '${nowhere}', startTimeout: 10m }");
    const { child, logged } = world.start();
    await logged("starting");
    process.stdout.write(String(child.pid));
  `);
  const [pid] = tests.stdout === null ? [] : await once(tests.stdout, "data");
  expect(isAlive(Number(pid))).toBe(true);
  expect(readdirSync(temporary)).toHaveLength(1);
  tests.kill("SIGKILL");
  await expect.poll(() => isAlive(Number(pid))).toBe(false);
  await expect.poll(() => readdirSync(temporary)).toEqual([]);
});

test("a bench that is ended leaves no program behind", async () => {
  const nowhere = `127.0.0.1:${await freePort()}`;
  const bench = startParent(`
    import { startProgram } from "${ROOT}bench/program.ts";
    await startProgram({
      brokers: "${nowhere}", topicPrefix: "p.", stages: ["route"], destinations: [],
    });
  `);
  const configurations = () =>
    readdirSync(temporary).map((name) => join(temporary, name, "switchyard.yaml"));
  await expect.poll(() => configurations().filter(existsSync)).toHaveLength(1);
  // The file exists before it is written.
  const { admin } = await vi.waitFor(() => {
    const [file = ""] = configurations();
    return JSON.parse(readFileSync(file, "utf8")) as { admin: { port: number } };
  });
  const lives = () =>
    fetch(`http://127.0.0.1:${admin.port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(lives).toBe(true);
  bench.kill("SIGTERM");
  await expect.poll(lives).toBe(false);
  await expect.poll(configurations).toEqual([]);
});
