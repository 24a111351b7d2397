/** `switchyard run`: reads options and configuration. `run/run.ts` runs the stages. */

import { Command, InvalidArgumentError } from "commander";
import { shutdownSignal } from "../../base/runtime/shutdown.ts";
import type { Config } from "../../config/config.ts";
import { nearest } from "../../domain/nearest.ts";
import { STAGE_NAMES, STAGES, type StageName } from "../../domain/stages.ts";
import {
  type ConfigOption,
  configFile,
  configOption,
  configured,
} from "../../operator/connect/configuration.ts";
import type { Exit, Shell } from "../../operator/connect/shell.ts";

interface RunOptions extends ConfigOption {
  readonly stages?: readonly StageName[];
}

const DEFAULT_STAGES = STAGE_NAMES.filter((name) => STAGES[name].isDefault);
const IN_SHORT = DEFAULT_STAGES.length === STAGE_NAMES.length ? "all" : DEFAULT_STAGES.join(",");

export function runCommand(shell: Shell, exit: Exit): Command {
  return new Command("run")
    .description("Runs the stages until SIGTERM or Ctrl-C.")
    .addOption(configOption())
    .option(
      "-s, --stages <list>",
      `stages to run, separated by commas: ${STAGE_NAMES.join(", ")} (default: ${IN_SHORT})`,
      parseStages,
    )
    .addHelpText(
      "after",
      "\nExit status: 0 after a normal stop; 1 on failure; 2 if the usage or configuration is invalid.\n\n" +
        "Examples:\n  switchyard run --config switchyard.yaml\n" +
        "  switchyard run --stages route,deliver --config switchyard.yaml",
    )
    .action(async (options: RunOptions) => {
      const loaded = await configured(options, shell);
      const { loadConfig } = await import("../../config/load.ts");
      const { run } = await import("../run/run.ts");
      const stages = options.stages ?? DEFAULT_STAGES;
      if (stages.includes("ingest")) warnOfKeys(loaded.config, shell);
      using shutdown = shutdownSignal();
      const [file, { env }] = [configFile(options, shell), shell];
      const load = () => loadConfig({ file, env });
      exit(await run(loaded, load, stages, shutdown.signal, undefined, file));
    });
}

function parseStages(text: string): readonly StageName[] {
  const names = text.split(",").map((name) => name.trim());
  const known = STAGE_NAMES.filter((stage) => names.includes(stage));
  const unknown = names.find((name) => !known.some((stage) => stage === name));
  if (unknown === undefined) return known;
  const similar = nearest(unknown, STAGE_NAMES);
  const meant = similar === null ? "" : ` Did you mean ${similar}?`;
  const stages = STAGE_NAMES.join(", ");
  throw new InvalidArgumentError(`"${unknown}" is not a stage. Stages: ${stages}.${meant}`);
}

/** Prints a warning, because the ingest stage finds the source of a call only by the source's write key. */
export function warnOfKeys({ sources }: Pick<Config, "sources">, shell: Shell): void {
  const without = sources.filter(({ writeKeys }) => writeKeys.length === 0).map(({ id }) => id);
  if (without.length === 0) return;
  const { yellow } = shell.errColors;
  const who = without.length === 1 ? "the source" : "the sources";
  const has = without.length === 1 ? "has no write key" : "have no write keys";
  const them = without.length === 1 ? "it" : "them";
  shell.err(
    `${yellow("warning:")} ${who} ${without.join(", ")} ${has}, so the ingest stage rejects ` +
      `calls from ${them}\n`,
  );
}
