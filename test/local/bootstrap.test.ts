// From a fresh clone to a running tool, with a stand-in for npm and a tool that prints what it got.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const LOCK = JSON.stringify({
  packages: {
    "": {},
    "node_modules/a": { version: "1.2.3" },
    "node_modules/for-another-platform": { version: "1.0.0", optional: true },
  },
});
const INSTALLED = JSON.stringify({ packages: { "node_modules/a": { version: "1.2.3" } } });
const TOOL = `
  const [wish, status] = process.argv.slice(2);
  for (const signal of ["SIGTERM", "SIGINT"]) {
    process.on(signal, () => process.exit(status === signal ? 42 : 1));
  }
  process.stdout.write(process.argv.slice(2).join(" "));
  if (wish === "wait") setInterval(() => undefined, 1_000);
  else process.exitCode = Number(status);
`;

let clone = "";
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "switchyard-clone-"));
  cpSync(join(ROOT, "bin"), join(clone, "bin"), { recursive: true });
  mkdirSync(join(clone, "tools"));
  cpSync(join(ROOT, "tools/bootstrap.js"), join(clone, "tools/bootstrap.js"));
  write("tools/test.ts", TOOL);
  write("package.json", '{ "type": "module" }');
  write("package-lock.json", LOCK);
  // Installs the files of a real npm that the bootstrap checks.
  writeNpm(`
    case "$1" in
      ci) mkdir -p node_modules && echo '${INSTALLED}' >node_modules/.package-lock.json ;;
      rebuild) mkdir -p node_modules/node/bin && ln -sf "${process.execPath}" node_modules/node/bin/node ;;
    esac`);
});
afterEach(() => rmSync(clone, { recursive: true }));

function write(path: string, content: string): void {
  writeFileSync(join(clone, path), content);
}

function writeNpm(script: string): void {
  write("npm", `#!/bin/sh\necho "$1 $2" >>npm-calls\n${script}\n`);
  chmodSync(join(clone, "npm"), 0o755);
}

function npmCalls(): string[] {
  return readFileSync(join(clone, "npm-calls"), "utf8").trimEnd().split("\n");
}

function start(...args: readonly string[]) {
  return spawn(process.execPath, ["tools/bootstrap.js", ...args], {
    cwd: clone,
    env: { ...process.env, PATH: `${clone}:${process.env.PATH}` },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function run(...args: readonly string[]) {
  const child = start(...args);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), ended(child)]);
  return { out, err, status: child.exitCode };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null) await once(child, "exit");
}

test("a fresh clone installs without scripts, then Node, then runs; the next time it just runs", async () => {
  expect(await run("test", "pass", "7")).toMatchObject({ out: "pass 7", status: 7 });
  expect(npmCalls()).toEqual(["ci --ignore-scripts", "rebuild node"]);
  expect(await run("test", "pass", "0")).toEqual({ out: "pass 0", err: "", status: 0 });
  expect(npmCalls()).toHaveLength(2);
});

test("switchyard in a fresh clone installs as well, and builds the page of those that serve it", async () => {
  write("bin/start.js", TOOL);
  mkdirSync(join(clone, "tools/page"));
  write("tools/page/build.ts", 'require("node:fs").appendFileSync("builds", "built ");');
  write("tools/page/package.json", '{ "type": "commonjs" }');
  const builds = () => readFileSync(join(clone, "builds"), "utf8");
  expect(await run("switchyard", "status", "3")).toMatchObject({ out: "status 3", status: 3 });
  expect(npmCalls()).toEqual(["ci --ignore-scripts", "rebuild node"]);
  expect(builds).toThrow("ENOENT");
  for (const command of ["console", "run"]) {
    expect(await run("switchyard", command, "0")).toMatchObject({ out: `${command} 0`, status: 0 });
  }
  expect(builds()).toBe("built built ");
});

const NO_TERMINAL = spawnSync("script", ["--version"]).status !== 0;

test("on a terminal one line counts the seconds of an installation, elsewhere none does", async ({
  skip,
}) => {
  if (NO_TERMINAL) return skip("there is no `script` of util-linux to make a terminal");
  writeNpm(`
    case "$1" in
      ci)
        until [ -e seen ]; do sleep 0.1; done
        mkdir -p node_modules && echo '${INSTALLED}' >node_modules/.package-lock.json ;;
      rebuild) mkdir -p node_modules/node/bin && ln -sf "${process.execPath}" node_modules/node/bin/node ;;
    esac`);
  const command = `${process.execPath} tools/bootstrap.js test pass 0`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    cwd: clone,
    env: { ...process.env, PATH: `${clone}:${process.env.PATH}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let shown = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    shown += chunk;
    if (/npm ci: \d+ s.*npm ci: \d+ s/s.test(shown)) write("seen", "");
  }
  const lines = shown.replaceAll("\r\x1b[2K", "<again>").split("\r\n");
  expect(lines[0]).toBe("switchyard: nothing is installed yet; installing the dependencies");
  expect(lines[1]).toMatch(/^(<again>switchyard: npm ci: \d+ s){2,}<again>switchyard: installing/);
  rmSync(join(clone, "node_modules"), { recursive: true });
  expect((await run("test", "pass", "0")).err.trimEnd().split("\n")).toEqual([
    expect.stringContaining("installing the dependencies"),
    expect.stringContaining("installing Node 24"),
  ]);
});

test("a package of another version is installed again", async () => {
  await run("test", "pass", "0");
  write("package-lock.json", LOCK.replace("1.2.3", "1.2.4"));
  const { err, status } = await run("test", "pass", "0");
  expect(npmCalls()).toEqual(["ci --ignore-scripts", "rebuild node", "ci --ignore-scripts"]);
  // The stand-in still installs the old version.
  expect(err).toContain("npm reported success, but node_modules does not match");
  expect(status).toBe(1);
});

test("an installation that takes away the Node that runs it brings it back", async () => {
  const own = join(clone, "node_modules/node/bin/node");
  mkdirSync(join(clone, "node_modules/node/bin"), { recursive: true });
  copyFileSync(process.execPath, own);
  writeNpm(`
    case "$1" in
      ci) rm -rf node_modules && mkdir node_modules && echo '${INSTALLED}' >node_modules/.package-lock.json ;;
      rebuild) mkdir -p node_modules/node/bin && cp "${process.execPath}" node_modules/node/bin/node ;;
    esac`);
  const child = spawn(own, ["tools/bootstrap.js", "test", "pass", "0"], {
    cwd: clone,
    env: { ...process.env, PATH: `${clone}:${process.env.PATH}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [out] = await Promise.all([text(child.stdout), ended(child)]);
  expect([out, child.exitCode]).toEqual(["pass 0", 0]);
  expect(npmCalls()).toEqual(["ci --ignore-scripts", "rebuild node"]);
});

test("what npm says when it fails is shown, with what to do", async () => {
  writeNpm("echo 'E404 no such package'; exit 1");
  const { err, status } = await run("test");
  expect(err).toMatch(/`npm ci .*failed with exit status 1.*E404 no such package.*npm config get/s);
  expect(status).toBe(1);
});

test("a tool that there is not is named, with those that there are", async () => {
  const { err, status } = await run("frobnicate");
  expect(err).toContain('"frobnicate" is not a tool');
  expect(err).toContain("demo|test|check|bench");
  expect(status).toBe(1);
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s reaches the tool, whose exit status is ours",
  async (signal) => {
    await run("test", "pass", "0");
    const child = start("test", "wait", signal);
    await once(child.stdout, "data");
    child.kill(signal);
    await ended(child);
    expect(child.exitCode).toBe(42);
  },
);
