/**
 * `status --watch`: refreshes the status every 2 s until Ctrl-C. It uses the terminal's alternate screen, so that the
 * original screen is restored when the command ends.
 *
 *   the output is                     shown
 *   longer than the terminal          its first lines, and the number of lines below
 *   wider than the terminal           the start of each line
 */

import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";

import type { ExitStatus, Screen, Shell } from "../../../operator/connect/shell.ts";
import { inTime, keepConnected } from "../../../operator/look/keep-connected.ts";
import { type LookOptions, look, type UseKafka } from "../../../operator/look/look.ts";
import { statusText } from "../../../operator/look/text.ts";

const EVERY_MS = 2_000;
const ESC = "\u001b";
const ENTER = `${ESC}[?1049h${ESC}[?25l`;
const LEAVE = `${ESC}[?25h${ESC}[?1049l`;
const HOME = `${ESC}[H`;
const REST_OF_LINE = `${ESC}[K`;
const REST_OF_SCREEN = `${ESC}[J`;

export async function watchStatus(
  useKafka: UseKafka,
  options: LookOptions,
  shell: Shell & { readonly screen: () => Screen },
  signal: AbortSignal,
): Promise<ExitStatus> {
  const connection = keepConnected(useKafka, signal);
  const inTimeOrNot: UseKafka = (work) =>
    inTime(
      connection.read((kafka) => work(kafka, signal)),
      signal,
    );
  shell.out(ENTER);
  try {
    while (!signal.aborted) {
      const shown = { ...options, rateWindowMs: null };
      const { report } = await look(inTimeOrNot, shown, signal);
      if (signal.aborted) break;
      const text = statusText(report, shell.colors);
      shell.out(pageOf(text, shell.screen()));
      await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    shell.out(LEAVE);
    await connection.ended;
  }
  return 0;
}

/** Returns the control sequences and lines that draw the output over the previous output. */
export function pageOf(text: string, { rows, columns }: Screen): string {
  const lines = text.trimEnd().split("\n");
  const room = Math.max(1, rows - 1);
  const hidden = lines.length - room;
  const shown = lines.slice(0, room).map((line) => cut(line, columns));
  const more = hidden > 0 ? `${hidden} more lines. Press Ctrl-C to stop.` : "Press Ctrl-C to stop.";
  return `${HOME}${[...shown, cut(more, columns)].join(`${REST_OF_LINE}\n`)}${REST_OF_LINE}${REST_OF_SCREEN}`;
}

/** Cuts a line to the width. Colors are kept if the line fits, and removed if it does not. */
function cut(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= columns ? line : `${plain.slice(0, Math.max(0, columns - 1))}…`;
}
