// Checks the Dockerfile and the compose file without a container engine, and the files of the image.

import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Tool } from "../../tools/find-tool.ts";
import { findComposeLoader, findHadolint } from "../../tools/image/checkers.ts";

const execute = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const never = new AbortController().signal;
const silent = () => undefined;

const hadolint = await findHadolint(never, silent);
const loader = await findComposeLoader(never, silent);

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-image-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function skipped(checker: Tool): string {
  return checker.kind === "none" ? ` (left out: ${checker.why})` : "";
}

/** Returns its exit status and its whole output. */
async function check(
  checker: Tool,
  path: string,
): Promise<{ readonly status: number; readonly said: string }> {
  if (checker.kind === "none") throw new Error(checker.why);
  try {
    const { stdout, stderr } = await execute(checker.file, [path], { cwd: ROOT });
    return { status: 0, said: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { status: code, said: stdout + stderr };
  }
}

/** Returns a copy with one replaced text. */
function planted(path: string, from: string, to: string): string {
  const text = readFileSync(join(ROOT, path), "utf8");
  expect(text).toContain(from);
  const copy = join(folder, "planted");
  writeFileSync(copy, text.replaceAll(from, to));
  return copy;
}

test.skipIf(hadolint.kind === "none")(`hadolint finds nothing${skipped(hadolint)}`, async () => {
  expect(await check(hadolint, "deploy/Dockerfile")).toEqual({ status: 0, said: "" });
});

test.skipIf(hadolint.kind === "none")(`it finds a user by name${skipped(hadolint)}`, async () => {
  const copy = planted("deploy/Dockerfile", "USER 1000:1000", "USER node");
  const { status, said } = await check(hadolint, copy);
  expect(status).toBe(1);
  expect(said).toContain("Non-numeric user-id");
});

test.skipIf(loader.kind === "none")(
  `compose reads the file, its variables with defaults${skipped(loader)}`,
  async () => {
    const { status, said } = await check(loader, "docker-compose.yml");
    expect(status).toBe(0);
    expect(said).toContain("WEB_WRITE_KEY: web-write-key");
  },
);

test.skipIf(loader.kind === "none")(
  `it finds a condition that does not exist${skipped(loader)}`,
  async () => {
    const copy = planted("docker-compose.yml", "condition: service_healthy", "condition: healthy");
    const { status, said } = await check(loader, copy);
    expect(status).toBe(1);
    expect(said).toContain("condition value must be one of");
  },
);

test("what the Dockerfile copies is enough to run, by its entry point and by its command", async () => {
  const dockerfile = readFileSync(join(ROOT, "deploy/Dockerfile"), "utf8");
  const final = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
  const copied = [...final.matchAll(/^COPY ([^-].*) \S+$/gm)].flatMap(([, paths = ""]) =>
    paths.split(" "),
  );
  expect(copied).toContain("LICENSE");
  for (const path of copied) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  symlinkSync(join(folder, "bin/switchyard.js"), join(folder, "switchyard"));
  const [, list = "[]"] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
  const [, ...entry]: readonly string[] = JSON.parse(list);
  const version = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).version;
  const started = await execute(process.execPath, [...entry, "--version"], { cwd: folder });
  expect(started.stdout).toBe(`${version}\n`);
  const command = await execute(process.execPath, [join(folder, "switchyard"), "--version"]);
  expect(command.stdout).toBe(`${version}\n`);
});
