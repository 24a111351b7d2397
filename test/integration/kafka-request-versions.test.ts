// Requests are sent in a version that the broker accepts. If there is none, the error states this. The broker's list of
// versions is replaced (`version-front.ts`).

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { SENT_REQUESTS } from "../../src/kafka/broker/requests.ts";
import type { Kafka } from "../../src/kafka/port.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { readTopic } from "../support/kit/kafka.ts";
import { runCommand } from "../support/kit/program.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { type VersionFront, versionFront } from "../support/servers/version-front.ts";
import { connectTo, narrow } from "../support/worlds/fronted-kafka.ts";

const PRODUCE = 0;
const FETCH = 1;
const LIST_OFFSETS = 2;
const METADATA = 3;
const OFFSET_COMMIT = 8;
const JOIN_GROUP = 11;
const HEARTBEAT = 12;
const CREATE_TOPICS = 19;
const DELETE_TOPICS = 20;
const DESCRIBE_CONFIGS = 32;
const ALTER_CONFIGS = 44;

const folder = mkdtempSync(join(tmpdir(), "switchyard-versions-"));
const file = join(folder, "switchyard.yaml");
let broker: PrivateKafka;
let front: VersionFront;
let kafka: Kafka;
let topics = 0;

beforeAll(async () => {
  front = await versionFront();
  broker = await startKafka({ private: true, fronts: [front.address] });
  front.behind = broker.behind[0] ?? "";
  const kafkaSettings = `{ brokers: ["${front.address}"], topicPrefix: none. }`;
  writeFileSync(file, `kafka: ${kafkaSettings}\nsources: []\ndestinations: []\n`);
});
afterAll(async () => {
  front?.[Symbol.dispose]();
  await broker?.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  front.accepts = {};
  front.passed.clear();
  front.refused.length = 0;
  kafka = connectTo(front.address, new LogLines());
});
afterEach(() => kafka.close());

/** Makes most of the requests of a process and of commands, in order. */
async function useAll(): Promise<void> {
  topics += 1;
  const name = `versions-${topics}`;
  const { admin } = kafka;
  const config = { "retention.ms": "60000" };
  await admin.create([{ name, partitions: 1, replicationFactor: 1, config }]);
  await admin.alterConfig(name, { "retention.ms": "70000" });
  // The controller informs the broker of the change.
  await expect
    .poll(() => admin.describe([name], ["retention.ms"]))
    .toMatchObject([{ name, config: { "retention.ms": "70000" } }]);
  expect(await admin.brokerSetting("offsets.retention.minutes")).toBe("10080");
  expect(await kafka.producer().send(["a", "b"].map((value) => record(name, value)))).toEqual([]);
  expect(await admin.offsets(name)).toEqual([{ partition: 0, first: 0, end: 2 }]);
  expect((await admin.offsetsOf([name])).get(name)).toEqual([{ partition: 0, first: 0, end: 2 }]);
  expect(await admin.offsetsAt(name, 0)).toEqual([{ partition: 0, offset: 0 }]);
  const read = await readTopic(kafka, name, 100_000);
  expect(values(read)).toEqual(["a", "b"]);
  await admin.commit(name, name, [{ partition: 0, offset: 1, metadata: "" }]);
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = kafka.consume(narrow(name, taker, "hold"));
  await taker.untilTaken(1);
  expect(values(taker.taken)).toEqual(["b"]);
  await consumer.stop();
  expect(await admin.committed(name, name)).toMatchObject([{ partition: 0, offset: 2 }]);
  expect((await admin.committedOf(new Map([[name, [name]]]))).get(name)?.get(name)).toHaveLength(1);
  expect((await admin.topicIds([name])).size).toBe(1);
  await admin.deleteGroup(name);
  await admin.deleteTopics([name]);
}

test("each request that is sent is listed, with the version in which it is sent", async () => {
  await useAll();
  const listed = SENT_REQUESTS;
  for (const [apiKey, versions] of front.passed) {
    const known = listed.filter((kind) => kind.apiKey === apiKey).flatMap((kind) => kind.versions);
    expect(known, `request ${apiKey}`).toEqual(expect.arrayContaining([...versions]));
  }
  const unused = listed.filter(({ apiKey }) => !front.passed.has(apiKey));
  // There is no authentication here, and the test may be over before a heartbeat is due.
  const expected = ["Heartbeat", "SaslHandshake", "SaslAuthenticate"];
  expect(expected).toEqual(expect.arrayContaining(unused.map(({ apiName }) => apiName)));
  expect(front.refused).toEqual([]);
});

test.each([
  ["ListOffsets", { [LIST_OFFSETS]: [4, 11] }],
  ["ListOffsets, up to the last one", { [LIST_OFFSETS]: [7, 11] }],
  ["CreateTopics", { [CREATE_TOPICS]: [7, 8] }],
  ["DeleteTopics", { [DELETE_TOPICS]: [6, 7] }],
  ["DescribeConfigs", { [DESCRIBE_CONFIGS]: [4, 5] }],
  [
    "all of these",
    {
      [LIST_OFFSETS]: [7, 11],
      [CREATE_TOPICS]: [7, 8],
      [DELETE_TOPICS]: [6, 7],
      [DESCRIBE_CONFIGS]: [4, 5],
    },
  ],
] as const)("a broker that has dropped old versions of %s", async (_, accepts) => {
  front.accepts = accepts;
  await useAll();
  expect(front.refused).toEqual([]);
});

test("a broker of an older release gets older versions", async () => {
  front.accepts = {
    [LIST_OFFSETS]: [0, 2],
    [METADATA]: [0, 10],
    [CREATE_TOPICS]: [0, 2],
    [DELETE_TOPICS]: [0, 1],
    [DESCRIBE_CONFIGS]: [0, 1],
    [PRODUCE]: [0, 3],
  };
  await useAll();
  expect(front.refused).toEqual([]);
});

const TOO_NEW = "Upgrade Switchyard: the broker's Kafka is too new for it";
const TOO_OLD = "Upgrade the broker: its Kafka is too old";
const some = (name: string) => [{ name, partitions: 1, replicationFactor: 1, config: {} }];

test.each([
  ["ListOffsets", LIST_OFFSETS, [8, 11], () => kafka.admin.offsetsOf(["versions-kept"]), TOO_NEW],
  ["ListOffsets", LIST_OFFSETS, [0, 1], () => kafka.admin.offsetsOf(["versions-kept"]), TOO_OLD],
  ["ListOffsets", LIST_OFFSETS, [8, 11], () => kafka.admin.offsets("versions-kept"), TOO_NEW],
  ["Metadata", METADATA, [13, 14], () => kafka.admin.topics(), TOO_NEW],
  ["CreateTopics", CREATE_TOPICS, [8, 9], () => kafka.admin.create(some("versions-no")), TOO_NEW],
  [
    "DescribeConfigs",
    DESCRIBE_CONFIGS,
    [5, 5],
    () => kafka.admin.describe(["versions-kept"], ["retention.ms"]),
    TOO_NEW,
  ],
  [
    "IncrementalAlterConfigs",
    ALTER_CONFIGS,
    [2, 2],
    () => kafka.admin.alterConfig("versions-kept", { "retention.ms": "1" }),
    TOO_NEW,
  ],
  ["DeleteTopics", DELETE_TOPICS, null, () => kafka.admin.deleteTopics(["versions-kept"]), TOO_OLD],
] as const)("no version of %s in common: request %d, %j", async (name, key, range, act, advice) => {
  const before = connectTo(broker.brokers[0] ?? "", new LogLines());
  await before.admin.create(some("versions-kept"));
  await before.close();
  front.accepts = { [key]: range };
  const error = await act().then(
    () => "it went well",
    (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
  );
  expect(error).toContain(`The broker ${front.address}`);
  expect(error).toContain(`the request ${name}`);
  expect(error).toContain(advice);
  // No request was sent that makes the broker close the connection.
  expect(front.refused).toEqual([]);
});

test.each([
  ["JoinGroup", JOIN_GROUP, [9, 10]],
  ["Heartbeat", HEARTBEAT, [5, 5]],
  ["Heartbeat", HEARTBEAT, [0, 2]],
  ["OffsetCommit", OFFSET_COMMIT, [0, 4]],
  ["Fetch", FETCH, [0, 10]],
] as const)("a consumer without a version of %s ends with that error", async (name, key, range) => {
  const topic = `versions-consumer-${name}-${range[1]}`;
  await kafka.admin.create(some(topic));
  await kafka.producer().send([record(topic, "a")]);
  front.accepts = { [key]: range };
  front.cut();
  const crashed = Promise.withResolvers<Error>();
  const taker = new Taker();
  const consumer = kafka.consume({
    ...narrow(topic, taker, "hold"),
    onCrash: (error) => crashed.resolve(error),
  });
  const error = await crashed.promise;
  expect(`${error.message} ${error.cause}`).toContain(`the request ${name}`);
  await consumer.stop();
  expect(front.refused).toEqual([]);
});

test("a broker that is upgraded at its address is queried again", async () => {
  front.accepts = { [LIST_OFFSETS]: [0, 3], [PRODUCE]: [0, 5] };
  const topic = "versions-upgraded";
  await kafka.admin.create(some(topic));
  const producer = kafka.producer();
  await producer.send([record(topic, "a")]);
  expect((await kafka.admin.offsetsOf([topic])).get(topic)).toHaveLength(1);
  front.accepts = { [LIST_OFFSETS]: [4, 11], [PRODUCE]: [6, 13] };
  front.cut();
  await producer.send([record(topic, "b")]);
  expect((await kafka.admin.offsetsOf([topic])).get(topic)).toMatchObject([{ end: 2 }]);
  expect([...(front.passed.get(PRODUCE) ?? [])]).toEqual([5, 7]);
  expect([...(front.passed.get(LIST_OFFSETS) ?? [])]).toEqual([3, 7]);
  expect(front.refused).toEqual([]);
});

const topicsCommand = (...args: readonly string[]) => runCommand(file, ["topics", ...args]);

test("`topics --brokers` shows what is sent and accepted, and warns", async () => {
  front.accepts = { [LIST_OFFSETS]: [6, 11], [DESCRIBE_CONFIGS]: [1, 4] };
  const { status, out } = await topicsCommand("--brokers");
  expect(status).toBe(0);
  expect(out).toContain(`Broker 1: ${front.address}\n`);
  expect(out).toMatch(/^ListOffsets +7 +2 to 7 +6 to 11 +near the minimum$/m);
  expect(out).toMatch(/^DescribeConfigs +4 +1 to 4 +1 to 4 +-$/m);
  const { out: json } = await topicsCommand("--brokers", "--json");
  expect(JSON.parse(json)).toMatchObject({
    brokers: [{ nodeId: 1, address: front.address, error: null }],
    requests: expect.arrayContaining([
      {
        request: "ListOffsets",
        known: { min: 2, max: 7 },
        accepted: { min: 6, max: 11 },
        sent: [7],
        state: "near",
      },
    ]),
  });
});

test("`topics --brokers` fails where a request has no common version", async () => {
  front.accepts = { [HEARTBEAT]: [5, 5] };
  const { status, out } = await topicsCommand("--brokers");
  expect(status).toBe(1);
  expect(out).toMatch(/^Heartbeat +- +3 to 4 +5 +no common version$/m);
});

test("a start that cannot even request metadata reports it immediately", async () => {
  front.accepts = { [METADATA]: [13, 14] };
  const { err } = await topicsCommand("--kafka-timeout", "4m");
  expect(err).toMatch(
    /accepts versions 13 to 14 of the request Metadata.*Check the versions of Kafka and Switchyard/s,
  );
});
