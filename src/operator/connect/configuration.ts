/**
 * Handles the option `--config FILE` for all commands that need the configuration. The code that reads the file is
 * loaded on first use, so that `--help` does not have to wait for it.
 */

import { existsSync } from "node:fs";
import { Option } from "commander";
import { problemText } from "../../base/settings/problem.ts";
import { counted, joinEqual } from "../../base/words/count.ts";
import { InvalidConfiguration, WrongUsage } from "../../base/words/wrong-usage.ts";
import type { Loaded } from "../../config/load.ts";
import { visibleCell, visibleLines } from "../../domain/escape-control.ts";
import type { Shell } from "./shell.ts";

export interface ConfigOption {
  readonly config?: string;
}

export function configOption(): Option {
  return new Option(
    "-c, --config <file>",
    "configuration file (default: $SWITCHYARD_CONFIG, or ./switchyard.yaml)",
  );
}

/** The file that `config init` writes. */
const DEFAULT_FILE = "./switchyard.yaml";

type LoadedConfig = Extract<Loaded, { kind: "config" }>;

/**
 *   the command                                         needs
 *   status, pause, resume, retry, cancel, wait,         `kafka` and the IDs of destinations: it must work during an
 *     dead-letters, timeline, audience,                 incident, without the secrets of the processes
 *     skip-corrupt-batch
 *   run, config, console, topics, acls, schemas,        everything: it serves, compares or creates what the
 *     publish, explain, filter, replay, delete          configuration describes, or applies its sources and rules
 *
 * @throws WrongUsage if no file is named. @throws InvalidConfiguration after printing the problems.
 */
export async function configured(
  options: ConfigOption,
  shell: Shell,
  needs: "all" | "kafka" = "all",
): Promise<LoadedConfig> {
  return usable(await load(options, shell, needs), configFile(options, shell), shell);
}

/** @throws WrongUsage if there is no file. */
export async function load(
  options: ConfigOption,
  shell: Pick<Shell, "env" | "err">,
  needs: "all" | "kafka" = "all",
): Promise<Loaded> {
  const file = configFile(options, shell);
  if (file === DEFAULT_FILE && options.config === undefined) {
    if (!existsSync(file)) {
      const folder = "there is no switchyard.yaml in this folder";
      throw new WrongUsage(
        `no configuration file is set, and ${folder}. Use --config FILE or set SWITCHYARD_CONFIG.`,
      );
    }
    shell.err(`Configuration file: ${file}\n`);
  }
  const { loadConfig } = await import("../../config/load.ts");
  return loadConfig({ file, env: shell.env, needs });
}

export function configFile(options: ConfigOption, shell: Pick<Shell, "env">): string {
  return options.config ?? (shell.env.SWITCHYARD_CONFIG || DEFAULT_FILE);
}

/** @param name the file's name, for the messages. @throws InvalidConfiguration after printing the problems. */
export function usable(loaded: Loaded, name: string, shell: Shell): LoadedConfig {
  const { bold, red } = shell.errColors;
  if (loaded.kind === "invalid") {
    const { problems } = loaded;
    const count = counted(problems.length, "problem");
    shell.err(`${red(bold(`${visibleCell(name)} cannot be used: ${count}.`))}\n\n`);
    for (const problem of problems) shell.err(`${visibleLines(problemText(problem))}\n\n`);
    throw new InvalidConfiguration();
  }
  sayWarnings(loaded.warnings, shell);
  return loaded;
}

export function sayWarnings(warnings: readonly string[], shell: Shell): void {
  const { yellow } = shell.errColors;
  for (const warning of joinEqual(warnings))
    shell.err(`${yellow("warning:")} ${visibleLines(warning)}\n`);
}
