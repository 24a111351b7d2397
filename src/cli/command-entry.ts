/** A command of the program, before its file is loaded. */

import type { Command } from "commander";

import type { ExitStatus, Shell } from "../operate/connect/shell.ts";

export type MakeCommand = (shell: Shell, exit: (status: ExitStatus) => void) => Command;

export interface CommandEntry {
  readonly name: string;
  /** As the command itself has it. */
  readonly summary: string;
  readonly load: () => Promise<MakeCommand>;
}
