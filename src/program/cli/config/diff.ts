/**
 * `switchyard config diff`: shows, before another file is deployed, what it would change.
 *
 * The command compares two files. From the processes, it reads only the hash of their configuration, so that they need
 * not reveal secrets (docs/decisions/0023-changes-while-running.md#comparing-a-file-with-what-runs).
 */

import { type Command, InvalidArgumentError } from "commander";
import { testShare } from "../../../base/settings/scalars.ts";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import type { Changes, ListChanges } from "../../../config/changes.ts";
import { visibleCell } from "../../../domain/escape-control.ts";
import { readProcess, reasonOf } from "../../../operator/connect/admin-port.ts";
import { type ClusterOptions, clusterCommand } from "../../../operator/connect/cluster.ts";
import { configFile, configured, usable } from "../../../operator/connect/configuration.ts";
import { instant } from "../../../operator/connect/option-values.ts";
import type { Colors, Exit, ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import { adminOption } from "../admin-address.ts";
import { openInput, UnreadableInput } from "../input.ts";

export interface DiffOptions extends ClusterOptions {
  readonly admin?: readonly string[];
  /** The time from which calls are compared, in milliseconds since the epoch. */
  readonly since?: number;
  /** Share of these calls that are compared, above 0 and at most 1. */
  readonly share?: number;
  readonly from?: string;
}

export function diffCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("diff")
    .summary("show what another file would change, and which changes need a restart")
    .description(
      "Compares a file with the current configuration (--config), using the variables of this " +
        "environment for both. Shows which entries and settings would change immediately, and which only after " +
        "a restart. Values are never shown. With --admin, also checks whether the processes run the " +
        "current configuration. With --since, applies both configurations to earlier calls instead, and shows " +
        "for each destination which calls it would gain, which it would lose and why, and which " +
        "properties would change. No call is sent.",
    )
    .argument("[file]", "configuration file to compare (default: standard input)")
    .addOption(adminOption())
    .option(
      "--since <when>",
      "compare what would happen to calls received since this time: ISO 8601, or an age such " +
        "as 24h",
      instant,
    )
    .option(
      "--share <percent>",
      "with --since, compare only this share of the calls, such as 1%",
      share,
    )
    .option(
      "--from <file>",
      "with --since, compare with this file instead of the current configuration",
    )
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nRelative paths in both files are relative to the folder of the current configuration.\n\n" +
        "Exit status: 0 if nothing would change, and the processes run the current or the proposed\n" +
        "configuration; 1 if something would change, a process runs a different configuration, or a process\n" +
        "cannot be reached; 2 if the usage or a file is invalid. With --since: 0 if no call would be\n" +
        "routed differently; 1 on failure, or if not everything could be read; 3 if there are differences.\n\n" +
        "Examples:\n  switchyard config diff --config switchyard.yaml new.yaml\n" +
        "  switchyard config diff --config switchyard.yaml new.yaml --since 24h --share 1%\n" +
        "  kubectl exec -i deploy/switchyard -- switchyard config diff --admin localhost:9464 < new.yaml",
    )
    .action(async (file: string | undefined, options: DiffOptions) => {
      if (options.since === undefined) return exit(await showDiff(file, options, shell));
      exit(await showCallDiff(file, { ...options, since: options.since }, shell));
    });
}

/** @throws InvalidArgumentError */
function share(text: string): number {
  const tested = testShare(text);
  if (tested.kind === "value" && tested.value > 0) return tested.value;
  throw new InvalidArgumentError(`"${text}" is not a share. Expected a percentage such as 1%.`);
}

async function showCallDiff(
  file: string | undefined,
  options: DiffOptions & { readonly since: number },
  shell: Shell,
): Promise<ExitStatus> {
  const current = await configured(options, shell);
  const { from } = options;
  const before = from === undefined ? current : await proposedIn(from, options, shell);
  const after = await proposedIn(file, options, shell);
  const { compareCalls } = await import("./diff-calls.ts");
  const configs = { current: current.config, before: before.config, after: after.config };
  return await compareCalls(configs, options, shell);
}

async function proposedIn(file: string | undefined, options: DiffOptions, shell: Shell) {
  const content = await contentOf(file, shell);
  const { loadConfig } = await import("../../../config/load.ts");
  const loaded = loadConfig({ file: configFile(options, shell), env: shell.env, content });
  return usable(loaded, file ?? "standard input", shell);
}

/**
 * @throws WrongUsage if the file cannot be read. The exit status must not be 1, because 1 means that something would
 * change.
 */
async function contentOf(file: string | undefined, shell: Shell): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of openInput(file, shell)) chunks.push(chunk);
  } catch (error) {
    if (error instanceof UnreadableInput) throw new WrongUsage(error.message, { cause: error });
    throw error;
  }
  return Buffer.concat(chunks);
}

async function showDiff(
  file: string | undefined,
  options: DiffOptions,
  shell: Shell,
): Promise<ExitStatus> {
  const current = await configured(options, shell);
  const proposed = await proposedIn(file, options, shell);
  const hashes = { current: current.hash, proposed: proposed.hash };
  const processes = await Promise.all(
    (options.admin ?? []).map((admin) => whatRuns(admin, hashes)),
  );
  const { changesOf, isUnchanged } = await import("../../../config/changes.ts");
  const changes = changesOf(current.config, proposed.config);
  const diff: Diff = { changes, hashes, processes };
  shell.out(
    options.json === true
      ? `${JSON.stringify(diff, undefined, 2)}\n`
      : diffText(diff, shell.colors),
  );
  const isAsExpected = processes.every(({ runs }) => runs === "current" || runs === "proposed");
  return isUnchanged(changes) && isAsExpected ? 0 : 1;
}

async function whatRuns(admin: string, hashes: Diff["hashes"]): Promise<ProcessRuns> {
  try {
    const { status } = await readProcess(admin, new AbortController().signal);
    const { hash } = status.configuration;
    if (hash === "") return { admin, hash, runs: "unknown", error: "it reports no hash" };
    const isProposed = hash === hashes.proposed ? "proposed" : "another";
    return { admin, hash, runs: hash === hashes.current ? "current" : isProposed, error: null };
  } catch (error) {
    return { admin, hash: null, runs: "unknown", error: reasonOf(error as Error) };
  }
}

/** The result in the form in which `--json` prints it. The hashes are those of `configHash`. */
interface Diff {
  readonly changes: Changes;
  readonly hashes: { readonly current: string; readonly proposed: string };
  readonly processes: readonly ProcessRuns[];
}

interface ProcessRuns {
  readonly admin: string;
  /** `unknown` if the process did not report its hash; `error` then has the reason. */
  readonly runs: "current" | "proposed" | "another" | "unknown";
  readonly hash: string | null;
  readonly error: string | null;
}

const LISTS = ["destinations", "sources", "audiences"] as const;

export function diffText({ changes, hashes, processes }: Diff, colors: Colors): string {
  const { bold, green, yellow } = colors;
  const { atOnce, needsRestart } = changes;
  const lists = LISTS.flatMap((name) => {
    const lines = listLines(changes[name], colors);
    return lines.length === 0 ? [] : [bold(name), ...lines];
  });
  const section = (title: string, paths: readonly string[]) =>
    paths.length === 0 ? [] : [title, ...paths.map((path) => `  ~ ${visibleCell(path)}`)];
  const lines = [
    ...lists,
    ...section(bold("other settings"), atOnce),
    ...section(yellow("needs a restart"), needsRestart),
  ];
  const summary =
    lines.length === 0
      ? green("Nothing changes.")
      : `${countText(changes)} immediately, ${needsRestart.length} after a restart.`;
  const hash =
    hashes.current === hashes.proposed
      ? `Hash ${hashes.current}.`
      : `Current hash ${hashes.current}, proposed ${hashes.proposed}.`;
  const runs = processes.map((process) => runsLine(process, colors));
  const blank = lines.length === 0 ? [] : [""];
  return `${[...lines, ...blank, summary, hash, ...runs].join("\n")}\n`;
}

function listLines(
  { added, removed, changed }: ListChanges,
  { green, red, dim }: Colors,
): readonly string[] {
  return [
    ...added.map((id) => green(`  + ${visibleCell(id)}`)),
    ...changed.map(({ id, settings }) => {
      return `  ~ ${visibleCell(id)}: ${dim(settings.map(visibleCell).join(", "))}`;
    }),
    ...removed.map((id) => red(`  - ${visibleCell(id)}`)),
  ];
}

function countText(changes: Diff["changes"]): string {
  const entries = LISTS.flatMap((name) => {
    const { added, removed, changed } = changes[name];
    return [...added, ...removed, ...changed];
  });
  const count = entries.length + changes.atOnce.length;
  return count === 1 ? "One change" : `${count} changes`;
}

function runsLine({ admin, runs, hash, error }: ProcessRuns, { green, yellow }: Colors): string {
  const address = visibleCell(admin);
  switch (runs) {
    case "current":
      return green(`${address} runs the current configuration.`);
    case "proposed":
      return green(`${address} already runs the proposed configuration.`);
    case "another":
      return yellow(
        `${address} runs neither of the two configurations (hash ${visibleCell(hash ?? "")}): the process has to be restarted, ` +
          "its configuration file is invalid, or its environment differs.",
      );
    case "unknown":
      return yellow(`Cannot read the hash of ${address}: ${visibleCell(error ?? "")}`);
  }
}
