/**
 * One contestant of `encode.ts`, on a real broker.
 *
 *   node bench/encode-work.ts TASK CONTESTANT BROKERS COMPRESSION
 *
 *   produce   1,000 calls of 1 KB with three headers at a time
 *   fan-out   each call to five topics, 200 calls at a time
 *   consume   the same records read, one batch of each of three partitions at a time
 *   idle      40 connected producers for five seconds, counted as 1,000 units
 *
 *   original     kafkajs as it is
 *   replaced     kafkajs with the replacements; reads, and has its own producer write
 *   switchyard   our producer, on top of the replacements
 */

import type * as Kafkajs from "kafkajs";

import type { OutgoingRecord } from "../src/domain/record.ts";
import { loadKafkajs } from "../src/kafka/kafkajs/load-kafkajs.ts";
import { benchKafka } from "./bench-kafka.ts";
import { createMeter, type Measured } from "./measure.ts";

const [task = "", contestant = "", brokers = "", compression = "0"] = process.argv.slice(2);
const kafkajs =
  contestant === "original"
    ? (loadKafkajs("no version", []).exports as typeof Kafkajs)
    : ((await import("../src/kafka/kafkajs/kafkajs.ts")) as unknown as typeof Kafkajs);
if (contestant !== "original") {
  // Loads kafkajs with the replacements.
  (await import("../test/support/kafkajs/compressing.ts")).registerCompressions();
}
const kafka = new kafkajs.Kafka({ brokers: brokers.split(","), clientId: "bench", logLevel: 0 });
const createPartitioner = kafkajs.Partitioners.DefaultPartitioner;

const WARM = 20;
const MEASURED = 60;
const PARTITIONS = 3;
const prefix = `bench-encode-${process.pid}-`;
const topics = Array.from({ length: task === "fan-out" ? 5 : 1 }, (_, at) => `${prefix}${at}`);

/** Calls as applications send them: names repeat, half of the rest does. */
const calls = Array.from({ length: 5000 }, (_, number) => {
  const id = ((number + 1) * 2_654_435_761) >>> 0;
  const random = (salt: number) => Math.imul(id ^ salt, 0x5bd1e995 + salt).toString(36);
  const properties = Object.fromEntries(
    Array.from({ length: 24 }, (_each, at) => [`property_${at}`, random(at) + random(at + 100)]),
  );
  const body = { type: "track", event: "Product Viewed", messageId: `m-${number}`, properties };
  return {
    key: Buffer.from(`user-${id}`),
    value: Buffer.from(JSON.stringify({ ...body, sentAt: "2026-01-01T00:00:00Z" }).padEnd(1024)),
  };
});

/** What is written at a time, made anew as route does. */
function records(batch: number): OutgoingRecord[] {
  const written: OutgoingRecord[] = [];
  for (let at = 0; at < 1000 / topics.length; at += 1) {
    const { key, value } = calls[(batch * 1000 + at) % calls.length] ?? { key: null, value: null };
    const sharedHeaders = [
      ["switchyard-message-id", Buffer.from(`m-${batch}-${at}`)],
      ["switchyard-received-at", Buffer.from("1700000000000")],
    ] as const;
    for (const topic of topics) {
      const headers = [["switchyard-destination", Buffer.from(topic)]] as const;
      written.push({ topic, key, value, sharedHeaders, headers });
    }
  }
  return written;
}

/** For kafkajs' own `sendBatch`, by topic. */
function messages(all: readonly OutgoingRecord[]): Kafkajs.TopicMessages[] {
  return topics.map((topic) => ({
    topic,
    messages: all
      .filter((record) => record.topic === topic)
      .map((record, at) => {
        const { key, value, sharedHeaders = [], headers } = record;
        const named = Object.fromEntries([...sharedHeaders, ...headers]);
        return { key, value, headers: named, partition: at % PARTITIONS };
      }),
  })) as Kafkajs.TopicMessages[];
}

async function produce(): Promise<Measured> {
  const meter = createMeter();
  const repeat = async (send: (batch: number) => Promise<unknown>) => {
    for (let batch = 0; batch < WARM + MEASURED; batch += 1) {
      if (batch === WARM) meter.start();
      await send(batch);
    }
    return meter.stop(MEASURED * 1000);
  };
  if (contestant === "switchyard") {
    const own = benchKafka(brokers);
    const producer = own.producer();
    const measured = await repeat((batch) => producer.send(records(batch)));
    await own.close();
    return measured;
  }
  const producer = kafka.producer({ createPartitioner });
  await producer.connect();
  const measured = await repeat((batch) =>
    producer.sendBatch({
      topicMessages: messages(records(batch)),
      compression: Number(compression),
    }),
  );
  await producer.disconnect();
  return measured;
}

async function consume(): Promise<Measured> {
  await produce();
  const consumer = kafka.consumer({ groupId: `${prefix}group`, maxBytesPerPartition: 50_000 });
  await consumer.subscribe({ topics, fromBeginning: true });
  const meter = createMeter();
  let read = 0;
  let begun = 0;
  const measured = await new Promise<Measured>((resolve, reject) => {
    const eachBatch = async ({ batch }: Kafkajs.EachBatchPayload) => {
      read += batch.messages.length;
      if (begun === 0 && read >= WARM * 1000) {
        begun = read;
        meter.start();
      }
      if (read === (WARM + MEASURED) * 1000) resolve(meter.stop(read - begun));
    };
    consumer
      .run({ autoCommit: false, partitionsConsumedConcurrently: PARTITIONS, eachBatch })
      .catch(reject);
  });
  await consumer.disconnect();
  return measured;
}

async function idle(): Promise<Measured> {
  const producers = Array.from({ length: 40 }, () => kafka.producer({ createPartitioner }));
  await Promise.all(producers.map((producer) => producer.connect()));
  const meter = createMeter();
  await new Promise((resolve) => setTimeout(resolve, 5000));
  const measured = meter.stop(1000);
  await Promise.all(producers.map((producer) => producer.disconnect()));
  return measured;
}

const admin = kafka.admin();
await admin.connect();
await admin.createTopics({
  topics: topics.map((topic) => ({ topic, numPartitions: PARTITIONS })),
  waitForLeaders: false,
});
// kafkajs' own wait takes "no such topic yet" for a failure.
for (let known = false; !known; ) {
  known = await admin.fetchTopicMetadata({ topics }).then(
    () => true,
    () => false,
  );
}
const measured = await (task === "idle" ? idle() : task === "consume" ? consume() : produce());
await admin.deleteTopics({ topics });
await admin.disconnect();
process.stdout.write(`${JSON.stringify(measured)}\n`);
