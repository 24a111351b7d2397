/** `--config FILE`, the same on every command that needs the configuration. */

import { Option } from "commander";

import { type Loaded, loadConfig } from "../config/load.ts";
import { problemText } from "../config/problem.ts";
import { visibleCell, visibleLines } from "../domain/visible.ts";
import type { Shell } from "./shell.ts";

export interface ConfigOption {
  readonly config?: string;
}

export function configOption(): Option {
  return new Option("-c, --config <file>", "the configuration file (or SWITCHYARD_CONFIG)");
}

/** Null: it cannot be used, and why has been printed; the exit status is then 2. */
export function loadOrExplain(
  options: ConfigOption,
  shell: Shell,
): Extract<Loaded, { kind: "config" }> | null {
  const file = options.config ?? shell.env.SWITCHYARD_CONFIG ?? "";
  const { bold, red, yellow } = shell.errColors;
  if (file === "") {
    shell.err(`${red("No configuration.")} Give --config FILE or set SWITCHYARD_CONFIG.\n`);
    return null;
  }
  const loaded = loadConfig({ file, env: shell.env });
  if (loaded.kind === "invalid") {
    const { problems } = loaded;
    const count = problems.length === 1 ? "one problem" : `${problems.length} problems`;
    shell.err(`${red(bold(`${visibleCell(file)} cannot be used: ${count}.`))}\n\n`);
    for (const problem of problems)
      shell.err(`${visibleLines(problemText(problem, problem.line))}\n\n`);
    return null;
  }
  for (const warning of loaded.warnings)
    shell.err(`${yellow("warning:")} ${visibleLines(warning)}\n`);
  return loaded;
}
