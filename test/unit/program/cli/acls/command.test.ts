// `switchyard acls`: the commands that it prints.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KafkaUser } from "@kubernetes-models/strimzi-kafka-operator/kafka.strimzi.io/v1/KafkaUser";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { runProgram } from "../../../../../src/program/cli/program.ts";
import { SMALL } from "../../../../support/build/config-source.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

const TLS = join(import.meta.dirname, "../../../../golden/tls");

async function acls(args: readonly string[], kafka = "createTopics: false", page = "") {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-acls-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "switchyard.yaml");
  const console = page === "" ? "" : `console: { ${page} }\n`;
  writeFileSync(file, `${SMALL.replace("brokers:", `${kafka}, brokers:`)}\n${console}`);
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
    `${all} --operation Read --topic switchyard.operator-actions --topic switchyard.operator-events --topic switchyard.suppressions`,
    `${all} --operation Read --topic switchyard.deliveries. --topic switchyard.retries. --topic switchyard.order. --resource-pattern-type prefixed`,
    `${all} --operation Write --topic switchyard.dead-letters --topic switchyard.attempts --topic switchyard.operator-actions --topic switchyard.operator-events --topic switchyard.ledger`,
    `${all} --operation Write --topic switchyard.delays. --topic switchyard.order. --resource-pattern-type prefixed`,
    `${all} --operation Read --group switchyard.operator-events`,
    `${all} --operation Read --group switchyard.deliver. --resource-pattern-type prefixed`,
  ]);
});

test("the page writes nothing, until people may act on it", async () => {
  const { lines: looking } = await acls(["--roles", "console"]);
  expect(looking.filter((line) => /Write|Create|Delete/.test(line))).toEqual([]);
  expect(looking.join()).toContain("--topic switchyard.attempts");
  const { lines } = await acls(["--roles", "console"], "createTopics: false", "readOnly: false");
  const all = `${TO}:switchyard-console`;
  expect(lines.filter((line) => !looking.includes(line) && !line.includes("Read --topic"))).toEqual(
    [
      `${all} --operation Write --topic switchyard.operator-actions --topic switchyard.calls --topic switchyard.deletion-requests --topic switchyard.audience-syncs --topic switchyard.dead-letter-replays --topic switchyard.ledger`,
      `${all} --operation Write --topic switchyard.deliveries. --topic switchyard.retries. --topic switchyard.delays. --topic switchyard.order. --resource-pattern-type prefixed`,
      `${all} --operation Read --operation Delete --group switchyard.replay. --resource-pattern-type prefixed`,
    ],
  );
});

test("a topic with a name of its own is named, and stages that make topics may create them", async () => {
  const own = "createTopics: true, topics: { calls: raw }";
  const { lines } = await acls(["--roles", "ingest", "--principal", "User:in gest"], own);
  const all = `${TO.replace(/ User$/, "")} 'User:in gest'`;
  expect(lines).toEqual([
    "# ingest",
    `${all} --operation Describe --operation Create --topic raw`,
    `${all} --operation Describe --operation Create --topic switchyard. --resource-pattern-type prefixed`,
    `${all} --operation Read --topic switchyard.suppressions`,
    `${all} --operation Write --topic raw --topic switchyard.operator-actions`,
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

test("all roles by default; an unknown one is rejected", async () => {
  const { lines } = await acls([]);
  expect(lines.filter((line) => line.startsWith("# ")).length).toBe(18);
  expect(await acls(["--roles", "deliver,mail"])).toMatchObject({
    status: 2,
    errors: expect.stringContaining('"mail" is not a role. Roles: ingest, route'),
  });
  expect(await acls(["--principal", " "])).toMatchObject({
    status: 2,
    lines: [""],
    errors: expect.stringContaining("--principal is empty. Set a name"),
  });
});

/** The fields of the resource's definition, with their allowed values. */
const OPERATIONS =
  "Read Write Create Delete Alter Describe ClusterAction AlterConfigs DescribeConfigs IdempotentWrite All";

function expectRule(rule: Record<string, unknown>): void {
  expect(Object.keys(rule)).toEqual(["type", "resource", "operations", "host"]);
  expect(rule).toMatchObject({ type: "allow", host: "*" });
  const operations = rule.operations as readonly string[];
  expect(operations.length).toBeGreaterThan(0);
  for (const operation of operations) expect(OPERATIONS.split(" ")).toContain(operation);
  const resource = rule.resource as Record<string, unknown>;
  if (resource.type === "cluster") {
    expect(resource).toEqual({ type: "cluster" });
    return;
  }
  expect(Object.keys(resource)).toEqual(["type", "name", "patternType"]);
  expect(["topic", "group"]).toContain(resource.type);
  expect(["literal", "prefix"]).toContain(resource.patternType);
  expect(resource.name).toEqual(expect.stringMatching(/./));
}

async function users(args: readonly string[], kafka?: string): Promise<readonly UserResource[]> {
  const { status, lines } = await acls(["--output", "strimzi", ...args], kafka);
  expect(status).toBe(0);
  return parseAllDocuments(lines.join("\n")).map((user) => user.toJS() as UserResource);
}

interface UserResource {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly authentication?: unknown;
    readonly authorization: { readonly acls: readonly Record<string, unknown>[] };
  };
}

/** Validates a user with Strimzi's own definition. @throws Error that names the wrong field. */
function validate(user: UserResource): void {
  new KafkaUser(user as never).validate();
}

test("Strimzi's definition rejects a wrong rule", () => {
  const acls = [{ type: "allow", resource: { type: "topics", name: "a" }, operations: ["Read"] }];
  const spec = { authorization: { type: "simple", acls } };
  expect(() => validate({ metadata: { name: "a" }, spec })).toThrow("acls/0/resource/type");
});

test("for Strimzi a resource for each role, with its rules", async () => {
  const all = await users(["--cluster", "prod"]);
  expect(all.length).toBe(18);
  for (const user of all) {
    expect(user).toMatchObject({
      apiVersion: "kafka.strimzi.io/v1",
      kind: "KafkaUser",
      metadata: { labels: { "strimzi.io/cluster": "prod" } },
      spec: { authorization: { type: "simple" } },
    });
    for (const rule of user.spec.authorization.acls) expectRule(rule);
    validate(user);
  }
  const deliver = all.find(({ metadata }) => metadata.name === "switchyard-deliver");
  const rule = (type: string, name: string, patternType: string, operation: string) => {
    return {
      type: "allow",
      resource: { type, name, patternType },
      operations: [operation],
      host: "*",
    };
  };
  expect(deliver?.spec).toEqual({
    authorization: {
      type: "simple",
      acls: [
        rule("topic", "switchyard.", "prefix", "Describe"),
        rule("topic", "switchyard.operator-actions", "literal", "Read"),
        rule("topic", "switchyard.operator-events", "literal", "Read"),
        rule("topic", "switchyard.suppressions", "literal", "Read"),
        rule("topic", "switchyard.deliveries.", "prefix", "Read"),
        rule("topic", "switchyard.retries.", "prefix", "Read"),
        rule("topic", "switchyard.order.", "prefix", "Read"),
        rule("topic", "switchyard.dead-letters", "literal", "Write"),
        rule("topic", "switchyard.attempts", "literal", "Write"),
        rule("topic", "switchyard.operator-actions", "literal", "Write"),
        rule("topic", "switchyard.operator-events", "literal", "Write"),
        rule("topic", "switchyard.ledger", "literal", "Write"),
        rule("topic", "switchyard.delays.", "prefix", "Write"),
        rule("topic", "switchyard.order.", "prefix", "Write"),
        rule("group", "switchyard.operator-events", "literal", "Read"),
        rule("group", "switchyard.deliver.", "prefix", "Read"),
      ],
    },
  });
  const topics = all.find(({ metadata }) => metadata.name === "switchyard-topics");
  expect(topics?.spec.authorization.acls.at(-1)?.resource).toEqual({ type: "cluster" });
});

test("for Strimzi roles of one principal are one resource, without repeated rules", async () => {
  const [user, ...others] = await users(["--principal", "User:switchyard"]);
  expect(others).toEqual([]);
  const rules = user?.spec.authorization.acls.map((rule) => JSON.stringify(rule)) ?? [];
  expect(new Set(rules).size).toBe(rules.length);
});

test.each([
  ["createTopics: false", undefined],
  ["sasl: { mechanism: scram-sha-512, username: u, password: p }", { type: "scram-sha-512" }],
  ["sasl: { mechanism: plain, username: u, password: p }", undefined],
  [`tls: { cert: ${TLS}/cert.pem, key: ${TLS}/key.pem }`, { type: "tls" }],
])("for Strimzi with %s the authentication is %j", async (kafka, authentication) => {
  const [user] = await users(["--roles", "route"], kafka);
  expect(user?.spec.authentication).toEqual(authentication);
});

test.each(["Group:a", "User:Some Body", "User:"])("%s cannot be a KafkaUser", async (principal) => {
  expect(await acls(["--output", "strimzi", "--principal", principal])).toMatchObject({
    status: 2,
    errors: expect.stringContaining("is not a valid name of a KafkaUser"),
  });
});
