// `switchyard topics --output strimzi`: the plan as resources, which are validated with Strimzi's own schema.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { KafkaTopic } from "@kubernetes-models/strimzi-kafka-operator/kafka.strimzi.io/v1/KafkaTopic";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";

import { runProgram } from "../../../../../src/program/cli/program.ts";
import { kafkaTopics, resourceName } from "../../../../../src/program/cli/topics/strimzi.ts";
import { SMALL } from "../../../../support/build/config-source.ts";
import { fakeShell } from "../../../../support/worlds/fake-shell.ts";

interface Topic {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>>;
}

async function topics(args: readonly string[], kafka = "partitions: 3") {
  const directory = mkdtempSync(join(tmpdir(), "switchyard-topics-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "switchyard.yaml");
  writeFileSync(file, SMALL.replace("brokers:", `${kafka}, brokers:`));
  const shell = fakeShell();
  const status = await runProgram(["topics", "--config", file, ...args], shell);
  const resources: Topic[] = parseAllDocuments(shell.output()).map((each) => each.toJS());
  return { status, resources, errors: shell.errors() };
}

test("every topic of the plan, without asking a broker", async () => {
  const { status, resources } = await topics(["--output", "strimzi", "--cluster", "prod"]);
  expect(status).toBe(0);
  expect(resources.map(({ metadata }) => metadata.name)).toEqual(
    [
      ...["calls", "audience-syncs", "deletion-requests", "deliveries.hook", "retries.hook"],
      ...["10s", "30s", "2m", "5m", "15m", "30m", "60m"].map((delay) => `delays.${delay}`),
      ...[
        "dead-letters",
        "ledger",
        "dead-letter-replays",
        "audience-members",
        "audiences",
        "operator-actions",
        "suppressions",
      ],
    ].map((name) => `switchyard.${name}`),
  );
  expect(resources[0]).toEqual({
    apiVersion: "kafka.strimzi.io/v1",
    kind: "KafkaTopic",
    metadata: { name: "switchyard.calls", labels: { "strimzi.io/cluster": "prod" } },
    spec: {
      partitions: 3,
      config: {
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
        "max.message.bytes": "1048576",
      },
    },
  });
});

test("Strimzi's schema takes them, and not others", async () => {
  const { resources } = await topics(["--output", "strimzi"], "replicationFactor: 3");
  expect(resources[0]?.spec.replicas).toBe(3);
  const validate = (topic: Topic) => new KafkaTopic(topic as never).validate();
  for (const topic of resources) validate(topic);
  const [calls] = resources;
  if (calls === undefined) throw new Error("there is none");
  expect(() => validate({ ...calls, spec: { ...calls.spec, partitions: "3" } })).toThrow(
    "partitions",
  );
});

test("a topic whose name Kubernetes does not take keeps it in its spec", async () => {
  const kafka = "topicPrefix: CDP_prod., topics: { calls: raw_calls }";
  const { resources } = await topics(["--output", "strimzi"], kafka);
  expect(resources[0]).toMatchObject({ spec: { topicName: "raw_calls" } });
  expect(resources[0]?.metadata.name).toMatch(/^raw-calls-[\da-f]{10}$/);
  expect(resources.at(-1)).toMatchObject({ spec: { topicName: "CDP_prod.suppressions" } });
});

test("names are good for Kubernetes, and each topic has one of its own", () => {
  const name = fc.stringMatching(/^[\w.-]{1,249}$/);
  fc.assert(
    fc.property(name, name, (one, other) => {
      const named = resourceName(one);
      expect(named).toMatch(/^[a-z\d]([-a-z\d]*[a-z\d])?(\.[a-z\d]([-a-z\d]*[a-z\d])?)*$/);
      expect(named.length).toBeLessThanOrEqual(253);
      if (one !== other) expect(resourceName(other)).not.toBe(named);
    }),
  );
});

test("the longest name that Kafka takes", () => {
  const longest = "A".repeat(249);
  expect(resourceName(longest)).toMatch(/^a{242}-[\da-f]{10}$/);
});

test("an empty plan is an empty text", () => {
  expect(kafkaTopics([], "prod")).toBe("");
});

test("it applies nothing", async () => {
  const { status, errors } = await topics(["--output", "strimzi", "--apply"]);
  expect(status).toBe(2);
  expect(errors).toContain("--apply cannot be combined with");
});
