// The completions, derived from the commands. test/local/completion.test.ts runs the script in bash.

import { expect, test } from "vitest";

import { runProgram } from "../../../../src/program/cli/program.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

async function say(...args: string[]) {
  const shell = fakeShell();
  return { status: await runProgram(args, shell), out: shell.output(), err: shell.errors() };
}

test.each([
  [
    "bash",
    '    "config diff") words="--config --kafka-timeout --admin --since --share --from --json --help" ;;',
  ],
  ["zsh", "bashcompinit"],
  ["fish", `complete -c switchyard -n '__switchyard_at "config"' -f -a check`],
  ["fish", `complete -c switchyard -n '__switchyard_at "topics"' -l apply`],
])("completion %s offers %s", async (name, line) => {
  const said = await say("completion", name);
  expect(said).toMatchObject({ status: 0, err: "" });
  expect(said.out).toContain(line);
});

test("another shell is wrong usage", async () => {
  const said = await say("completion", "tcsh");
  expect(said.status).toBe(2);
  expect(said.err).toContain("Allowed choices are bash, zsh, fish");
});
