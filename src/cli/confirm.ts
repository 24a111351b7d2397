/** Asks a person on the terminal. Everything but a yes is a no, and so is Ctrl-C. */

import { createInterface } from "node:readline/promises";

import type { Shell } from "../operate/connect/shell.ts";

/** Whether somebody is there to answer. */
export function canAsk({ stdin, errIsTerminal }: Shell): boolean {
  return errIsTerminal && (stdin as Partial<NodeJS.ReadStream>).isTTY === true;
}

export async function confirmed(
  question: string,
  { stdin, err }: Shell,
  signal: AbortSignal,
): Promise<boolean> {
  err(`${question} [y/N] `);
  const lines = createInterface({ input: stdin, signal });
  try {
    for await (const line of lines) return /^(?:y|yes)$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}
