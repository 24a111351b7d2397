/** `switchyard config` with its subcommands. `diff.ts` has `config diff`. */

import { Command } from "commander";
import { type LocatedProblem, pathText } from "../../../base/settings/problem.ts";
import { counted } from "../../../base/words/count.ts";
import {
  type ConfigOption,
  configOption,
  configured,
  load,
  sayWarnings,
} from "../../../operator/connect/configuration.ts";
import type { Exit, ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import { diffCommand } from "./diff.ts";

interface PrintOptions extends ConfigOption {
  readonly json?: boolean;
}

export function configCommand(shell: Shell, exit: Exit): Command {
  const check = new Command("check")
    .summary("check the configuration and list every problem")
    .description("Checks the configuration and lists every problem and warning.")
    .addOption(configOption())
    .option("--json", "print one JSON object")
    .addHelpText(
      "after",
      "\nExit status: 0 if the configuration is valid; 2 if it is invalid.\n\nExamples:\n" +
        "  switchyard config check --config switchyard.yaml\n" +
        "  SWITCHYARD_CONFIG=switchyard.yaml switchyard config check",
    )
    .action(async (options: PrintOptions) => {
      if (options.json === true) return exit(await checkJson(options, shell));
      const loaded = await configured(options, shell);
      const { sources, destinations } = loaded.config;
      sayWarnings(loaded.reminders, shell);
      const length = loaded.warnings.length + loaded.reminders.length;
      const warned = length === 0 ? "" : ` ${counted(length, "warning")} (see above).`;
      shell.out(
        `${shell.colors.green("The configuration is valid:")} ` +
          `${counted(sources.length, "source")}, ${counted(destinations.length, "destination")}.${warned}\n`,
      );
    });
  const print = new Command("print")
    .summary("print the effective configuration without secrets")
    .description(
      "Prints the effective configuration as YAML: the file, with defaults and the settings from the " +
        "environment. Secrets are hidden.",
    )
    .addOption(configOption())
    .addHelpText(
      "after",
      "\nExit status: 0 on success; 2 if the configuration is invalid.\n\n" +
        "Examples:\n  switchyard config print --config switchyard.yaml\n" +
        "  SWITCHYARD_LOG_LEVEL=debug switchyard config print --config switchyard.yaml",
    )
    .option("--json", "print JSON, without the origin of each value")
    .action(async (options: PrintOptions) => {
      const loaded = await configured(options, shell);
      const { printConfig, printJson } = await import("../../../config/print.ts");
      shell.out(options.json === true ? printJson(loaded.given) : printConfig(loaded.given));
    });
  return new Command("config")
    .description("Writes, checks, prints or compares the configuration.")
    .addHelpText(
      "after",
      "\nExamples:\n  switchyard config init\n" +
        "  switchyard config check --config switchyard.yaml\n" +
        "  switchyard config print --config switchyard.yaml\n" +
        "  switchyard config diff --config switchyard.yaml new.yaml",
    )
    .addCommand(initCommand(shell, exit))
    .addCommand(check)
    .addCommand(print)
    .addCommand(diffCommand(shell, exit))
    .addCommand(schemaCommand(shell));
}

/** Prints the result in one line, even if the configuration is invalid. */
async function checkJson(options: ConfigOption, shell: Shell): Promise<ExitStatus> {
  const loaded = await load(options, shell);
  const isUsable = loaded.kind === "config";
  const outcome = {
    usable: isUsable,
    hash: isUsable ? loaded.hash : null,
    sources: isUsable ? loaded.config.sources.length : null,
    destinations: isUsable ? loaded.config.destinations.length : null,
    warnings: isUsable ? [...loaded.warnings, ...loaded.reminders] : [],
    problems: isUsable ? [] : loaded.problems.map(problemJson),
  };
  shell.out(`${JSON.stringify(outcome)}\n`);
  return isUsable ? 0 : 2;
}

function problemJson({ path, line, file, found, expected, hint }: LocatedProblem) {
  return { path: pathText(path), line, file, found, expected, hint };
}

/** The same name as in `first-file.ts`. It is repeated here, because that file is loaded only when it is needed. */
const SCHEMA_FILE = "switchyard.schema.json";

function initCommand(shell: Shell, exit: Exit): Command {
  return new Command("init")
    .summary("write a first configuration file with comments")
    .description(
      `Writes a first configuration file with comments, and next to it ${SCHEMA_FILE}, with which ` +
        "editors complete and check settings. Existing files are not overwritten.",
    )
    .argument("[file]", "file to write, or - for standard output", "switchyard.yaml")
    .addHelpText(
      "after",
      "\nExit status: 0 if the files were written; 1 if a file exists or cannot be written.\n\n" +
        "Examples:\n  switchyard config init\n  switchyard config init - > switchyard.yaml",
    )
    .action(async (file: string) => {
      const { FIRST_FILE, writeFirstFiles } = await import("../../../config/first-file.ts");
      if (file === "-") return shell.raw(FIRST_FILE);
      exit(written(writeFirstFiles(file), file, shell));
    });
}

function schemaCommand(shell: Shell): Command {
  return new Command("schema")
    .summary("print the JSON Schema of the configuration file")
    .description(
      "Prints the JSON Schema of the configuration file. An editor with the YAML language server uses " +
        `the schema if the configuration file begins with "# yaml-language-server: $schema=${SCHEMA_FILE}".`,
    )
    .addHelpText("after", `\nExample:\n  switchyard config schema > ${SCHEMA_FILE}`)
    .action(async () => {
      const { configurationSchemaText } = await import("../../../config/json-schema.ts");
      shell.raw(configurationSchemaText());
    });
}

function written(
  { files, problem }: { readonly files: readonly string[]; readonly problem: string | null },
  file: string,
  shell: Shell,
): ExitStatus {
  for (const path of files) shell.out(`Wrote ${path}\n`);
  if (problem !== null) {
    shell.err(`${problem}\n`);
    return 1;
  }
  shell.out(
    `\nNext: set the variables that ${file} uses, then run switchyard config check ` +
      `--config ${file}\n`,
  );
  return 0;
}
