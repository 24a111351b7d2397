/**
 * The completion scripts for bash, zsh and fish. Pure.
 *
 *   the word to complete                  is completed with
 *   follows commands, such as             subcommands, choices of the argument, options;
 *     `config check`                        files if none of these match
 *   is an option's value                  files
 */

export type ShellName = "bash" | "zsh" | "fish";

/** The words that may follow a command. `path` is the command's full name; it is empty for the program itself. */
export interface Words {
  readonly path: string;
  readonly words: readonly string[];
}

export function completionScript(shell: ShellName, all: readonly Words[]): string {
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
