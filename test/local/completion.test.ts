// The completion script for bash, run in bash.

import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

import { runProgram } from "../../src/program/cli/program.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";

async function complete(line: string): Promise<readonly string[]> {
  const shell = fakeShell();
  await runProgram(["completion", "bash"], shell);
  const words = line.split(" ").map((word) => `'${word}'`);
  const script = `${shell.output()}
    COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}
    _switchyard; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((word) => word !== "");
}

test.each([
  ["switchyard st", ["status"]],
  ["switchyard config ", ["init", "check", "print", "diff", "schema", "--help"]],
  ["switchyard config d", ["diff"]],
  ["switchyard topics --config some.yaml --ap", ["--apply"]],
  ["switchyard dead-letters replay --dry", ["--dry-run"]],
  ["switchyard completion z", ["zsh"]],
  ["switchyard help sig", ["sign"]],
  ["switchyard publish calls", []],
])("%s<Tab>", async (line, offered) => {
  expect(await complete(line)).toEqual(offered);
});
