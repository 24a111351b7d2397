// The image contains compiled code: its build compiles exactly the code that a start needs.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const DOCKERFILE = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8");
const cache = mkdtempSync(join(tmpdir(), "switchyard-compiled-"));
afterAll(() => rmSync(cache, { recursive: true }));

const CONFIG = join(cache, "switchyard.yaml");
writeFileSync(
  CONFIG,
  `
kafka: { brokers: ["127.0.0.1:1"], startTimeout: 1ms }
sources: [{ id: web, writeKey: k, destinations: [hook] }]
destinations: [{ id: hook, type: webhook, endpoints: [{ url: "https://hook.example.com/" }] }]
admin: { host: 127.0.0.1, port: 0 }
`,
);

/** Flags with which Node prints its own loaded modules on standard error, including its TypeScript compiler (amaro). */
const SHOWS_NODE_MODULES = [
  "--import",
  "data:text/javascript,process.on('exit',()=>console.error(process.moduleLoadList.join()))",
];

/** Returns the words of an instruction that runs Node. */
function words(instruction: string): readonly string[] {
  const line = DOCKERFILE.split("\n").find((each) => each.startsWith(`${instruction} ["node"`));
  return JSON.parse(line?.slice(instruction.length) ?? "[]") as string[];
}

async function node(args: readonly string[]): Promise<string> {
  const { SWITCHYARD_KAFKA_BROKERS: _, ...env } = process.env;
  const options = { cwd: ROOT, env: { ...env, NODE_COMPILE_CACHE: join(cache, "compiled") } };
  const ran = promisify(execFile)(process.execPath, [...args], options);
  const ended = await ran.catch((error: unknown) => error as { readonly stderr: string });
  return ended.stderr;
}

function kept(): readonly string[] {
  return readdirSync(join(cache, "compiled"), { recursive: true, encoding: "utf8" });
}

test("the image's start finds all it loads compiled, under the same flags", async () => {
  const [, ...compile] = words("RUN");
  const [, ...start] = words("ENTRYPOINT");
  const [flags, entry] = [start.slice(0, -1), start.at(-1)];
  // The name of the folder depends on the flags, among other things.
  expect(compile).toEqual([
    ...flags,
    "--import",
    "./src/program/cli/load-all.ts",
    entry,
    "--version",
  ]);
  expect(await node(compile)).toBe("");
  const built = kept();
  expect(built.length).toBeGreaterThan(300);
  const said = await node([...SHOWS_NODE_MODULES, ...start, "run", "--config", CONFIG]);
  expect(said).toContain("No Kafka broker responded");
  // A single file of Switchyard that is not compiled would load it.
  expect(said).toContain("internal/modules/esm/loader");
  expect(said).not.toContain("internal/deps/amaro");
  // These are modules of dependencies that are loaded at their first use.
  expect(kept().length - built.length).toBeLessThan(0.02 * built.length);
});
