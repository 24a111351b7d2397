/**
 * The process around a command, so that tests can hand in something else. A command prints only
 * through here. Characters that could steer a terminal come out as escapes, but for C0, which
 * colours and progress need: code that prints data escapes C0 by `visibleCell`.
 */

import picocolors from "picocolors";

import { visibleLines, visibleText } from "../../domain/escape-control.ts";

/** 0: done. 1: failed. 2: invalid usage or configuration. 3: `config diff --since` found differences. */
export type ExitStatus = 0 | 1 | 2 | 3;

export type Colors = ReturnType<typeof picocolors.createColors>;

/** Of a terminal, in characters. */
export interface Screen {
  readonly rows: number;
  readonly columns: number;
}

export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  /** The result that was asked for. */
  readonly out: (text: string) => void;
  /** Lines that another program reads as they are; on a terminal as `out`, controls escaped too. */
  readonly raw: (text: string) => void;
  /** Words about it: problems, warnings, progress. */
  readonly err: (text: string) => void;
  /** From here on the command only prints: it may be ended when nobody reads `out` any more. */
  readonly onlyPrints: () => void;
  /** For `out`; they do nothing unless it is a terminal. */
  readonly colors: Colors;
  /** For `err`. */
  readonly errColors: Colors;
  readonly errIsTerminal: boolean;
  /** Of `out`, as it is now; null: it is no terminal. */
  readonly screen: (() => Screen) | null;
}

export function processShell(onlyPrints: () => void): Shell {
  const { env, stdin, stdout, stderr } = process;
  const colorsFor = (stream: NodeJS.WriteStream) =>
    picocolors.createColors(stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb");
  return {
    env,
    stdin,
    out: (text) => void stdout.write(visibleText(text)),
    raw: (text) => void stdout.write(stdout.isTTY === true ? visibleLines(text) : text),
    err: (text) => void stderr.write(visibleText(text)),
    onlyPrints,
    colors: colorsFor(stdout),
    errColors: colorsFor(stderr),
    errIsTerminal: stderr.isTTY === true,
    screen: stdout.isTTY === true ? () => ({ rows: stdout.rows, columns: stdout.columns }) : null,
  };
}
