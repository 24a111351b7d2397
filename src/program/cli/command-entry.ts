/** An entry in the table of commands: what the help shows, and how the command is loaded. */

import type { Command } from "commander";

import type { Exit, Shell } from "../../operator/connect/shell.ts";

export type MakeCommand = (shell: Shell, exit: Exit) => Command;

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<MakeCommand>;
}
