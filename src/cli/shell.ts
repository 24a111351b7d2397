/** What a command has of the process around it, so that tests can hand in something else. */

import picocolors from "picocolors";

/** 0: done. 1: failed. 2: wrong usage or configuration. */
export type ExitStatus = 0 | 1 | 2;

export type Colors = ReturnType<typeof picocolors.createColors>;

export interface Shell {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  /** What was asked for. */
  readonly out: (text: string) => void;
  /** What is said about it: problems, warnings, progress. */
  readonly err: (text: string) => void;
  /** From here on the command only prints: it may be ended when nobody reads `out` any more. */
  readonly onlyPrints: () => void;
  /** For `out`; they do nothing unless it is a terminal. */
  readonly colors: Colors;
  /** For `err`. */
  readonly errColors: Colors;
  readonly errIsTerminal: boolean;
}

export function processShell(onlyPrints: () => void): Shell {
  const { env, stdin, stdout, stderr } = process;
  const colorsFor = (stream: NodeJS.WriteStream) =>
    picocolors.createColors(stream.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb");
  return {
    env,
    stdin,
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    onlyPrints,
    colors: colorsFor(stdout),
    errColors: colorsFor(stderr),
    errIsTerminal: stderr.isTTY === true,
  };
}
