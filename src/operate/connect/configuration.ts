/**
 * Handles the option `--config FILE` for all commands that need the configuration. The code that reads the file is
 * loaded on first use, so that `--help` does not have to wait for it.
 */

import { Option } from "commander";

import type { Loaded } from "../../config/load.ts";
import { visibleCell, visibleLines } from "../../domain/escape-control.ts";
import { problemText } from "../../settings/problem.ts";
import { counted, joinEqual } from "../../words/count.ts";
import { InvalidConfiguration, WrongUsage } from "../../words/wrong-usage.ts";
import type { Shell } from "./shell.ts";

export interface ConfigOption {
  readonly config?: string;
}

export function configOption(): Option {
  return new Option("-c, --config <file>", "configuration file (default: $SWITCHYARD_CONFIG)");
}

type LoadedConfig = Extract<Loaded, { kind: "config" }>;

/** @throws WrongUsage if no file is named. @throws InvalidConfiguration after printing the problems. */
export async function configured(options: ConfigOption, shell: Shell): Promise<LoadedConfig> {
  return usable(await load(options, shell), configFile(options, shell), shell);
}

/** @throws WrongUsage if no file is named. */
export async function load(options: ConfigOption, shell: Pick<Shell, "env">): Promise<Loaded> {
  const file = configFile(options, shell);
  if (file === "") {
    throw new WrongUsage(
      "no configuration file is set. Use --config FILE or set SWITCHYARD_CONFIG.",
    );
  }
  const { loadConfig } = await import("../../config/load.ts");
  return loadConfig({ file, env: shell.env });
}

/** The file's name; empty if no file is named. */
export function configFile(options: ConfigOption, shell: Pick<Shell, "env">): string {
  return options.config ?? shell.env.SWITCHYARD_CONFIG ?? "";
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
