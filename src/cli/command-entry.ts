/** An entry in the table of commands: what the help shows, and how the command is loaded. */

import type { Command } from "commander";

import type { ExitStatus, Shell } from "../operate/connect/shell.ts";

export type MakeCommand = (shell: Shell, exit: (status: ExitStatus) => void) => Command;

export interface CommandEntry {
  readonly name: string;
  /** The same text as the command's own summary. */
  readonly summary: string;
  readonly load: () => Promise<MakeCommand>;
}
