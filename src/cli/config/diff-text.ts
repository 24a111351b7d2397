/** Formats a comparison of configurations. The text contains IDs and paths, but never values. */

import type { Changes, ListChanges } from "../../config/changes.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import type { Colors } from "../../operate/connect/shell.ts";

/** The result in the form in which `--json` prints it. The hashes are those of `configHash`. */
export interface Diff {
  readonly changes: Changes;
  readonly hashes: { readonly current: string; readonly proposed: string };
  readonly processes: readonly ProcessRuns[];
}

export interface ProcessRuns {
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
