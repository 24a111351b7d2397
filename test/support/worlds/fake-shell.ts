/** A shell for commands in tests, without a process. It has the command's input and its output. */

import { Readable } from "node:stream";

import picocolors from "picocolors";
import { visibleText } from "../../../src/domain/escape-control.ts";
import type { Shell } from "../../../src/operator/connect/shell.ts";

export interface FakeShell extends Shell {
  readonly output: () => string;
  readonly errors: () => string;
}

export function fakeShell(
  input: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): FakeShell {
  let output = "";
  let errors = "";
  const colors = picocolors.createColors(false);
  return {
    env,
    stdin: Readable.from(input.map((chunk) => Buffer.from(chunk))),
    out: (text) => {
      output += visibleText(text);
    },
    raw: (text) => {
      output += text;
    },
    err: (text) => {
      errors += visibleText(text);
    },
    onlyPrints: () => undefined,
    colors,
    errColors: colors,
    errIsTerminal: false,
    screen: null,
    output: () => output,
    errors: () => errors,
  };
}
