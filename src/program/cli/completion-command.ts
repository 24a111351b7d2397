/**
 * `switchyard completion`: generates a shell script from the commands. The script contains all words, so completion
 * does not start Switchyard.
 */

import { Argument, Command } from "commander";
import type { Shell } from "../../operator/connect/shell.ts";
import type { CommandEntry, MakeCommand } from "./command-entry.ts";

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

/**
 * The completion scripts for bash, zsh and fish. Pure.
 *
 *   the word to complete                  is completed with
 *   follows commands, such as             subcommands, choices of the argument, options;
 *     `config check`                        files if none of these match
 *   is an option's value                  files
 */
type ShellName = "bash" | "zsh" | "fish";

/** The words that may follow a command. `path` is the command's full name; it is empty for the program itself. */
interface Words {
  readonly path: string;
  readonly words: readonly string[];
}

function completionScript(shell: ShellName, all: readonly Words[]): string {
  switch (shell) {
    case "bash":
      return bash(all);
    case "zsh":
      // zsh can run completions written for bash.
      return `autoload -U +X bashcompinit && bashcompinit\n${bash(all)}`;
    case "fish":
      return fish(all);
  }
}

/** Names of commands and options consist of letters and dashes, so nothing has to be escaped inside the quotes. */
function bash(all: readonly Words[]): string {
  const paths = all.flatMap(({ path }) => (path === "" ? [] : [`"${path}"`])).join("|");
  const cases = all.map(({ path, words }) => `    "${path}") words="${words.join(" ")}" ;;`);
  return `_switchyard() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" word words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "\${path:+$path }$word" in
      ${paths}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join("\n")}
  esac
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}
complete -o default -F _switchyard switchyard
`;
}

function fish(all: readonly Words[]): string {
  const lines = all.flatMap(({ path, words }) =>
    words.map((word) => {
      const given = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c switchyard -n '__switchyard_at "${path}"' ${given}`;
    }),
  );
  const known = all.flatMap(({ path }) => (path === "" ? [] : [`"${path}"`])).join(" ");
  return `function __switchyard_at
  set -l path ""
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$path $word")
    contains -- "$next" ${known}; and set path $next
  end
  test "$path" = "$argv[1]"
end
${lines.join("\n")}
`;
}
