/**
 * Compares the Switchyard commands on pages with the commands that exist.
 *
 *   a command on a page                       is
 *   `switchyard status --admin HOST:9464`     found: command, options
 *   npm run -s switchyard -- status           the same
 *   switchyard-client, switchyard/webhooks    none
 */

import type { Command } from "commander";

import { COMMANDS } from "../../../src/cli/command-table.ts";
import { fakeShell } from "../worlds/fake-shell.ts";

const SHOWN = /(?:^|[\s`"'|])(?:npm run -s )?switchyard (?:-- )?(?=[a-z-])([^\n`|;&>"']*)/g;

/** The words after the program's name, in fenced blocks and in inline code of a page. */
export function commandLines(page: string): readonly string[] {
  const code = [...page.matchAll(/^ *```[^\n]*\n([\s\S]*?)^ *```$|`([^`\n]+)`/gm)];
  return code.flatMap(([, block, span]) =>
    [...(block ?? span ?? "").matchAll(SHOWN)].map(([, line = ""]) => line.trim()),
  );
}

/** All commands of the program. */
export async function allCommands(): Promise<readonly Command[]> {
  const shell = fakeShell();
  return await Promise.all(
    COMMANDS.map(async ({ load }) => (await load())(shell, () => undefined)),
  );
}

/** The first part of a line that is neither a command nor one of its options, or null. */
export function unknownIn(line: string, commands: readonly Command[]): string | null {
  const words = line.split(/\s+/);
  let found: Command | undefined;
  let inner = commands;
  // Commander adds this option.
  if (words[0] === "help") words.shift();
  while (inner.length > 0 && words[0] !== undefined && /^[a-z][a-z-]*$/.test(words[0])) {
    const word = words.shift();
    found = inner.find((command) => command.name() === word);
    if (found === undefined) return `${word} of ${line}`;
    inner = found.commands;
  }
  const known = (found?.options ?? []).flatMap(({ short, long }) => [short, long]);
  const given = words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split("=")[0]);
  const wrong = given.find((option) => option !== "--help" && !known.includes(option));
  return wrong === undefined ? null : `${wrong} of ${line}`;
}
