// Whatever may not be read of Kafka, or is not there, says so in its place: in `status`, in
// `status --json` and in the console. All the rest is shown. On a broker with an authorizer.

import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import kafkajs from "kafkajs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { kafkaConnection } from "../../src/cli/connection.ts";
import { createEyes } from "../../src/cli/console/eyes.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { StatusReport } from "../../src/cli/status/report.ts";
import { loadConfig } from "../../src/config/load.ts";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import { resumeRecord } from "../../src/domain/operations.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import { Kafka as KafkajsClient } from "../../src/kafka/kafkajs/kafkajs.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { chooseJava } from "../../tools/kafka/choose.ts";
import { freePort } from "../../tools/kafka/free-port.ts";
import { killBroker, prepareBroker, startBroker } from "../../tools/kafka/java.ts";
import { deliveryOf } from "../support/build/webhook-destination.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const { READ, DESCRIBE } = AclOperationTypes;
const { TOPIC, GROUP } = AclResourceTypes;
const PREFIX = "seen.";
const IDS = Array.from({ length: 20 }, (_, number) => `d${number}`);
const LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule";
const TIMEOUT_MS = 120_000;
const quiet = createLog("error", { write: () => undefined });
const never = new AbortController().signal;
const java = await chooseJava(never, () => undefined).catch(() => null);
const cleanUp = new AsyncDisposableStack();
let directory = "";
let file = "";
let admin = new KafkajsClient({ brokers: ["127.0.0.1:1"], logLevel: 0 }).admin();

function secured(properties: string, port: number): string {
  const value = (key: string) => new RegExp(`^${key}=(.*)$`, "m").exec(properties)?.[1];
  const listener = `,SASL://127.0.0.1:${port}`;
  return [
    `listeners=${value("listeners")}${listener}`,
    `advertised.listeners=${value("advertised.listeners")}${listener}`,
    `listener.security.protocol.map=${value("listener.security.protocol.map")},SASL:SASL_PLAINTEXT`,
    "sasl.enabled.mechanisms=PLAIN",
    `listener.name.sasl.plain.sasl.jaas.config=${LOGIN} required user_viewer="secret";`,
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users=User:ANONYMOUS",
    "allow.everyone.if.no.acl.found=false",
    "",
  ].join("\n");
}

function configuration(port: number) {
  const hook = (id: string) => {
    return { id, type: "webhook", name: id, endpoints: [{ url: `https://${id}.example.com/` }] };
  };
  const sasl = { mechanism: "plain", username: "viewer", password: "secret" };
  return {
    kafka: { brokers: [`127.0.0.1:${port}`], topicPrefix: PREFIX, sasl },
    sources: [{ id: "web", destinations: IDS }],
    defaultSource: "web",
    destinations: IDS.map(hook),
    delivery: { delays: ["10s", "10m"] },
  };
}

const aclOf = (resourceType: number, resourceName: string, operation: number) => ({
  resourceType,
  resourceName,
  resourcePatternType: ResourcePatternTypes.LITERAL,
  principal: "User:viewer",
  host: "*",
  operation,
});

/** Two deliveries in the line of each, one that waits for ten minutes; a topic is missing. */
async function fill(open: string): Promise<void> {
  const connection = { brokers: [open], clientId: "fill", tls: null, sasl: null };
  const limits = { sessionTimeoutMs: 10_000, recordMaxBytes: () => 1_048_576 };
  const kafka = createKafka({ ...connection, ...limits }, quiet);
  await using _closing = { [Symbol.asyncDispose]: () => kafka.close() };
  const own = ["calls", "delays.10s", "delays.10m", "dead-letters", "operations"];
  const names = [...own, "audience-syncs", "deletion-requests", "replayed-letters"];
  const lines = IDS.slice(0, -1).map((id) => `deliveries.${id}`);
  await kafka.admin.create(
    [...names, ...lines, ...IDS.map((id) => `returns.${id}`)].map((name) => {
      return { name: PREFIX + name, partitions: 1, replicationFactor: 1, config: {} };
    }),
  );
  const producer = kafka.producer();
  const nowMs = Date.now();
  const record = (topic: string, id: string, isParked: boolean) => {
    const parked = { attempt: 1, parked: 1, firstAttemptAtMs: nowMs, dueAtMs: nowMs + 600_000 };
    const of = { destination: id as DestinationId, ...(isParked ? parked : {}) };
    const headers = deliveryHeaders(deliveryOf(of));
    return { topic: PREFIX + topic, partition: 0, key: null, value: Buffer.from("{}"), headers };
  };
  const all = IDS.slice(0, -1).flatMap((id) => [
    record(`deliveries.${id}`, id, false),
    record(`deliveries.${id}`, id, false),
    record("delays.10m", id, true),
  ]);
  const operation = resumeRecord(`${PREFIX}operations`, "d0" as DestinationId);
  expect(await producer.send([...all, operation])).toEqual([]);
  await producer.close(5_000);
}

beforeAll(async () => {
  if (java === null) return;
  directory = mkdtempSync(join(tmpdir(), "switchyard-seen-"));
  cleanUp.defer(() => rmSync(directory, { recursive: true, force: true }));
  const broker = await prepareBroker(java.java, java.jars, directory, 0, never);
  const port = await freePort();
  const settings = join(directory, "server.properties");
  appendFileSync(settings, `\n${secured(readFileSync(settings, "utf8"), port)}`);
  const running = await startBroker(broker, "guarded", never);
  cleanUp.defer(() => killBroker(running));
  file = join(directory, "switchyard.yaml");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(configuration(port)));
  admin = new KafkajsClient({ brokers: [broker.address], logLevel: 0 }).admin();
  await admin.connect();
  cleanUp.defer(() => admin.disconnect());
  const permissionType = AclPermissionTypes.ALLOW;
  await admin.createAcls({
    acl: [
      ...[READ, DESCRIBE].map((operation) => ({ ...aclOf(TOPIC, "*", operation), permissionType })),
      { ...aclOf(GROUP, "*", DESCRIBE), permissionType },
    ],
  });
  await fill(broker.address);
}, TIMEOUT_MS);

afterAll(() => cleanUp.disposeAsync());

/** All three views of it. */
async function seen() {
  const [text, json] = [fakeShell(), fakeShell()];
  const exits = [
    await runProgram(["status", "--config", file], text),
    await runProgram(["status", "--json", "--config", file], json),
  ];
  const load = () => loadConfig({ file, env: {} });
  const loaded = load();
  if (loaded.kind !== "config") throw new Error(JSON.stringify(loaded.problems));
  const kafka: Kafka = createKafka(kafkaConnection(loaded.config), quiet);
  await using _closing = { [Symbol.asyncDispose]: () => kafka.close() };
  const useKafka = <Result>(work: (one: Kafka) => Promise<Result>) => work(kafka);
  const eyes = createEyes({ current: () => loaded, load, admins: [], useKafka });
  const page = (await eyes.look(never)).seen;
  const report = JSON.parse(json.output()) as StatusReport;
  return { exits, text: text.output(), report, page };
}

interface Case {
  readonly missing: string;
  readonly on: number;
  readonly name: string;
  readonly operation: number;
  /** The line below the tables. */
  readonly says: RegExp;
  /** Destinations whose WAITING is not known. */
  readonly unknown?: readonly string[];
  /** Whether IN TIERS is not known. */
  readonly isTiersUnknown?: boolean;
}

const CASES: readonly Case[] = [
  {
    ...{ missing: "Describe on the group of a destination", on: GROUP, operation: DESCRIBE },
    ...{ name: "deliver.d7", unknown: ["d7"] },
    says: /^d7: the group seen\.deliver\.d7: the permission Describe is missing\.$/m,
  },
  {
    ...{ missing: "Describe on the line of a destination", on: TOPIC, operation: DESCRIBE },
    ...{ name: "deliveries.d3", unknown: ["d3"] },
    says: /^d3: the topic seen\.deliveries\.d3: the permission Describe is missing\.$/m,
  },
  {
    ...{ missing: "Describe on the returns of a destination", on: TOPIC, operation: DESCRIBE },
    ...{ name: "returns.d4", unknown: ["d4"] },
    says: /^d4: the topic seen\.returns\.d4: the permission Describe is missing\.$/m,
  },
  {
    ...{ missing: "Read on the line of a destination", on: TOPIC, operation: READ },
    name: "deliveries.d5",
    says: /^d5: cannot read partition 0 of seen\.deliveries\.d5 .*authorized.*\.$/m,
  },
  {
    ...{ missing: "Read on a delay topic", on: TOPIC, operation: READ },
    ...{ name: "delays.10m", isTiersUnknown: true },
    says: /^IN TIERS is not known: cannot read partition 0 of seen\.delays\.10m .*authorized.*\.$/m,
  },
  {
    ...{ missing: "Describe on the group of a delay", on: GROUP, operation: DESCRIBE },
    ...{ name: "delay.10m", isTiersUnknown: true },
    says: /^delay 10m: the group seen\.delay\.10m: the permission Describe is missing\.$/m,
  },
  {
    ...{ missing: "Read on the steering of people", on: TOPIC, operation: READ },
    ...{ name: "operations", isTiersUnknown: true },
    says: /^IN TIERS is not known: cannot read partition 0 of seen\.operations .*authorized.*\.$/m,
  },
  {
    ...{ missing: "Describe on the group of route", on: GROUP, operation: DESCRIBE },
    name: "route",
    says: /^route: the group seen\.route: the permission Describe is missing\.$/m,
  },
  {
    ...{ missing: "Describe on dead letters", on: TOPIC, operation: DESCRIBE },
    name: "dead-letters",
    says: /^Dead letters: the topic seen\.dead-letters: the permission Describe is missing\.$/m,
  },
];

describe.skipIf(java === null)("a broker with an authorizer (needs Java)", () => {
  test("a topic that is missing is named, and everything else is known", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { exits, text, report, page } = await seen();
    expect(exits).toEqual([0, 0]);
    expect(text).toContain("d19: the topic seen.deliveries.d19 does not exist.\n");
    expect(report.unknown).toEqual([]);
    const counts = report.destinations.map(({ waiting, waitingInTiers }) => [
      waiting,
      waitingInTiers,
    ]);
    expect(counts.filter(([waiting, inTiers]) => waiting === 2 && inTiers === 1)).toHaveLength(19);
    expect(page.troubles.map((each) => each.text)).toEqual([expect.stringContaining("No process")]);
  });

  test.each(CASES)("$missing is missing", { timeout: TIMEOUT_MS }, async (given) => {
    const { on, name, operation, says, unknown = [], isTiersUnknown = false } = given;
    const denied = aclOf(on, PREFIX + name, operation);
    await admin.createAcls({ acl: [{ ...denied, permissionType: AclPermissionTypes.DENY }] });
    try {
      // The broker takes it in by itself, a moment later.
      const isSeen = async () => (await seen()).exits[0];
      await expect.poll(isSeen, { interval: 50 }).toBe(1);
      const { exits, text, report, page } = await seen();
      expect(exits).toEqual([1, 1]);
      expect(text).toMatch(says);
      expect(report.unknown).toHaveLength(1);
      const views = [
        report.destinations.map((each) => [each.destination, each.waiting, each.waitingInTiers]),
        page.destinations.map(({ id, waiting, inTiers }) => [id, waiting, inTiers]),
      ];
      for (const view of views) {
        const expected = IDS.map((id) => {
          const isKnown = id !== "d19" && !unknown.includes(id);
          const inTiers = id === "d19" ? 0 : 1;
          return [id, isKnown ? 2 : null, isTiersUnknown ? null : inTiers];
        });
        expect(view.toSorted()).toEqual(expected.toSorted());
      }
      expect(page.kafkaError).toBeNull();
      const troubles = page.troubles.map((each) => each.text);
      expect(troubles).toContain(`Not everything is known: ${report.unknown[0]}.`);
    } finally {
      await admin.deleteAcls({
        filters: [{ ...denied, permissionType: AclPermissionTypes.DENY }],
      });
      await expect.poll(async () => (await seen()).exits[0], { interval: 50 }).toBe(0);
    }
  });
});
