// Topics that change while they are written and read: they are recreated with fewer partitions, or get more partitions.

import { execFileSync } from "node:child_process";
import { Kafka as KafkajsClient, logLevel } from "kafkajs";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Kafka } from "../../src/kafka/port.ts";
import { Bench, record } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const bench = new Bench();

beforeEach(() =>
  bench.open({
    connect: () => testKafka({ sessionTimeoutMs: 6_000, recordMaxBytes: () => 900_000 }),
    close: () => Promise.resolve(),
  }),
);
afterEach(() => bench.close());

const keyed = (topic: string, values: readonly string[]) =>
  values.map((value) => ({ ...record(topic, value), key: Buffer.from(value) }));
const texts = (taker: Taker) => taker.taken.map(({ value }) => `${value}`);

async function remake(kafka: Kafka, topic: string, partitions: number): Promise<void> {
  await kafka.admin.deleteTopics([topic]);
  await expect.poll(() => kafka.admin.topics()).not.toContain(topic);
  const spec = { name: topic, partitions, replicationFactor: 1, config: {} };
  await kafka.admin.create([spec]);
}

test("a topic recreated with fewer partitions is written and read whole, without a restart", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 6);
  const taker = new Taker({ finishesAtOnce: true });
  const crashes: Error[] = [];
  const begin = () =>
    bench.consume(kafka, taker, {
      ...{ groupId: topic, topics: [topic] },
      // This is like the consumer of a destination, which is restarted.
      onCrash: (error) => {
        crashes.push(error);
        begin();
      },
    });
  begin();
  const producer = kafka.producer();
  const before = Array.from({ length: 300 }, (_, number) => `before-${number}`);
  await producer.send(keyed(topic, before));
  await taker.untilTaken(before.length);
  await remake(kafka, topic, 2);
  const after = Array.from({ length: 390 }, (_, number) => `after-${number}`);
  await producer.send(keyed(topic, after));
  const offsets = await kafka.admin.offsets(topic);
  expect(offsets.reduce((sum, { end }) => sum + end, 0)).toBe(after.length);
  await expect
    .poll(() => new Set(texts(taker).filter((value) => value.startsWith("after"))).size, {
      timeout: 45_000,
    })
    .toBe(after.length);
});

/** Blocks this process, so that the topic is deleted before the next line runs. */
function deleteNow(topic: string): void {
  const script = `
    const { Kafka, logLevel } = await import("kafkajs");
    const admin = new Kafka({ brokers: ${JSON.stringify(BROKERS)}, logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.deleteTopics({ topics: ["${topic}"] });
    while ((await admin.listTopics()).includes("${topic}")) await new Promise(setImmediate);
    await admin.disconnect();`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script]);
}

// Then, its first offset is never found.
test("a topic that is deleted between the assignment and the first read ends its consumer", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  const crash = Promise.withResolvers<Error>();
  kafka.consume({
    ...{ groupId: topic, topics: [topic], partitionRecordsMax: 1, maxBytes: 1_000_000 },
    ...{ whenFull: "pause", drainLimitMs: 1_000, onCrash: crash.resolve },
    onAssigned: () => {
      deleteNow(topic);
      return { take: () => undefined, drain: () => Promise.resolve() };
    },
  });
  expect(await crash.promise).toMatchObject({ name: "TopicGoneError" });
});

// It takes half a minute; the rest is for a busy machine.
test("partitions that are added are written and read soon", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  const taker = new Taker({ finishesAtOnce: true });
  bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
  const producer = kafka.producer();
  await producer.send(keyed(topic, ["first"]));
  await taker.untilTaken(1);
  const admin = new KafkajsClient({ brokers: BROKERS, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] });
  await admin.disconnect();
  let round = 0;
  const isWritten = async () => {
    round += 1;
    await producer.send(keyed(topic, [`a-${round}`, `b-${round}`, `c-${round}`, `d-${round}`]));
    const offsets = await kafka.admin.offsets(topic);
    return offsets.filter(({ end }) => end > 0).length;
  };
  await expect.poll(isWritten, { interval: 500 }).toBe(4);
  const partitions = () => new Set(taker.taken.map(({ partition }) => partition)).size;
  await expect.poll(partitions).toBe(4);
});
