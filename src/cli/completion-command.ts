/**
 * `switchyard completion`: generates a shell script from the commands. The script contains all words, so completion
 * does not start Switchyard.
 */

import { Argument, Command } from "commander";
import type { Shell } from "../operate/connect/shell.ts";
import type { CommandEntry, MakeCommand } from "./command-entry.ts";
import { completionScript, type ShellName, type Words } from "./completion-script.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;

/** @param entries all commands, including this one. */
export function completionOf(entries: readonly CommandEntry[]): MakeCommand {
  return (shell) => completionCommand(entries, shell);
}

function completionCommand(entries: readonly CommandEntry[], shell: Shell): Command {
  return new Command("completion")
    .description("Prints a script with which a shell completes commands and options.")
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(SHELLS))
    .addHelpText(
      "after",
      "\nExamples:\n" +
        "  source <(switchyard completion bash)\n" +
        "  source <(switchyard completion zsh)\n" +
        "  switchyard completion fish > ~/.config/fish/completions/switchyard.fish",
    )
    .action(async (name: ShellName) => {
      const commands = await Promise.all(
        entries.map(async ({ load }) => (await load())(shell, () => undefined)),
      );
      const names = commands.map((command) => command.name());
      const top = { path: "", words: [...names, "help", "--help", "--version"] };
      const help = { path: "help", words: names };
      shell.raw(completionScript(name, [top, help, ...commands.flatMap((each) => wordsOf(each))]));
    });
}

/** The words that may follow the command, and those that may follow each of its subcommands. */
function wordsOf(command: Command, before = ""): readonly Words[] {
  const path = `${before} ${command.name()}`.trim();
  const inner = command.commands.map((each) => each.name());
  const options = command.options.flatMap(({ long }) => long ?? []);
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
  const words = [...inner, ...choices, ...options, "--help"];
  return [{ path, words }, ...command.commands.flatMap((each) => wordsOf(each, path))];
}
