// The help of the program shows the table, and the help of a command shows the same summary.

import { expect, test } from "vitest";

import { COMMANDS } from "../../../src/cli/command-table.ts";
import { fakeShell } from "../../support/worlds/fake-shell.ts";

test.each(COMMANDS)("$name is called so, with this summary", async ({ name, summary, load }) => {
  const command = (await load())(fakeShell(), () => undefined);
  expect({ name: command.name(), summary: command.summary() }).toEqual({ name, summary });
});
