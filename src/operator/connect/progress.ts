/** Shows the progress of a long command on standard error. If a command takes less than 2 seconds, nothing is shown. */

import type { Shell } from "./shell.ts";

const FIRST_AFTER_MS = 2_000;
const TERMINAL_EVERY_MS = 500;
/** The interval is long, so that progress messages do not fill log files. */
const FILE_EVERY_MS = 10_000;

export interface Progress extends Disposable {
  /** Prints a line above the progress. */
  readonly say: (line: string) => void;
  /** Removes the progress from the screen. May be called more than once. */
  readonly end: () => void;
}

/** The terminal or the console on which the progress of an action is shown. */
export interface ProgressOutput {
  /** @param text returns the current progress; called repeatedly until `end`. */
  readonly follow: (text: () => string) => Progress;
  /** Prints other output, such as log lines. */
  readonly err: (text: string) => void;
}

export function onTerminal(shell: Shell): ProgressOutput {
  return { follow: (text) => startProgress(shell, text), err: shell.err };
}

export function startProgress(shell: Shell, text: () => string): Progress {
  let isShown = false;
  const clear = () => {
    if (isShown && shell.errIsTerminal) shell.err("\r\u001b[K");
    isShown = false;
  };
  const show = () => {
    clear();
    shell.err(shell.errIsTerminal ? `${text()} ...` : `${text()} ...\n`);
    isShown = true;
  };
  let timer = setTimeout(() => {
    show();
    timer = setInterval(show, shell.errIsTerminal ? TERMINAL_EVERY_MS : FILE_EVERY_MS);
  }, FIRST_AFTER_MS);
  const end = () => {
    clearTimeout(timer);
    clear();
  };
  return {
    say: (line) => {
      clear();
      shell.err(`${line}\n`);
    },
    end,
    [Symbol.dispose]: end,
  };
}
