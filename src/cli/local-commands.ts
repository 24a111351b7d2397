/**
 * `switchyard kafka` and `switchyard demo`: programs under `tools/` of a checkout, which the image
 * does not have. They run as child processes.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import type { ExitStatus, Shell } from "../operate/connect/shell.ts";

const ROOT = join(import.meta.dirname, "../..");

export function kafkaCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  const kafka = new Command("kafka")
    .summary("start, stop or show a local Kafka for development")
    .description("Starts, stops or shows a local Apache Kafka for development.");
  const actions = {
    up: "start it and leave it running; says its address",
    down: "end it and remove its data",
    status: "say whether it runs, and where",
  };
  for (const [action, summary] of Object.entries(actions)) {
    const command = new Command(action)
      .summary(summary)
      .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
      .addHelpText("after", `\nExample:\n  switchyard kafka ${action}`);
    if (action === "up") {
      command
        .option("--registry", "start a schema registry beside it")
        .option("--brokers <count>", "so many brokers, which keep each topic three times")
        .option("--tls", "clients use TLS")
        .option("--sasl", "clients log in with a password");
    }
    command.action(async (options: Readonly<Record<string, string | boolean>>) => {
      const args = Object.entries(options).flatMap(([name, value]) =>
        value === true ? [`--${name}`] : [`--${name}`, `${value}`],
      );
      exit(await runTool(shell, "kafka", [action, ...args]));
    });
    kafka.addCommand(command);
  }
  return kafka.addHelpText(
    "after",
    "\nBrokers in SWITCHYARD_KAFKA_BROKERS win, as does a registry in SWITCHYARD_REGISTRY_URL; else\n" +
      "Docker is used, else Java 17+ with Maven. Several brokers, TLS and log-ins need Java.\n\n" +
      "Examples:\n  switchyard kafka up\n  switchyard kafka up --registry\n  switchyard kafka up --brokers 3 --tls --sasl\n  switchyard kafka status\n  switchyard kafka down",
  );
}

export function demoCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("demo")
    .summary("show the whole path on a real Kafka with sample calls")
    .description("Shows the whole path on a real Kafka: sample calls, webhooks, a retry.")
    .option("--once", "end after the closing table; exit status 0 if everything arrived")
    .option("-c, --config <file>", "run with this configuration in place of the demonstration's")
    .addHelpText("after", "\nExamples:\n  switchyard demo\n  switchyard demo --once")
    .action(async ({ once: isOnce, config }: { once?: boolean; config?: string }) => {
      const args = [...(isOnce ? ["--once"] : []), ...(config ? ["--config", config] : [])];
      exit(await runTool(shell, "demo", args));
    });
}

async function runTool(shell: Shell, tool: string, args: readonly string[]): Promise<ExitStatus> {
  const file = join(ROOT, "tools", tool, "main.ts");
  if (!existsSync(file)) {
    shell.err(
      `error: \`switchyard ${tool}\` belongs to a checkout of the project, and this is none. ` +
        "Clone the repository and run it there.\n",
    );
    return 1;
  }
  const child = spawn(process.execPath, [file, ...args], { stdio: "inherit", env: process.env });
  // The terminal sends Ctrl-C to both; the child ends by itself and decides the status.
  const ignore = () => undefined;
  const pass = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on("SIGINT", ignore).on("SIGTERM", pass).on("SIGHUP", pass);
  const [status] = (await once(child, "exit")) as [number | null];
  process.off("SIGINT", ignore).off("SIGTERM", pass).off("SIGHUP", pass);
  return status === 0 || status === 2 ? status : 1;
}
