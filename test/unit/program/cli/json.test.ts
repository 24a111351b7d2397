// `--json` of the commands that need no broker. The tests of the other commands include it.

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { audiencesJson } from "../../../../src/operator/look/audiences.ts";
import { runProgram } from "../../../../src/program/cli/program.ts";
import { SMALL } from "../../../support/build/config-source.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

const file = join(mkdtempSync(join(tmpdir(), "switchyard-json-")), "switchyard.yaml");
writeFileSync(file, SMALL);

async function json(args: readonly string[], input: readonly string[] = []) {
  const shell = fakeShell(input);
  const status = await runProgram([...args, "--json", "--config", file], shell);
  expect({ status, err: shell.errors() }).toEqual({ status: 0, err: "" });
  return shell
    .output()
    .split(/\n(?=\{)/)
    .map((text): unknown => JSON.parse(text));
}

test("explain: one object a line", async () => {
  const [call, none] = await json(
    ["explain"],
    ['{"type":"track","userId":"u1","event":"E","writeKey":"k1"}\n{\n'],
  );
  expect(call).toMatchObject({
    line: 1,
    call: { type: "track", source: "web", namedBy: "writeKey", key: "u1" },
    destinations: [
      {
        id: "hook",
        gets: true,
        reason: "by-default",
        topic: "switchyard.deliveries.hook",
        first: { kind: "attempt", requests: [{ method: "POST", url: "https://a.example.com/" }] },
      },
    ],
  });
  expect(none).toMatchObject({ line: 2, call: null, deadLetter: { reason: "undecodable" } });
});

test("config print: defaults are there, secrets are not", async () => {
  const [printed] = await json(["config", "print"]);
  expect(printed).toMatchObject({
    kafka: { brokers: ["kafka-1:9092"], startTimeout: "60s" },
    sources: [{ id: "web", writeKey: "(hidden)" }],
  });
});

test("acls: the grants of each role", async () => {
  const [printed] = await json(["acls", "--roles", "deliver"]);
  expect(printed).toMatchObject({
    roles: [{ role: "deliver", principal: "User:switchyard-deliver" }],
  });
});

test("no audience is an empty list", () => {
  expect(JSON.parse(audiencesJson([]))).toEqual({ audiences: [] });
});

test("config check: one object, warnings in it", async () => {
  const [outcome] = await json(["config", "check"]);
  expect(outcome).toMatchObject({ usable: true, sources: 1, destinations: 1, problems: [] });
});

test("config check: problems are in the object, and the exit status stays 2", async () => {
  const wrong = join(mkdtempSync(join(tmpdir(), "switchyard-json-")), "wrong.yaml");
  writeFileSync(wrong, SMALL.replace("sources:", "sourcez:"));
  const shell = fakeShell();
  expect(await runProgram(["config", "check", "--json", "--config", wrong], shell)).toBe(2);
  expect(shell.errors()).toBe("");
  const outcome = JSON.parse(shell.output()) as { problems: readonly object[] };
  expect(outcome).toMatchObject({ usable: false, hash: null, sources: null });
  expect(outcome.problems[0]).toMatchObject({
    path: expect.any(String),
    found: expect.any(String),
    expected: expect.any(String),
  });
});
