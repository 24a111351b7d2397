// A question on the terminal: what counts as a yes.

import { PassThrough } from "node:stream";
import { expect, test } from "vitest";

import { canAsk, confirmed } from "../../../../src/program/cli/confirm.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

const never = new AbortController().signal;

test.each([
  ["y\n", true],
  [" YES \n", true],
  ["yes, please\n", false],
  ["n\ny\n", false],
  ["\n", false],
  ["", false],
])("the response %j is %s", async (response, isYes) => {
  const shell = fakeShell([response]);
  expect(await confirmed("Send it?", shell, never)).toBe(isYes);
  expect(shell.errors()).toBe("Send it? [y/N] ");
});

test("Ctrl-C ends the question", async () => {
  const stop = new AbortController();
  const asked = confirmed("Send it?", { ...fakeShell(), stdin: new PassThrough() }, stop.signal);
  stop.abort();
  expect(await asked).toBe(false);
});

test.each([
  [true, true, true],
  [true, false, false],
  [false, true, false],
])("terminals in %s, out %s: asks %s", (isIn, isErr, asks) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: isIn });
  expect(canAsk({ ...fakeShell(), stdin, errIsTerminal: isErr })).toBe(asks);
});
