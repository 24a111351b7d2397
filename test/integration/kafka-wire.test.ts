// Compatibility on the wire: other clients read what we write, and the consumer handles what a real broker does.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  MessagesStreamModes,
  Consumer as OtherConsumer,
  Producer as OtherProducer,
  stringDeserializers,
} from "@platformatic/kafka";
import { Kafka, logLevel, Partitioners } from "kafkajs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { IncomingRecord } from "../../src/domain/record.ts";
import type { OutgoingMessage } from "../../src/kafka/wire/encode-records.ts";
import { KAFKA_VERSION } from "../../tools/kafka/settings.ts";
import { uniquePrefix } from "../support/build/prefix.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const jars = process.env.SWITCHYARD_KAFKA_JARS;
/** Since Kafka 4.2, the console consumer has another name for this option. */
const PROPERTY =
  KAFKA_VERSION.localeCompare("4.2", "en", { numeric: true }) < 0
    ? "--property"
    : "--formatter-property";
const prefix = uniquePrefix("wire");

const kafka = new Kafka({ brokers: BROKERS, clientId: "wire-test", logLevel: logLevel.NOTHING });
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

function createOwn() {
  return testKafka({ clientId: "wire-test", recordMaxBytes: () => 900_000 });
}

async function createTopic(name: string, numPartitions = 1): Promise<string> {
  const topic = `${prefix}${name}`;
  await admin.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: false });
  // The wait in kafkajs treats a topic that does not exist yet as a failure.
  await vi.waitFor(() => admin.fetchTopicMetadata({ topics: [topic] }));
  return topic;
}

/** Runs one of our consumers until it has `count` records. */
async function consume(topic: string, count: number): Promise<readonly IncomingRecord[]> {
  const own = createOwn();
  const records: IncomingRecord[] = [];
  const { promise: complete, resolve, reject } = Promise.withResolvers<void>();
  own.consume({
    groupId: `${topic}-group`,
    topics: [topic],
    partitionRecordsMax: count,
    maxBytes: 64 * 1024 * 1024,
    whenFull: "hold",
    drainLimitMs: 0,
    onAssigned: (partition) => ({
      take: (taken) => {
        records.push(...taken);
        for (const { offset } of taken) partition.finish(offset);
        if (records.length >= count) resolve();
      },
      drain: async () => undefined,
    }),
    onCrash: reject,
  });
  await complete;
  await own.close();
  return records;
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
    const own = createOwn();
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
      bootstrapBrokers: BROKERS,
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
    // This client stores headers in a map, so only the last of repeated headers is left.
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
        ...["--bootstrap-server", BROKERS.join(","), "--topic", topic, "--from-beginning"],
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
    const records = await consume(topic, RECORDS.length);
    const read = records.map(({ key, value, headers }) => ({
      key: text(key),
      value: text(value),
      headers: headers.map(([header, bytes]) => [header, text(bytes)]),
    }));
    expect(read).toEqual(expected);
  });
});

test.each(["none", "gzip", "snappy", "lz4", "zstd"] as const)(
  "what @platformatic/kafka writes with compression %s is read",
  async (compression) => {
    const topic = await createTopic(`foreign-${compression}`);
    const other = new OtherProducer({ bootstrapBrokers: BROKERS, clientId: "wire-test-other" });
    const values = Array.from({ length: 100 }, (_, number) => `${number}`.repeat(1_000));
    const written = values.map((value) => ({
      topic,
      key: Buffer.from("k"),
      value: Buffer.from(value),
      headers: new Map([[Buffer.from("größe"), Buffer.from("ünïcode")]]),
    }));
    await other.send({ messages: written, compression });
    await other.close();
    const records = await consume(topic, written.length);
    expect(records.map(({ key, value }) => [text(key), text(value)])).toEqual(
      values.map((value) => ["k", value]),
    );
    expect(records[0]?.headers).toEqual([["größe", Buffer.from("ünïcode")]]);
  },
);

test("another client's batch of 200,000 records is read", async () => {
  const topic = await createTopic("many");
  const other = new OtherProducer({ bootstrapBrokers: BROKERS, clientId: "wire-test-other" });
  const written = Array.from({ length: 200_000 }, () => ({ topic, value: Buffer.from("x") }));
  await other.send({ messages: written, compression: "zstd" });
  await other.close();
  const records = await consume(topic, written.length);
  expect(records).toHaveLength(written.length);
  expect(records.at(-1)?.offset).toBe(199_999);
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
  const records = await consume(topic, 2);
  expect(records.map(({ value }) => text(value))).toEqual(["committed", "committed"]);
});

test.each(["kafkajs", "Switchyard"])(
  "with %s as the leader, a group of both shares the partitions out, and each commits for the other",
  async (leader) => {
    const topic = await createTopic(`group-${leader}`, 4);
    const theirs: number[] = [];
    const ours: number[] = [];
    const own = createOwn();
    const other = kafka.consumer({ groupId: topic, sessionTimeout: 10_000 });
    const join = {
      kafkajs: async () => {
        const joined = new Promise((resolve) => other.on("consumer.group_join", resolve));
        await other.subscribe({ topics: [topic], fromBeginning: true });
        await other.run({
          autoCommitThreshold: 1,
          eachMessage: async ({ partition }) => void theirs.push(partition),
        });
        await joined;
      },
      Switchyard: () =>
        own.consume({
          groupId: topic,
          topics: [topic],
          partitionRecordsMax: 100,
          maxBytes: 1_000_000,
          whenFull: "hold",
          drainLimitMs: 0,
          onAssigned: (assigned) => ({
            take: (taken) => {
              for (const { partition, offset } of taken) {
                ours.push(partition);
                assigned.finish(offset);
              }
            },
            drain: async () => undefined,
          }),
          onCrash: (error) => {
            throw error;
          },
        }).joined,
    };
    await (leader === "kafkajs" ? join.kafkajs() : join.Switchyard());
    await (leader === "kafkajs" ? join.Switchyard() : join.kafkajs());
    const all = [0, 1, 2, 3];
    await vi.waitFor(async () => {
      const { members } = await admin
        .describeGroups([topic])
        .then(({ groups }) => groups[0] ?? { members: [] });
      expect(members).toHaveLength(2);
    });
    const messages = all.map((partition) => ({ partition, value: "a" }));
    await producer.send({ topic, messages });
    await expect.poll(() => [...ours, ...theirs].toSorted()).toEqual(all);
    expect([ours.length, theirs.length]).toEqual([2, 2]);
    // The remaining consumer continues from the commits of the one that leaves.
    await other.disconnect();
    await producer.send({ topic, messages });
    await expect.poll(() => ours.length + theirs.length).toBe(8);
    await own.close();
    const committed = await admin.fetchOffsets({ groupId: topic, topics: [topic] });
    expect(committed[0]?.partitions.map(({ offset }) => offset)).toEqual(["2", "2", "2", "2"]);
  },
);
