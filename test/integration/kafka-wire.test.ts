// What goes over the wire: other clients read what we write, and a real broker's ways reach the
// consumer as they should.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  MessagesStreamModes,
  Consumer as OtherConsumer,
  Producer as OtherProducer,
  stringDeserializers,
} from "@platformatic/kafka";
import type { ConsumerConfig, ConsumerCrashEvent, KafkaConfig, KafkaMessage } from "kafkajs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { createKafka } from "../../src/kafka/kafka.ts";
import { consumerGroupHooks } from "../../src/kafka/kafkajs/group-hooks.ts";
import {
  Kafka,
  logLevel,
  PartitionAssigners,
  Partitioners,
} from "../../src/kafka/kafkajs/kafkajs.ts";
import type { FetchedOffset } from "../../src/kafka/membership.ts";
import type { OutgoingMessage } from "../../src/kafka/wire/encode-records.ts";
import { recordOf } from "../../src/kafka/wire/fetched-record.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { KAFKA_VERSION } from "../../tools/kafka/settings.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { damagingProxy } from "../support/servers/damaging-proxy.ts";

const brokers = (process.env.SWITCHYARD_KAFKA_BROKERS ?? "").split(",");
const jars = process.env.SWITCHYARD_KAFKA_JARS;
/** The console consumer has another name for it since Kafka 4.2. */
const PROPERTY =
  KAFKA_VERSION.localeCompare("4.2", "en", { numeric: true }) < 0
    ? "--property"
    : "--formatter-property";
const prefix = uniquePrefix("wire");

const createClient = (config: Partial<KafkaConfig> = {}) =>
  new Kafka({ brokers, clientId: "wire-test", logLevel: logLevel.NOTHING, ...config });
const kafka = createClient();
const admin = kafka.admin();
const producer = kafka.producer({
  createPartitioner: Partitioners.DefaultPartitioner,
  allowAutoTopicCreation: false,
});

beforeAll(async () => {
  await Promise.all([admin.connect(), producer.connect()]);
});
afterAll(async () => {
  await Promise.all([admin.disconnect(), producer.disconnect()]);
});

const UNTIL_KNOWN = { timeout: 60_000, interval: 50 };

async function createTopic(name: string): Promise<string> {
  const topic = `${prefix}${name}`;
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: false });
  // kafkajs' own wait takes "no such topic yet" for a failure.
  await vi.waitFor(() => admin.fetchTopicMetadata({ topics: [topic] }), UNTIL_KNOWN);
  return topic;
}

/** Runs a consumer of ours until it has `count` records or crashes. */
async function consume(
  topic: string,
  count: number,
  options: { readonly config?: Partial<ConsumerConfig>; readonly from?: Kafka } = {},
) {
  const consumer = (options.from ?? kafka).consumer({
    groupId: `${topic}-group`,
    maxWaitTimeInMs: 100,
    ...options.config,
  });
  const crashed = new Promise<ConsumerCrashEvent["payload"]>((resolve) => {
    consumer.on("consumer.crash", ({ payload }) => resolve(payload));
  });
  const messages: KafkaMessage[] = [];
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  const complete = new Promise<void>((resolve, reject) => {
    consumer
      .run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: async ({ batch, resolveOffset }) => {
          for (const message of batch.messages) messages.push(message);
          resolveOffset(batch.lastOffset());
          if (messages.length >= count) resolve();
        },
      })
      .catch(reject);
  });
  const crash = await Promise.race([complete.then(() => null), crashed]);
  return { messages, crash, consumer };
}

const RECORDS: readonly OutgoingMessage[] = [
  {
    key: Buffer.from("user-1"),
    value: Buffer.from('{"type":"track"}'),
    sharedHeaders: [["source", Buffer.from("web")]],
    headers: [
      ["destination", Buffer.from("crm")],
      ["destination", Buffer.from("ads")],
      ["größe", Buffer.from("ünïcode")],
    ],
  },
  { key: null, value: Buffer.from("no key"), headers: [] },
  { key: Buffer.from("tombstone"), value: null, headers: [["none", null]] },
  { key: Buffer.from("big"), value: Buffer.from("0123456789".repeat(20_000)), headers: [] },
];

const text = (bytes: Buffer | null | undefined) => bytes?.toString() ?? null;

describe("what we write", () => {
  let topic = "";
  beforeAll(async () => {
    topic = await createTopic("written");
    const connection = { brokers, clientId: "wire-test", tls: null, sasl: null };
    const limits = { sessionTimeoutMs: 10_000, recordMaxBytes: () => 900_000 };
    const own = createKafka({ ...connection, ...limits }, createLog("error"));
    await own.producer().send(RECORDS.map((record) => ({ topic, ...record })));
    await own.close();
  });

  const expected = RECORDS.map(({ key, value, headers, sharedHeaders = [] }) => ({
    key: text(key),
    value: text(value),
    headers: [...sharedHeaders, ...headers].map(([header, bytes]) => [header, text(bytes)]),
  }));

  test("is read by @platformatic/kafka", async () => {
    const other = new OtherConsumer({
      bootstrapBrokers: brokers,
      clientId: "wire-test-other",
      groupId: `${topic}-other`,
      deserializers: { headerKey: stringDeserializers.headerKey },
    });
    const stream = await other.consume({
      topics: [topic],
      mode: MessagesStreamModes.EARLIEST,
      maxWaitTime: 100,
      autocommit: false,
    });
    const read: typeof expected = [];
    for await (const { key, value, headers } of stream) {
      read.push({
        key: text(key),
        value: text(value),
        headers: [...headers].map(([header, bytes]) => [header, text(bytes)]),
      });
      if (read.length === expected.length) break;
    }
    await other.close(true);
    // It keeps headers in a map: of repeated ones the last is left.
    const lastOnly = expected.map((each) => ({
      ...each,
      headers: [...new Map(each.headers.map(([header, value]) => [header, value]))],
    }));
    expect(read).toEqual(lastOnly);
  });

  test.skipIf(jars === undefined)("is read by Java's console consumer", async () => {
    const { stdout } = await promisify(execFile)(
      "java",
      [
        ...["-cp", `${jars}/*`, "org.apache.kafka.tools.consumer.ConsoleConsumer"],
        ...["--bootstrap-server", brokers.join(","), "--topic", topic, "--from-beginning"],
        ...["--max-messages", `${RECORDS.length}`, "--timeout-ms", "60000"],
        ...[
          "print.headers=true",
          "print.key=true",
          "key.separator=|",
          "headers.separator=;",
        ].flatMap((property) => [PROPERTY, property]),
      ],
      {
        maxBuffer: 2 ** 24,
        env: { ...process.env, JAVA_TOOL_OPTIONS: "-Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8" },
      },
    );
    const lines = stdout.split("\n").filter((line) => line !== "");
    expect(lines).toEqual(
      expected.map(({ key, value, headers }) => {
        const shown = headers.map(([header, bytes]) => `${header}:${bytes}`).join(";");
        return `${shown || "NO_HEADERS"}|${key}|${value}`;
      }),
    );
  });

  test("is read by us", async () => {
    const { messages, consumer } = await consume(topic, RECORDS.length);
    await consumer.disconnect();
    const read = messages.map((message) => ({
      key: text(message.key),
      value: text(message.value),
      headers: recordOf(topic, 0, message).headers.map(([header, bytes]) => [header, text(bytes)]),
    }));
    expect(read).toEqual(expected);
  });
});

test.each(["none", "gzip", "snappy", "lz4", "zstd"] as const)(
  "what @platformatic/kafka writes with compression %s is read",
  async (compression) => {
    const topic = await createTopic(`foreign-${compression}`);
    const other = new OtherProducer({ bootstrapBrokers: brokers, clientId: "wire-test-other" });
    const values = Array.from({ length: 100 }, (_, number) => `${number}`.repeat(1_000));
    const written = values.map((value) => ({
      topic,
      key: Buffer.from("k"),
      value: Buffer.from(value),
      headers: new Map([[Buffer.from("größe"), Buffer.from("ünïcode")]]),
    }));
    await other.send({ messages: written, compression });
    await other.close();
    const { messages, consumer } = await consume(topic, written.length);
    await consumer.disconnect();
    expect(messages.map(({ key, value }) => [text(key), text(value)])).toEqual(
      values.map((value) => ["k", value]),
    );
    const [first] = messages.map((message) => recordOf(topic, 0, message));
    expect(first?.headers).toEqual([["größe", Buffer.from("ünïcode")]]);
  },
);

test("another client's batch of 200,000 records is read", async () => {
  const topic = await createTopic("many");
  const other = new OtherProducer({ bootstrapBrokers: brokers, clientId: "wire-test-other" });
  const written = Array.from({ length: 200_000 }, () => ({ topic, value: Buffer.from("x") }));
  await other.send({ messages: written, compression: "zstd" });
  await other.close();
  const { messages, consumer } = await consume(topic, written.length);
  await consumer.disconnect();
  expect(messages).toHaveLength(written.length);
  expect(messages.at(-1)).toMatchObject({ offset: 199_999, batchContext: { firstOffset: 0 } });
});

test("of two transactions the aborted one is not read, whatever its keys", async () => {
  const topic = await createTopic("transactions");
  const transactional = kafka.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    transactionalId: `${topic}-id`,
    maxInFlightRequests: 1,
    idempotent: true,
  });
  await transactional.connect();
  const zeros = Buffer.alloc(4);
  for (const outcome of ["aborted", "committed"]) {
    const transaction = await transactional.transaction();
    const messages = [
      { key: zeros, value: outcome },
      { key: "b", value: outcome },
    ];
    await transaction.send({ topic, messages });
    await (outcome === "aborted" ? transaction.abort() : transaction.commit());
  }
  await transactional.disconnect();
  const { messages, consumer } = await consume(topic, 2);
  await consumer.disconnect();
  expect(messages.map(({ value }) => text(value))).toEqual(["committed", "committed"]);
});

test("a corrupt batch stops the consumer with an error that names it, and none of its records is seen", async () => {
  const topic = await createTopic("damaged");
  await producer.send({ topic, messages: [{ value: "first" }] });
  await producer.send({ topic, messages: [{ value: "intact" }] });
  using proxy = await damagingProxy("intact", "broken");
  const from = createClient({ brokers: brokers.slice(0, 1), socketFactory: proxy.socketFactory });
  const { messages, crash } = await consume(topic, 2, { from });
  expect(crash?.error.message).toContain(`at topic ${topic}, partition 0, offset 1 is corrupt`);
  expect(crash?.error.cause).toMatchObject({
    name: "CorruptBatchError",
    topic,
    partition: 0,
    offset: 1,
  });
  expect(crash?.restart).toBe(false);
  expect(messages.map(({ value }) => text(value))).not.toContain("broken");
});

test("a consumer's hooks get commits with their metadata, and a re-created topic has another id", async () => {
  const topic = await createTopic("hooks");
  await producer.send({ topic, messages: [{ value: "one" }, { value: "two" }] });
  const joins: string[] = [];
  const run = async () => {
    const fetched: FetchedOffset[] = [];
    const config = consumerGroupHooks(PartitionAssigners.roundRobin, {
      beforeJoin: async () => void joins.push("join"),
      offsetsFetched: (all) => {
        fetched.push(...all);
        return [];
      },
      joinsAgain: async () => false,
    });
    const { consumer, messages } = await consume(topic, 1, { config });
    await consumer.commitOffsets([{ topic, partition: 0, offset: "1", metadata: "1-3,5" }]);
    await consumer.disconnect();
    // Each of several brokers has a fetch loop that asks.
    const different = [...new Map(fetched.map((each) => [JSON.stringify(each), each])).values()];
    return { fetched: different, first: messages[0]?.offset };
  };
  const before = await run();
  expect(before).toEqual({
    fetched: [
      {
        topic,
        topicId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        partition: 0,
        offset: -1,
        metadata: "",
      },
    ],
    first: 0,
  });
  const after = await run();
  expect(after).toEqual({
    fetched: [{ ...before.fetched[0], offset: 1, metadata: "1-3,5" }],
    first: 1,
  });
  expect(joins).toEqual(["join", "join"]);
  await admin.deleteTopics({ topics: [topic] });
  // The broker hears from the controller of it a moment later, and knows the old one until then.
  await expect.poll(() => admin.listTopics(), UNTIL_KNOWN).not.toContain(topic);
  await vi.waitFor(() => createTopic("hooks"), UNTIL_KNOWN);
  await vi.waitFor(() => producer.send({ topic, messages: [{ value: "new" }] }), UNTIL_KNOWN);
  const recreated = await run();
  expect(recreated.fetched[0]?.topicId).not.toBe(before.fetched[0]?.topicId);
});
