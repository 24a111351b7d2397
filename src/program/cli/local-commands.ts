/**
 * `switchyard kafka` and `switchyard demo` run programs from `tools/` as child processes. They need a checkout, because
 * the image does not contain `tools/`.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { Command } from "commander";

import type { Exit, ExitStatus, Shell } from "../../operator/connect/shell.ts";

const ROOT = join(import.meta.dirname, "../../..");

export function kafkaCommand(shell: Shell, exit: Exit): Command {
  const kafka = new Command("kafka").description(
    "Starts, stops or shows a local Apache Kafka for development.",
  );
  const actions = {
    up: "start Kafka in the background and print its address",
    down: "stop Kafka and remove its data",
    status: "show whether Kafka is running, and its address",
  };
  for (const [action, summary] of Object.entries(actions)) {
    const command = new Command(action)
      .summary(summary)
      .description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
      .addHelpText("after", `\nExample:\n  switchyard kafka ${action}`);
    if (action === "up") {
      command
        .option("--registry", "also start a schema registry")
        .option("--brokers <n>", "start n brokers, with three replicas of each topic")
        .option("--tls", "require TLS")
        .option("--sasl", "require authentication with a password");
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
    "\nIf SWITCHYARD_KAFKA_BROKERS or SWITCHYARD_REGISTRY_URL is set, those brokers or that registry are\n" +
      "used and nothing is started. Otherwise, Kafka runs in Docker if Docker is available. If it is not,\n" +
      "Java 17 or later and Maven are required. --brokers, --tls and --sasl always need Java.\n\n" +
      "Examples:\n  switchyard kafka up\n  switchyard kafka up --registry\n  switchyard kafka up --brokers 3 --tls --sasl\n  switchyard kafka status\n  switchyard kafka down",
  );
}

export function demoCommand(shell: Shell, exit: Exit): Command {
  return new Command("demo")
    .description(
      "Starts Kafka, Switchyard and a receiver, publishes sample calls, and shows how they are " +
        "delivered, including a retry.",
    )
    .option("--once", "exit after the final table, with status 0 if every call arrived")
    .option("-c, --config <file>", "configuration file (default: the demo's own)")
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
      `error: \`switchyard ${tool}\` is only available in a checkout of the repository. ` +
        "Clone the repository and run the command there.\n",
    );
    return 1;
  }
  const child = spawn(process.execPath, [file, ...args], { stdio: "inherit", env: process.env });
  // The terminal sends Ctrl-C to both processes. The child ends, and its exit status becomes the command's exit status.
  const ignore = () => undefined;
  const pass = (signal: NodeJS.Signals) => void child.kill(signal);
  process.on("SIGINT", ignore).on("SIGTERM", pass).on("SIGHUP", pass);
  const [status] = (await once(child, "exit")) as [number | null];
  process.off("SIGINT", ignore).off("SIGTERM", pass).off("SIGHUP", pass);
  return status === 0 || status === 2 ? status : 1;
}
