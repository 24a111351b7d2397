/**
 * The process in which a command runs. Commands print only through this object, which tests replace. Characters that
 * could control a terminal are escaped, except C0 characters, because colors and progress need those. Code that
 * prints data escapes C0 characters with `visibleCell`.
 */

import picocolors from "picocolors";

import { visibleLines, visibleText } from "../../domain/escape-control.ts";

/** 0: success. 1: failure. 2: invalid usage or configuration. 3: `config diff --since` found differences. */
export type ExitStatus = 0 | 1 | 2 | 3;

/** Sets the exit status of the program. If it is not called, the status is 0. */
export type Exit = (status: ExitStatus) => void;

export type Colors = ReturnType<typeof picocolors.createColors>;

/** The size of a terminal, in characters. */
export interface Screen {
  readonly rows: number;
  readonly columns: number;
}

export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  /** Prints the result of the command. */
  readonly out: (text: string) => void;
  /** Prints lines for other programs, unchanged. On a terminal, control characters are escaped, as in `out`. */
  readonly raw: (text: string) => void;
  /** Prints problems, warnings and progress. */
  readonly err: (text: string) => void;
  /**
   * Call this when the command only has output left to print. The command may then be ended as soon as nothing reads
   * `out` any more.
   */
  readonly onlyPrints: () => void;
  /** Colors for `out`; they have no effect unless `out` is a terminal. */
  readonly colors: Colors;
  /** Colors for `err`. */
  readonly errColors: Colors;
  readonly errIsTerminal: boolean;
  /** The current size of the terminal of `out`; null if `out` is not a terminal. */
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

/** Prints either text or one line of JSON. */
export function tell(
  { json }: { readonly json?: boolean },
  shell: Pick<Shell, "out">,
  text: string,
  outcome: Readonly<Record<string, unknown>>,
): void {
  shell.out(json === true ? `${JSON.stringify(outcome)}\n` : text);
}
