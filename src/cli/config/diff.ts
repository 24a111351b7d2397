/**
 * `switchyard config diff`: shows what another file would change before it is deployed.
 *
 * Compares two files, and reads only the hash from the processes, so that no secret leaves them
 * (docs/decisions/0022-comparing-configurations.md).
 */

import { Command } from "commander";
import {
  type ConfigOption,
  configFile,
  configOption,
  explained,
  loadOrExplain,
} from "../../operate/connect/configuration.ts";
import { hashOf, reasonOf, scrape } from "../../operate/connect/scrape.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";
import { adminAddress } from "../admin-address.ts";
import { openInput, UnreadableInput } from "../input.ts";
import { type Diff, diffText, type ProcessRuns } from "./diff-text.ts";

interface DiffOptions extends ConfigOption {
  readonly admin?: readonly string[];
  readonly json?: boolean;
}

export function diffCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("diff")
    .summary("show what another file would change, and which changes need a restart")
    .description(
      "Compares a file with the current configuration (--config), both with the variables of this " +
        "environment. Shows which entries and settings would change immediately, and which only after " +
        "a restart. Values are never shown. With --admin, also checks whether the processes run the " +
        "current configuration.",
    )
    .argument("[file]", "configuration file to compare (default: standard input)")
    .addOption(configOption())
    .option(
      "--admin <host:port>",
      "admin port of a process (repeatable, or several separated by commas)",
      adminAddress,
    )
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nRelative paths in both files are relative to the folder of the current configuration.\n\n" +
        "Exit status: 0 nothing would change, and the processes run the current or the proposed\n" +
        "configuration; 1 something would change, a process runs another configuration, or a process\n" +
        "cannot be reached; 2 invalid usage, or a file is invalid.\n\nExamples:\n  switchyard config diff --config switchyard.yaml new.yaml\n" +
        "  kubectl exec -i deploy/switchyard -- switchyard config diff --admin localhost:9464 < new.yaml",
    )
    .action(async (file: string | undefined, options: DiffOptions) => {
      exit(await showDiff(file, options, shell));
    });
}

/** @throws WrongUsage if the file cannot be read: exit status 1 means that something would change. */
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
  const current = await loadOrExplain(options, shell);
  if (current === null) return 2;
  const content = await contentOf(file, shell);
  const { env } = shell;
  const { loadConfig } = await import("../../config/load.ts");
  const loaded = loadConfig({ file: configFile(options, shell), env, content });
  const proposed = explained(loaded, file ?? "standard input", shell);
  if (proposed === null) return 2;
  const hashes = { current: current.hash, proposed: proposed.hash };
  const processes = await Promise.all(
    (options.admin ?? []).map((admin) => whatRuns(admin, hashes)),
  );
  const { changesOf, isUnchanged } = await import("../../config/changes.ts");
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
    const hash = hashOf(await scrape(admin, new AbortController().signal));
    if (hash === null) return { admin, hash, runs: "unknown", error: "it reports no hash" };
    const isProposed = hash === hashes.proposed ? "proposed" : "another";
    return { admin, hash, runs: hash === hashes.current ? "current" : isProposed, error: null };
  } catch (error) {
    return { admin, hash: null, runs: "unknown", error: reasonOf(error as Error) };
  }
}
