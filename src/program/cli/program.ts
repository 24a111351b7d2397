/** Parses the command line and runs the command. Exit status: 0 done, 1 failed, 2 invalid usage. */

import { Command, CommanderError } from "commander";
import { InvalidConfiguration, WrongUsage } from "../../base/words/wrong-usage.ts";
import { visibleCell, visibleLines } from "../../domain/escape-control.ts";
import { programVersion } from "../../operator/connect/program-version.ts";
import type { Exit, ExitStatus, Shell } from "../../operator/connect/shell.ts";
import { COMMANDS } from "./command-table.ts";
import { UnreadableInput } from "./input.ts";

/** Runs the command in `args`. Never throws. */
export async function runProgram(args: readonly string[], shell: Shell): Promise<ExitStatus> {
  let status: ExitStatus = 0;
  const program = new Command("switchyard")
    .description("A Kafka stream-processing router for customer data.")
    .version(programVersion(), "-V, --version", "print the version")
    .helpCommand("help [command]", "show the help of a command")
    .exitOverride()
    .configureOutput({
      writeOut: shell.out,
      writeErr: shell.err,
      // Commander writes a suggestion on a separate line.
      outputError: (text, write) => write(text.replace(/\n(?=\(Did you mean)/, " ")),
    })
    .addHelpText(
      "after",
      "\nExit status: 0 on success; 1 on failure; 2 if the usage or configuration is invalid.\n\nExamples:\n" +
        "  switchyard config check --config switchyard.yaml\n" +
        "  switchyard topics --apply --config switchyard.yaml\n" +
        "  switchyard run --config switchyard.yaml\n" +
        "  switchyard status --admin localhost:9464 --config switchyard.yaml",
    );
  const exit: Exit = (given) => {
    status = given;
  };
  try {
    const named = nameOf(args);
    for (const { name, summary, load } of COMMANDS) {
      const command = name === named ? (await load())(shell, exit) : new Command(name);
      program.addCommand(inherit(command.summary(summary), program));
    }
    pointToHelp(program);
    await program.parseAsync([...args], { from: "user" });
    return status;
  } catch (error) {
    if (error instanceof InvalidConfiguration) return 2;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const prefix = shell.errColors.red("error:");
    if (error instanceof WrongUsage) {
      const help = `Help: ${pathOf(program, args)} --help`;
      shell.err(`${prefix} ${visibleCell(error.message)}\n${help}\n`);
      return 2;
    }
    shell.err(`${prefix} ${visibleLines(explain(error))}\n`);
    return 1;
  }
}

/** The command is the first word that is not an option, because the program has no global option with a value. */
function nameOf(args: readonly string[]): string | undefined {
  const words = args.filter((arg) => !arg.startsWith("-"));
  return words[0] === "help" ? words[1] : words[0];
}

/** After a usage error, prints one line that shows how to get help. */
function pointToHelp(command: Command, path = command.name()): void {
  command.showHelpAfterError(`Help: ${path} --help`);
  for (const inner of command.commands) pointToHelp(inner, `${path} ${inner.name()}`);
}

/** The full name of the called command, such as `switchyard config check`. */
function pathOf(program: Command, args: readonly string[]): string {
  let command = program;
  let path = program.name();
  for (const word of args) {
    const inner = command.commands.find((each) => each.name() === word);
    if (inner === undefined) break;
    command = inner;
    path += ` ${word}`;
  }
  return path;
}

/** Copies settings to a command, because commander copies them only to commands that it creates itself. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const inner of command.commands) inherit(inner, command);
  return command;
}

/** Returns the message of an expected error, or the stack of any other error. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isForeseen = error.name === "Error" || error instanceof UnreadableInput;
  return isForeseen ? error.message : (error.stack ?? error.message);
}
