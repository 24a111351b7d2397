// `switchyard acls`: the commands it prints.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { runProgram } from "../../../../src/cli/program.ts";
import { SMALL } from "../../../support/build/config-source.ts";
import { fakeShell } from "../../../support/worlds/fake-shell.ts";

async function acls(args: readonly string[], kafka = "createTopics: false") {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-acls-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "switchyard.yaml");
  writeFileSync(file, SMALL.replace("brokers:", `${kafka}, brokers:`));
  const shell = fakeShell();
  const status = await runProgram(["acls", "--config", file, ...args], shell);
  return { status, lines: shell.output().trimEnd().split("\n"), errors: shell.errors() };
}

const TO = "kafka-acls.sh --bootstrap-server kafka-1:9092 --add --allow-principal User";

test("the rights of a stage, a line for each pattern", async () => {
  const { status, lines } = await acls(["--roles", "deliver"]);
  expect(status).toBe(0);
  const all = `${TO}:switchyard-deliver`;
  expect(lines).toEqual([
    "# deliver",
    `${all} --operation Describe --topic switchyard. --resource-pattern-type prefixed`,
    `${all} --operation Read --topic switchyard.deliveries. --topic switchyard.returns. --resource-pattern-type prefixed`,
    `${all} --operation Write --topic switchyard.dead-letters`,
    `${all} --operation Write --topic switchyard.delays. --resource-pattern-type prefixed`,
    `${all} --operation Read --group switchyard.deliver. --resource-pattern-type prefixed`,
  ]);
});

test("a topic with a name of its own is named, and stages that make topics may create them", async () => {
  const own = "createTopics: true, topics: { calls: raw }";
  const { lines } = await acls(["--roles", "ingest", "--principal", "User:in gest"], own);
  const all = `${TO.replace(/ User$/, "")} 'User:in gest'`;
  expect(lines).toEqual([
    "# ingest",
    `${all} --operation Describe --operation Create --topic raw`,
    `${all} --operation Describe --operation Create --topic switchyard. --resource-pattern-type prefixed`,
    `${all} --operation Write --topic raw`,
  ]);
});

test("without a prefix every name is meant, and the tool is taken as it is typed", async () => {
  const tool = "acls --command-config admin.properties";
  const { lines } = await acls(["--roles", "topics", "--tool", tool], 'topicPrefix: ""');
  const all = `${tool} --bootstrap-server kafka-1:9092 --add --allow-principal User:switchyard-topics`;
  expect(lines).toEqual([
    "# topics",
    `${all} --operation Describe --operation Create --operation DescribeConfigs --operation AlterConfigs --topic '*'`,
    `${all} --operation DescribeConfigs --cluster`,
  ]);
});

test("all roles by default; one that there is not is refused", async () => {
  const { lines } = await acls([]);
  expect(lines.filter((line) => line.startsWith("# ")).length).toBe(12);
  expect(await acls(["--roles", "deliver,mail"])).toMatchObject({
    status: 2,
    errors: expect.stringContaining("mail is none of ingest, route"),
  });
});
