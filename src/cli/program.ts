/** The commands, and the exit status of their outcomes: 0 done, 1 failed, 2 wrong usage. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { Command, CommanderError } from "commander";

import { visibleLines } from "../domain/visible.ts";
import { aclsCommand } from "./acls/command.ts";
import { audienceCommand } from "./audience/command.ts";
import { configCommand } from "./config/command.ts";
import { deadLettersCommand } from "./dead-letters/command.ts";
import { deleteCommand } from "./delete-command.ts";
import { explainCommand } from "./explain/command.ts";
import { demoCommand, kafkaCommand } from "./local-commands.ts";
import { publishCommand } from "./publish/command.ts";
import { runCommand } from "./run/command.ts";
import { schemasCommand } from "./schemas/command.ts";
import type { ExitStatus, Shell } from "./shell.ts";
import { signCommand } from "./sign-command.ts";
import { skipDamagedCommand } from "./skip-damaged/command.ts";
import { statusCommand } from "./status/command.ts";
import { topicsCommand } from "./topics/command.ts";

const COMMANDS = [
  runCommand,
  topicsCommand,
  schemasCommand,
  aclsCommand,
  configCommand,
  publishCommand,
  explainCommand,
  deleteCommand,
  audienceCommand,
  statusCommand,
  deadLettersCommand,
  skipDamagedCommand,
  signCommand,
  kafkaCommand,
  demoCommand,
];

/** Runs the command that `args` name. Never throws. */
export async function runProgram(args: readonly string[], shell: Shell): Promise<ExitStatus> {
  let status: ExitStatus = 0;
  const program = new Command("switchyard")
    .description("A Kafka stream-processing router for customer data.")
    .version(version(), "-V, --version", "print the version")
    .helpCommand("help [command]", "show the help of a command")
    .exitOverride()
    .showHelpAfterError()
    .configureOutput({ writeOut: shell.out, writeErr: shell.err })
    .addHelpText(
      "after",
      "\nExit status: 0 done, 1 failed, 2 wrong usage or configuration.\n\nExamples:\n" +
        "  switchyard config check --config switchyard.yaml\n" +
        "  switchyard topics --apply --config switchyard.yaml\n" +
        "  switchyard run --config switchyard.yaml\n" +
        "  switchyard status --admin localhost:9464 --config switchyard.yaml",
    );
  const exit = (given: ExitStatus) => {
    status = given;
  };
  for (const make of COMMANDS) program.addCommand(inherit(make(shell, exit), program));
  try {
    await program.parseAsync([...args], { from: "user" });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    shell.err(`${shell.errColors.red("error:")} ${visibleLines(explain(error))}\n`);
    return 1;
  }
}

/** Commander hands its settings down only to commands that it makes itself. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const inner of command.commands) inherit(inner, command);
  return command;
}

/** A sentence for foreseen errors; all there is for others. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.name === "Error" ? error.message : (error.stack ?? error.message);
}

function version(): string {
  const text = readFileSync(join(import.meta.dirname, "../../package.json"), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
