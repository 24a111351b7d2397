import { expect, test } from "vitest";

import { COMMANDS } from "../../../../src/program/cli/command-table.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

test.each(COMMANDS)("$name is called so", async ({ name, load }) => {
  expect((await load())(fakeShell(), () => undefined).name()).toBe(name);
});
