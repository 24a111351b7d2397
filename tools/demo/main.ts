/**
 * `npm start`: shows calls on their way through a real Kafka to real webhooks, on one screen.
 *
 *   npm start                       runs the demonstration, then keeps running until Ctrl-C
 *   npm start -- --once             exits after the table, with status 0 only if every call arrived
 *   npm start -- --config FILE      runs `switchyard run` with that configuration instead
 */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { shutdownSignal } from "../../src/base/runtime/shutdown.ts";
import { startKafka } from "../kafka/start.ts";
import { buildPage } from "../page/build.ts";
import { runDemo } from "./demo.ts";
import { heading, say, sayPassing, tint } from "./show.ts";

const ROOT = join(import.meta.dirname, "../..");

const USAGE = `npm start                     runs the whole pipeline on a local Kafka until Ctrl-C
npm start -- --once           exits after the table, with status 0 only if every call arrived
npm start -- --config FILE    runs Switchyard with your configuration
`;

const options = readOptions();
if (options === null || options.help) {
  (options === null ? process.stderr : process.stdout).write(USAGE);
  process.exitCode = options === null ? 2 : 0;
} else if (options.config !== undefined) {
  await buildPage();
  runReal(options.config);
} else {
  process.exitCode = await demonstrate(options.once);
}

/** Returns null if the arguments are invalid. In this case, the problem has been reported. */
function readOptions() {
  try {
    return parseArgs({
      options: {
        once: { type: "boolean", default: false },
        config: { type: "string", short: "c" },
        help: { type: "boolean", short: "h", default: false },
      },
    }).values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n`);
    return null;
  }
}

function runReal(file: string): void {
  const command = [join(ROOT, "bin/switchyard.js"), "run", "--config", file];
  const child = spawn(process.execPath, command, { stdio: "inherit" });
  // The terminal also sends Ctrl-C to the child, which exits after a graceful shutdown.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  child.on("exit", (status) => process.exit(status ?? 1));
}

async function demonstrate(isOnce: boolean): Promise<number> {
  using stop = shutdownSignal();
  say(heading("Switchyard: raw calls through a real Kafka to signed webhooks\n"));
  const status = await runOnKafka(isOnce, stop.signal);
  if (stop.signal.aborted) say("Stopped.");
  return status;
}

async function runOnKafka(isOnce: boolean, signal: AbortSignal): Promise<number> {
  try {
    await buildPage();
    await using kafka = await startKafka({
      signal,
      log: (line, isPassing) => {
        (isPassing ? sayPassing : say)(tint(`          ${line}`, "dim"));
      },
    });
    return await runDemo(kafka, isOnce, signal);
  } catch (error) {
    if (signal.aborted) return 130;
    process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}
