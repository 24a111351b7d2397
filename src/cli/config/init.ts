/**
 * `switchyard config init` writes a first configuration file, and `config schema` writes the schema with which
 * editors check it.
 */

import { Command } from "commander";

import type { Exit, ExitStatus, Shell } from "../../operate/connect/shell.ts";

/** The same name as in `first-file.ts`. It is repeated here, because that file is loaded only when it is needed. */
const SCHEMA_FILE = "switchyard.schema.json";

export function initCommand(shell: Shell, exit: Exit): Command {
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
      const { FIRST_FILE, writeFirstFiles } = await import("../../config/first-file.ts");
      if (file === "-") return shell.raw(FIRST_FILE);
      exit(written(writeFirstFiles(file), file, shell));
    });
}

export function schemaCommand(shell: Shell): Command {
  return new Command("schema")
    .summary("print the JSON Schema of the configuration file")
    .description(
      "Prints the JSON Schema of the configuration file. An editor with the YAML language server uses " +
        `the schema if the configuration file begins with "# yaml-language-server: $schema=${SCHEMA_FILE}".`,
    )
    .addHelpText("after", `\nExample:\n  switchyard config schema > ${SCHEMA_FILE}`)
    .action(async () => {
      const { configurationSchemaText } = await import("../../config/json-schema.ts");
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
