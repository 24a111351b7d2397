// Prepares a fresh clone, then runs one of the tools below with the checkout's own Node.
//
//   node tools/bootstrap.js demo|test|check|bench|soak|chaos|scenarios|attack|drill|control|cluster|kafka-versions|switchyard [ARGUMENTS]
//
// Plain JavaScript without dependencies: it runs with Node 20, before anything is installed. If
// node_modules matches package-lock.json, it only starts the tool.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";

import {
  exitStatus,
  goOn,
  NODE_FLAGS,
  NODE_MAJOR,
  nodeMajor,
  OWN_NODE,
  ROOT,
} from "../bin/node-24.js";

/** kafkajs, with which the demonstration publishes, sets timers of a negative time, and Node would print that. */
const QUIET = "--disable-warning=TimeoutNegativeWarning";
const TOOLS = {
  demo: "tools/demo/main.ts",
  test: "tools/test.ts",
  check: "tools/check.ts",
  bench: "bench/main.ts",
  soak: "bench/soak.ts",
  chaos: "test/chaos/main.ts",
  scenarios: "test/chaos/consumer-main.ts",
  cluster: "tools/test-cluster.ts",
  "kafka-versions": "tools/test-kafka-versions.ts",
  attack: "test/attacks/main.ts",
  drill: "test/drill/main.ts",
  control: "test/control/main.ts",
  switchyard: "bin/start.js",
};
/** The tools that serve the console. */
const SERVING = ["run", "console"];
const PAGE_BUILD = "tools/page/build.ts";
const PROGRESS_MS = 2_000;
const QUOTED_LINES = 25;

/** An error that is printed without its stack. */
class Problem extends Error {}

async function main([name = "", ...args]) {
  const tool = TOOLS[name];
  if (tool === undefined) {
    throw new Problem(
      `"${name}" is not a tool. Usage: node tools/bootstrap.js ${Object.keys(TOOLS).join("|")}`,
    );
  }
  if (nodeMajor() < 20) {
    throw new Problem(
      `This is Node ${process.versions.node}. Install Node 20 or later (https://nodejs.org).`,
    );
  }
  const trouble = packagesTrouble();
  if (trouble !== null) await installPackages(trouble);
  if (nodeTrouble() !== null) await installNode();
  if (!existsSync(join(ROOT, tool))) throw new Problem(`${tool} is missing from this checkout.`);
  const node = isOwnNode() ? process.execPath : OWN_NODE;
  if (name === "switchyard" && SERVING.includes(args[0])) buildPage(node);
  await goOn(node, join(ROOT, tool), args, name === "demo" ? [...NODE_FLAGS, QUIET] : NODE_FLAGS);
}

/** How node_modules differs from package-lock.json, or null. */
function packagesTrouble() {
  const wanted = readPackages("package-lock.json");
  const installed = readPackages("node_modules/.package-lock.json");
  if (wanted === null) throw new Problem("package-lock.json is missing: restore it with git.");
  if (installed === null) return "nothing is installed yet";
  for (const [path, { version, optional, devOptional, link }] of Object.entries(wanted)) {
    if (path === "" || link) continue;
    const found = installed[path];
    // npm does not install optional packages for other platforms.
    if (found === undefined && (optional || devOptional)) continue;
    if (found?.version !== version) return "node_modules does not match package-lock.json";
  }
  return null;
}

/** What is wrong with the Node in node_modules, or null. */
function nodeTrouble() {
  // An installation also removes the binary that is running now.
  if (isOwnNode() && existsSync(OWN_NODE)) return null;
  const { stdout, status } = spawnSync(OWN_NODE, ["--version"], { encoding: "utf8" });
  return status === 0 && stdout.startsWith(`v${NODE_MAJOR}.`)
    ? null
    : `Node ${NODE_MAJOR} is not installed in node_modules`;
}

/** Builds the console's page unless it was already built from the same sources. */
function buildPage(node) {
  const { status, stderr } = spawnSync(node, [join(ROOT, PAGE_BUILD)], { encoding: "utf8" });
  if (status !== 0) throw new Problem(`the console's page cannot be built:\n${stderr}`);
}

function isOwnNode() {
  return resolve(process.execPath) === OWN_NODE && nodeMajor() === NODE_MAJOR;
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(join(ROOT, path), "utf8")).packages ?? {};
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw new Problem(`${path} cannot be read (${error.message}): restore it with git.`);
  }
}

/** Installs packages without running their scripts, so nothing is compiled. */
async function installPackages(trouble) {
  say(`${trouble}; installing the dependencies`);
  await npm(["ci", "--ignore-scripts", "--include=dev", "--no-audit", "--no-fund"]);
  assertSolved(packagesTrouble());
}

/** The package `node` downloads its binary in its install script, which is the only script that runs. */
async function installNode() {
  say(`installing Node ${NODE_MAJOR} (this project alone uses it)`);
  await npm(["rebuild", "node", "--ignore-scripts=false"]);
  assertSolved(nodeTrouble());
}

function assertSolved(trouble) {
  if (trouble === null) return;
  throw new Problem(
    `npm reported success, but ${trouble}. Remove node_modules and try again. ` +
      "If that does not help, run `npm ci --ignore-scripts && npm rebuild node` and read its output.",
  );
}

async function npm(args) {
  const started = Date.now();
  const ticker = setInterval(
    () => sayPassing(`npm ${args[0]}: ${Math.round((Date.now() - started) / 1000)} s`),
    PROGRESS_MS,
  );
  const child = spawn("npm", [...args, "--loglevel=error"], {
    cwd: ROOT,
    env: { ...process.env, PATH: machinePath() },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (text) => {
    output += text;
  });
  child.stderr.on("data", (text) => {
    output += text;
  });
  const ended = await new Promise((settle) => {
    child.on("error", (error) => settle({ error }));
    child.on("close", (status, signal) => settle({ status, signal }));
  });
  clearInterval(ticker);
  sayPassing(null);
  if (ended.status === 0) return;
  if (ended.signal) process.exit(exitStatus(null, ended.signal));
  const command = `npm ${args.join(" ")}`;
  if (ended.error) {
    throw new Problem(`Cannot run \`${command}\` (${ended.error.message}). Install npm.`);
  }
  throw new Problem(
    `\`${command}\` failed with exit status ${ended.status}. The end of its output:\n\n` +
      `${output.trimEnd().split("\n").slice(-QUOTED_LINES).join("\n")}\n\n` +
      "Check the network and the registry (`npm config get registry`), then run this again.",
  );
}

/** The PATH without this checkout's binaries, because npm must not run with the Node that it replaces. */
function machinePath() {
  const own = join(ROOT, "node_modules", ".bin");
  const entries = (process.env.PATH ?? "").split(delimiter);
  return entries.filter((entry) => entry === "" || resolve(entry) !== own).join(delimiter);
}

/** On a terminal, shows a line that the next one replaces, and null removes. Elsewhere does nothing. */
function sayPassing(line) {
  if (!process.stderr.isTTY) return;
  process.stderr.write(`\r\x1b[2K${line === null ? "" : `switchyard: ${line}`}`);
}

function say(line) {
  process.stderr.write(`switchyard: ${line}\n`);
}

function fail(error) {
  if (!(error instanceof Problem)) throw error;
  process.stderr.write(`switchyard: ${error.message}\n`);
  process.exit(1);
}

main(process.argv.slice(2)).catch(fail);
