// The messages about a missing permission: the principal, the permission, the resource, and the command that grants it.
// No message suggests creating topics that exist.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/base/runtime/clock.ts";
import type { Grant } from "../../src/domain/permissions.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Kafka, KafkaConnection } from "../../src/kafka/port.ts";
import { TopicLookup } from "../../src/router/delay/topic-lookup.ts";
import { JAVA } from "../support/kit/java.ts";
import { type Sections, useProgram, useRun } from "../support/kit/program.ts";
import { LogLines } from "../support/log/log-lines.ts";
import {
  type GuardedBroker,
  PASSWORD,
  startGuardedBroker,
} from "../support/servers/guarded-broker.ts";
import { createTopics } from "../support/worlds/test-kafka.ts";

const PREFIX = "perm.";
const TOPIC = `${PREFIX}things`;
const never = new AbortController().signal;
let broker: GuardedBroker;
let open: Kafka;

function connectionOf(user: string | null): KafkaConnection {
  const sasl =
    user === null ? null : ({ mechanism: "plain", username: user, password: PASSWORD } as const);
  return {
    ...{ brokers: [user === null ? broker.openAddress : broker.guardedAddress], sasl },
    ...{ clientId: "permissions", tls: null, sessionTimeoutMs: 10_000 },
    recordMaxBytes: () => 900_000,
  };
}

const on = (
  kind: Grant["on"],
  names: readonly string[],
  ...operations: Grant["operations"]
): Grant => ({ on: kind, names, pattern: "literal", operations });
const ofPrefix = (...operations: Grant["operations"]): Grant => ({
  ...on("topic", [PREFIX], ...operations),
  pattern: "prefixed",
});

/** Returns the sentence with the command of Kafka's own tool. */
function sentence(
  user: string,
  operation: string,
  kind: string,
  name: string,
  code: string,
): string {
  return (
    `the permission ${operation} on the ${kind} ${name} is missing for User:${user} (${code}). Grant it: ` +
    `kafka-acls.sh --bootstrap-server ${broker.guardedAddress} --add --allow-principal User:${user} ` +
    `--operation ${operation} --${kind} ${name}`
  );
}

const TOPIC_CODE = "TOPIC_AUTHORIZATION_FAILED";
const GROUP_CODE = "GROUP_AUTHORIZATION_FAILED";
const USERS = [
  ...["nothing", "describes", "reads-topic", "reads-group", "commits"],
  ...["writes-other", "starts", "hidden", "creates-not", "sees-calls"],
] as const;
type User = (typeof USERS)[number];

async function withKafka<Result>(
  user: User,
  act: (kafka: Kafka, lines: LogLines) => Promise<Result>,
) {
  const lines = new LogLines();
  const kafka = createKafka(connectionOf(user), lines.log);
  await using _closing = { [Symbol.asyncDispose]: () => kafka.close() };
  return await act(kafka, lines);
}

beforeAll(async () => {
  if (JAVA === null) return;
  broker = await startGuardedBroker(JAVA, USERS);
  open = createKafka(connectionOf(null), new LogLines().log);
  const names = [TOPIC, `${PREFIX}other`, `${PREFIX}calls`];
  await createTopics(open, names);
  await open.producer().send([{ topic: TOPIC, key: null, value: Buffer.from("x"), headers: [] }]);
  await broker.grant("describes", [ofPrefix("Describe"), on("group", ["g"], "Read")]);
  await broker.grant("reads-topic", [ofPrefix("Read")]);
  await broker.grant("reads-group", [on("group", ["g"], "Read")]);
  await broker.grant("commits", [ofPrefix("Read"), on("group", ["g"], "Describe")]);
  await broker.grant("writes-other", [on("topic", [`${PREFIX}other`], "Write")]);
  await broker.grant("starts", [ofPrefix("Describe")]);
  await broker.grant("creates-not", [ofPrefix("Describe")]);
  await broker.grant("sees-calls", [
    on("topic", [`${PREFIX}calls`], "Describe", "DescribeConfigs"),
  ]);
});

afterAll(async () => {
  await open?.close();
  await broker?.stop();
});

/** Returns why the consumer failed. */
function crashOf(user: User): Promise<string> {
  return withKafka(user, async (kafka) => {
    const crashed = Promise.withResolvers<string>();
    const consumer = kafka.consume({
      ...{ groupId: "g", topics: [TOPIC], partitionRecordsMax: 10, maxBytes: 1_000_000 },
      ...{ whenFull: "hold", drainLimitMs: 1_000 },
      onAssigned: () => ({ take: () => undefined, drain: async () => undefined }),
      onCrash: ({ message }) => crashed.resolve(message),
    });
    consumer.joined.catch(() => undefined);
    return await crashed.promise;
  });
}

async function readAll(kafka: Kafka): Promise<void> {
  const range = { topic: TOPIC, partition: 0, from: 0, to: 1, maxBytes: 1_000, signal: never };
  for await (const _records of kafka.read(range)) break;
}

type Asked = readonly [
  name: string,
  User,
  (kafka: Kafka) => Promise<unknown>,
  missing: readonly [operation: string, kind: string, name: string, code: string],
];
const NEW = { name: `${PREFIX}new`, partitions: 1, replicationFactor: 1, config: {} };
const COMMIT = [{ partition: 0, offset: 1, metadata: "" }];
const WANTED = new Map(["g", "h"].map((group) => [group, [TOPIC]]));
const onTopic = (operation: string, name = TOPIC) =>
  [operation, "topic", name, TOPIC_CODE] as const;
const onGroup = (operation: string) => [operation, "group", "g", GROUP_CODE] as const;
const ASKED: readonly Asked[] = [
  ["assertVisible", "nothing", ({ admin }) => admin.assertVisible([TOPIC]), onTopic("Describe")],
  [
    "describe",
    "describes",
    ({ admin }) => admin.describe([TOPIC], ["retention.ms"]),
    onTopic("DescribeConfigs"),
  ],
  ["create", "describes", ({ admin }) => admin.create([NEW]), onTopic("Create", NEW.name)],
  [
    "alterConfig",
    "describes",
    ({ admin }) => admin.alterConfig(TOPIC, { "retention.ms": "1000000" }),
    onTopic("AlterConfigs"),
  ],
  ["deleteTopics", "describes", ({ admin }) => admin.deleteTopics([TOPIC]), onTopic("Delete")],
  ["offsets", "nothing", ({ admin }) => admin.offsets(TOPIC), onTopic("Describe")],
  ["offsetsOf", "nothing", ({ admin }) => admin.offsetsOf([TOPIC]), onTopic("Describe")],
  ["offsetsAt", "nothing", ({ admin }) => admin.offsetsAt(TOPIC, 0), onTopic("Describe")],
  ["committed", "starts", ({ admin }) => admin.committed("g", TOPIC), onGroup("Describe")],
  ["committedOf", "starts", ({ admin }) => admin.committedOf(WANTED), onGroup("Describe")],
  ["commit", "commits", ({ admin }) => admin.commit("g", TOPIC, COMMIT), onGroup("Read")],
  [
    "commit of a topic",
    "reads-group",
    ({ admin }) => admin.commit("g", TOPIC, COMMIT),
    onTopic("Read"),
  ],
  ["deleteGroup", "describes", ({ admin }) => admin.deleteGroup("g"), onGroup("Delete")],
  ["read without Read", "describes", readAll, onTopic("Read")],
  ["read without Describe", "nothing", readAll, onTopic("Read")],
];
describe.skipIf(JAVA === null)("a permission is missing (needs Java)", () => {
  test.each<[User, string, string, string, string]>([
    ["nothing", "Read", "topic", TOPIC, TOPIC_CODE],
    ["reads-group", "Read", "topic", TOPIC, TOPIC_CODE],
    ["describes", "Read", "topic", TOPIC, TOPIC_CODE],
    ["reads-topic", "Read", "group", "g", GROUP_CODE],
    ["commits", "Read", "group", "g", GROUP_CODE],
  ])("a consumer of %s names it: %s on the %s", async (user, operation, kind, name, code) => {
    expect(await crashOf(user)).toContain(sentence(user, operation, kind, name, code));
  });

  test.each<[User]>([["nothing"], ["describes"]])(
    "a producer of %s reports it, and not that the topic is missing",
    async (user) => {
      await withKafka(user, async (kafka, lines) => {
        const producer = kafka.producer();
        const sent = producer.send([
          { topic: TOPIC, key: null, value: Buffer.from("x"), headers: [] },
        ]);
        sent.catch(() => undefined);
        await lines.until("kafka.produce.permission-missing");
        const line = lines.lines.find(({ msg }) => msg === "kafka.produce.permission-missing");
        const expected = sentence(user, "Write", "topic", TOPIC, TOPIC_CODE);
        expect(line?.fields).toMatchObject({
          topic: TOPIC,
          error: expect.stringContaining(expected),
        });
        await expect
          .poll(() => producer.blocked())
          .toMatchObject([
            { topic: TOPIC, by: "forbidden", error: expect.stringContaining(expected) },
          ]);
        expect(lines.seen).not.toContain("kafka.produce.topic-missing");
        await producer.close(0);
      });
    },
  );

  test.each(ASKED)(
    "%s, requested by %s, names the permission",
    async (_name, user, ask, [operation, kind, name, code]) => {
      await withKafka(user, async (kafka) => {
        const expected = sentence(user, operation, kind, name, code);
        await expect(ask(kafka)).rejects.toThrow(expected);
      });
    },
  );

  test.each<[User, string, boolean]>([
    ["nothing", TOPIC, true],
    ["starts", TOPIC, true],
    ["starts", `${PREFIX}missing`, false],
  ])("for the delay stage of %s, the existence of %s is %s", async (user, topic, exists) => {
    await withKafka(user, async (kafka) => {
      const lookup = new TopicLookup({ kafka, clock: systemClock });
      const isCertain = () => lookup.isCertain(topic, systemClock.nowMs());
      while (!isCertain()) await lookup.renew(never);
      expect([lookup.exists(topic), lookup.healthProblems()]).toEqual([exists, []]);
    });
  });
});

/** A process that authenticates as the user. */
function programOf(user: User, createTopics: boolean) {
  const sasl = { mechanism: "plain", username: user, password: PASSWORD };
  const config: Sections = {
    kafka: { brokers: [broker.guardedAddress], topicPrefix: PREFIX, createTopics, sasl },
    destinations: { hook: "https://hooks.example.com/" },
    delivery: { retryDelays: ["1s"] },
  };
  return useProgram(config);
}

describe.skipIf(JAVA === null)("programs (need Java)", () => {
  test.each([[true], [false]])(
    "run, with createTopics %s, does not take hidden topics for missing",
    async (creates) => {
      const { status: ended, lines } = useRun(programOf("hidden", creates).file, ["route"]);
      await expect(ended).rejects.toThrow(
        /the permission Describe on the topics perm\..* is missing for User:hidden/,
      );
      await expect(ended).rejects.not.toThrow(/topics --apply/);
      expect(lines.seen).not.toContain("topics.waiting");
      expect(lines.seen).not.toContain("topics.creating");
    },
  );

  test("run that may not create topics names the missing permission", async () => {
    const { status: ended } = useRun(programOf("creates-not", true).file, ["route"]);
    await expect(ended).rejects.toThrow(
      /the permission Create on the topics perm\.\S+, .* is missing for User:creates-not/,
    );
  });

  test.each<[User, string]>([
    ["starts", "on the group perm.route"],
    ["hidden", "on the topic perm.calls"],
  ])("status of %s names the permission Describe %s, and shows the rest", async (user, on) => {
    const { out } = await programOf(user, false).inProcess(["status", "--json"]);
    const { stages } = JSON.parse(out) as { stages: readonly object[] };
    const missing = `the permission Describe ${on} is missing for User:${user}`;
    const note: unknown = expect.stringContaining(missing);
    expect(stages).toContainEqual(expect.objectContaining({ stage: "route", note }));
    expect(out).not.toContain("topics --apply");
  });

  test.each([
    [["topics"]],
    [["topics", "--apply"]],
    [["publish"]],
    [["delete", "u1"]],
    [["dead-letters", "list"]],
    [["dead-letters", "list", "--json"]],
    [["dead-letters", "replay", "--yes"]],
    [["audience", "list"]],
  ])("%j of a user who is shown no topic names the permission", async (args) => {
    const call = '{"type":"track","userId":"u1","event":"E"}\n';
    const { status, err } = await programOf("hidden", false).inProcess(args, call);
    expect(status).toBe(1);
    expect(err).toMatch(/the permission \w+ on the topics? perm\..* is missing for User:hidden/);
    expect(err).not.toContain("topics --apply");
  });
});

describe.skipIf(JAVA === null)("topics (needs Java)", () => {
  test.each<[User, string, string, string]>([
    ["starts", "DescribeConfigs on the topic perm.calls", "settings not visible", "missing"],
    ["sees-calls", "Describe on the topics", "", "not visible"],
  ])("of %s names the permission %s, and compares the rest", async (user, on, calls, syncs) => {
    const { status, out, err } = await programOf(user, false).inProcess(["topics"]);
    expect(status).toBe(1);
    expect(err).toContain(`the permission ${on}`);
    const lines = out.split("\n");
    const row = (topic: string) => lines.find((line) => line.startsWith(PREFIX + topic)) ?? "";
    expect(row("calls")).toContain(calls);
    expect(row("audience-syncs")).toContain(syncs);
  });
});
