/**
 * `docs/commands.md`: the help of the commands. Their JSON is described by hand, and a missing description is an error.
 * What the page says once for all commands is omitted from their help: options that have the same text everywhere, `--json`, the
 * list of subcommands, which have sections of their own, exit status 2, and the default file in examples.
 */

import type { Command, Option } from "commander";
import { processShell } from "../../src/operator/connect/shell.ts";
import { COMMANDS } from "../../src/program/cli/command-table.ts";
import { pageWith } from "./page.ts";

const PAGE = "docs/commands.md";

/** Width of the help in characters. */
const WIDTH = 100;

/** Options that the page describes once. The help of a command that has them lists their names. */
const COMMON = new Set(["--config", "--kafka-timeout", "--json"]);
/** The demo has a configuration of its own. */
const OWN_DEFAULT = "the demo's own";
const USAGE_STATUS =
  /[;,]\s+2\s+if\s+the\s+usage(?:\s+or\s+(?:the\s+)?configuration)?\s+is\s+invalid\./;

const DEFAULT_FILE = / (?:--config|-c) switchyard\.yaml(?![\w.])/g;

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

/** Returns the output of `--help`, independent of the terminal, without what the page says once. */
function helpOf(command: Command, path: string): string {
  let text = "";
  command
    .configureHelp({
      helpWidth: WIDTH,
      commandUsage: () => `switchyard ${path} ${command.usage()}`,
      visibleOptions: ({ options }) =>
        options.filter((option) => !option.hidden && !isCommon(option)),
      visibleCommands: () => [],
    })
    .configureOutput({
      writeOut: (part) => {
        text += part;
      },
      getOutHelpWidth: () => WIDTH,
      getOutHasColors: () => false,
    })
    .outputHelp();
  const common = command.options.filter(isCommon).map(({ long }) => long);
  const more = common.length === 0 ? "" : `\nCommon options: ${common.join(", ")}`;
  return text
    .replace(USAGE_STATUS, ".")
    .replaceAll(DEFAULT_FILE, "")
    .replace(/^Usage: .*$/m, (usage) => usage + more);
}

function isCommon({ long, defaultValueDescription }: Option): boolean {
  return COMMON.has(long ?? "") && defaultValueDescription !== OWN_DEFAULT;
}

function assertSame(found: readonly string[], described: readonly string[]): void {
  const odd = [
    ...found.filter((path) => !described.includes(path)),
    ...described.filter((path) => !found.includes(path)),
  ];
  if (odd.length > 0) throw new Error(`${PAGE} and --json do not agree: ${odd.join(", ")}`);
}
