/** Prints the lines and tables of the demonstration, with colors only on a terminal. */

import pc from "picocolors";

const colours = pc.createColors(process.stdout.isTTY === true && pc.isColorSupported);

export type Tone = "plain" | "good" | "wait" | "bad" | "dim";

export function tint(text: string, tone: Tone): string {
  switch (tone) {
    case "good":
      return colours.green(text);
    case "wait":
      return colours.yellow(text);
    case "bad":
      return colours.red(text);
    case "dim":
      return colours.dim(text);
    case "plain":
      return text;
  }
}

export function heading(text: string): string {
  return colours.bold(text);
}

/** Aligns the cells in columns. The first row is the heading. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return rows
    .map((row, index) => {
      const line = row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("   ");
      return `  ${index === 0 ? heading(line.trimEnd()) : line.trimEnd()}`;
    })
    .join("\n");
}

/** True while a line of `sayPassing` is on the terminal. */
let isPassing = false;

export function say(line = ""): void {
  process.stdout.write(`${isPassing ? CLEAR_LINE : ""}${line}\n`);
  isPassing = false;
}

/** On a terminal, shows a line that the next one replaces. Elsewhere does nothing. */
export function sayPassing(line: string): void {
  if (process.stdout.isTTY !== true) return;
  process.stdout.write(`${CLEAR_LINE}${line}`);
  isPassing = true;
}

const CLEAR_LINE = "\r\x1b[2K";
