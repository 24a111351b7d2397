/**
 * `docs/commands.md`: the help of the commands. Their JSON is described by hand, and a missing description is an error.
 */

import type { Command } from "commander";
import { processShell } from "../../src/operator/connect/shell.ts";
import { COMMANDS } from "../../src/program/cli/command-table.ts";
import { pageWith } from "./page.ts";

const PAGE = "docs/commands.md";

/** Width of the help in characters. */
const WIDTH = 100;

interface Described {
  readonly path: string;
  readonly command: Command;
}

export async function renderCommands(): Promise<string> {
  const shell = processShell(() => undefined);
  const all: Described[] = [];
  for (const { load } of COMMANDS) all.push(...withInner((await load())(shell, () => undefined)));
  const withJson = all.filter(({ command }) =>
    command.options.some(({ long }) => long === "--json"),
  );
  const page = pageWith(PAGE, { commands: all.map(section).join("\n") });
  assertSame(
    withJson.map(({ path }) => path),
    describedIn(page),
  );
  return page;
}

/** Returns the commands whose JSON is described on the page. */
function describedIn(page: string): readonly string[] {
  const [, chapter = ""] = page.split("\n## JSON\n");
  const [table = ""] = chapter.split("\n<!--", 1);
  return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, path = ""]) => path);
}

function withInner(command: Command, before = ""): readonly Described[] {
  const path = `${before} ${command.name()}`.trim();
  return [{ path, command }, ...command.commands.flatMap((inner) => withInner(inner, path))];
}

function section({ path, command }: Described): string {
  const level = path.includes(" ") ? "###" : "##";
  return `${level} ${path}\n\n\`\`\`text\n${helpOf(command, path).trimEnd()}\n\`\`\`\n`;
}

/** Returns the output of \`--help\`, independent of the terminal. */
function helpOf(command: Command, path: string): string {
  let text = "";
  command
    .configureHelp({
      helpWidth: WIDTH,
      commandUsage: () => `switchyard ${path} ${command.usage()}`,
    })
    .configureOutput({
      writeOut: (part) => {
        text += part;
      },
      getOutHelpWidth: () => WIDTH,
      getOutHasColors: () => false,
    })
    .outputHelp();
  return text;
}

function assertSame(found: readonly string[], described: readonly string[]): void {
  const odd = [
    ...found.filter((path) => !described.includes(path)),
    ...described.filter((path) => !found.includes(path)),
  ];
  if (odd.length > 0) throw new Error(`${PAGE} and --json do not agree: ${odd.join(", ")}`);
}
