/** `docs/commands.md` from the commands themselves: their help, and the shape of their JSON. */

import type { Command } from "commander";

import { COMMANDS } from "../../src/cli/command-table.ts";
import { processShell } from "../../src/cli/shell.ts";
import { code, pageWith, table } from "./page.ts";

/** Of each command with `--json`; the page is not made while one is missing, or too many. */
const JSON_OUTPUTS: Readonly<Record<string, string>> = {
  topics:
    "one object: `planned` (how many topics), `differences` (each with `kind` and `topic`), `changes` (how many can be made), `applied`, `rejected` (settings that the cluster does not allow, each with `topic`, `setting`, `planned`, `instead`, `error`), `failed` (sentences)",
  "schemas check": "one object: `schemas`, each with `subject`, `state`, `toDo`",
  "schemas register": "the same",
  acls: "one object: `roles`, each with `role`, `principal`, `grants`",
  "config check":
    "one object: `usable`, `hash`, `sources` and `destinations` (how many; null: it cannot be used), `warnings`, `problems` (each with `path`, `line`, `found`, `expected`, `hint`)",
  "config print": "the configuration as one object, secrets hidden",
  "config diff":
    "one object: `changes` (added, removed and changed ids), `hashes` (`inPlace`, `given`), `processes` (`admin`, `hash`, `runs`, `error`)",
  explain:
    "one object a line: `line`, the call as it is read (null, beside its dead letter's `reason` and `error`, if it cannot be used), `destinations` (`id`, `gets`, `reason`, `topic`, `first`)",
  timeline:
    "one object a line with the call's `messageId`, told apart by `kind`: steps and each `final-state` in order of time (`at`, `sentence`, most with `destination`), then each `gap`",
  publish:
    "one object a line, told apart by `kind`: each line that is `refused` (`line`, `error`), lines that are `not-written` (`fromLine`, `toLine`, `error`), then the `outcome` (`topic`, `written`, `refused`, `interrupted`)",
  delete:
    "one object: `topic`, `userId`, `sources` (null: every one), `told` (each with `destination` and `source`), `notTold` (each with `destination` and `because`)",
  "audience publish":
    "one object: `end` (`written`, `interrupted`, `refused`), `error`, `audience`, `sync`, `topic`, `users`, `written`",
  "audience release": "one object: `audience`, `sync`, `removals` (users)",
  "audience list":
    "one object: `audiences`, each with `id`, `name`, `key`, `members`, `last`, `openSyncId`, `held`",
  "audience members": "one user id a line, as a JSON text",
  status: "one object, described in [operations.md](operations.md#status)",
  "dead-letters list":
    "one object a line, the oldest first: `failedAt`, `stage`, `reason`, `error`, `destination`, `endpoint`, `messageId`, `from`, `deadLetter`, `replayed` (`at`, `replay`; null: it waits), `bytes`",
  "dead-letters replay":
    "one object: `end` (`done`, `interrupted`, `failed`, `counted`, `declined`), `error`, `replay`, `resume` (the command line that goes on), `toReplay`, `replayedBefore`, `counts` (each with `destination`, `reason`, `to`, `refused`, `count`), `replayed`, `refused` (counts by reason)",
  "skip-corrupt-batch":
    "one object: `outcome` (`skipped`, `would-skip`, `refused`), `error`, `topic`, `partition`, `group`, `dryRun`, `groupOffset`, `firstOffset`, `lastOffset`, `damage`, `isEndKnown`, `recordsLost`",
  pause:
    "one object: `destination`, `paused`, `until` (null: no end), `before` (the pause that was in force: `since`, `by`, `until`; null: none), `waiting` (null: it cannot be counted): `inLine`, `attempted`, `expiring`, `firstExpiresAt`, `isLowerBound` (not all was counted)",
  resume:
    "one object: `destination`, `resumed`, `inVain` (why nothing is posted to it all the same; null: it is)",
  retry: "one object: `destination`, `returned` (deliveries)",
  wait: "one object: `destination`, `drained`, `left` (deliveries by place: `line`, `tiers`, and those that are due again)",
  cancel: "one object: `destination`, `receivedBefore`, `dryRun`, `count` (deliveries)",
  replay:
    "one object: `end` (`done`, `interrupted`, `failed`, `counted`), `error`, `replay`, `resume` (the command line that goes on), `destination`, `topic`, `since`, `until`, `types`, `events`, `perSecond`, `written`, `refused`, and by reason `leftOut`, `unusable`, `passedOver`",
};
/** Columns of the help. */
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
  assertSame(
    withJson.map(({ path }) => path),
    Object.keys(JSON_OUTPUTS),
  );
  return pageWith("docs/commands.md", {
    JSON: table(
      ["Command", "Prints"],
      withJson.map(({ path }) => [code(path), JSON_OUTPUTS[path] ?? ""]),
    ),
    commands: all.map(section).join("\n"),
  });
}

function withInner(command: Command, before = ""): readonly Described[] {
  const path = `${before} ${command.name()}`.trim();
  return [{ path, command }, ...command.commands.flatMap((inner) => withInner(inner, path))];
}

function section({ path, command }: Described): string {
  const level = path.includes(" ") ? "###" : "##";
  return `${level} ${path}\n\n\`\`\`text\n${helpOf(command, path).trimEnd()}\n\`\`\`\n`;
}

/** As \`--help\` prints it, whatever the terminal. */
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
  if (odd.length > 0) throw new Error(`JSON_OUTPUTS and --json do not agree: ${odd.join(", ")}`);
}
