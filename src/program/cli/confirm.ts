/** Asks for confirmation on the terminal. Anything other than yes, including Ctrl-C, means no. */

import { createInterface } from "node:readline/promises";

import type { Shell } from "../../operator/connect/shell.ts";

/** True if both standard input and standard error are a terminal. */
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
