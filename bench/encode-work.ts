/**
 * One contestant of `encode.ts`: kafkajs as it is or with the replacements, on a real broker.
 *
 *   node bench/encode-work.ts TASK original|replaced BROKERS COMPRESSION
 *
 *   produce   1,000 calls of 1 KB with three headers in each request
 *   fan-out   each call to five topics, 200 calls in each request
 *   consume   the same records read, one batch of each of three partitions at a time
 *   idle      40 connected producers for five seconds, counted as 1,000 units
 */

import type * as Kafkajs from "kafkajs";

import type { OutgoingMessage } from "../src/kafka/encode-records.ts";
import { loadKafkajs } from "../src/kafka/load-kafkajs.ts";
import { createMeter, type Measured } from "./measure.ts";

const [task = "", contestant = "", brokers = "", compression = "0"] = process.argv.slice(2);
const kafkajs =
  contestant === "original"
    ? (loadKafkajs("no version", []).exports as typeof Kafkajs)
    : ((await import("../src/kafka/kafkajs.ts")) as unknown as typeof Kafkajs);
const kafka = new kafkajs.Kafka({ brokers: brokers.split(","), clientId: "bench", logLevel: 0 });
const createPartitioner =
  contestant === "original"
    ? kafkajs.Partitioners.DefaultPartitioner
    : (await import("../src/kafka/group-by-partition.ts")).javaPartitioner;

const WARM = 20;
const MEASURED = 60;
const prefix = `bench-encode-${process.pid}-`;

/** A call as applications send it: names repeat, values do not. */
function call(number: number): { readonly key: Buffer; readonly value: Buffer } {
  const id = (number * 2_654_435_761) >>> 0;
  const properties = { path: `/products/${id}`, price: (id % 10_000) / 100, currency: "EUR" };
  const body = {
    type: "track",
    event: "Product Viewed",
    messageId: `m-${id}-${number}`,
    properties,
  };
  const json = JSON.stringify({ ...body, context: { ip: `10.0.${id % 256}.${number % 256}` } });
  // Half of the rest repeats, half does not.
  const filler = id.toString(36).repeat(40) + "abcdefghij".repeat(100);
  return { key: Buffer.from(`user-${id}`), value: Buffer.from(json + filler).subarray(0, 1024) };
}

const topics = Array.from({ length: task === "fan-out" ? 5 : 1 }, (_, at) => `${prefix}${at}`);

/** The messages of one request by topic, made anew each time as route does. */
function request(number: number): { topic: string; messages: Kafkajs.Message[] }[] {
  const calls = Array.from({ length: 1000 / topics.length }, (_, at) => {
    const { key, value } = call(number * 1000 + at);
    const shared = [
      ["switchyard-message-id", Buffer.from(`m-${number}-${at}`)],
      ["switchyard-received-at", Buffer.from("1700000000000")],
    ] as const;
    return { key, value, shared };
  });
  return topics.map((topic) => ({
    topic,
    messages: calls.map(({ key, value, shared }) => {
      const own = [["switchyard-destination", Buffer.from(topic)]] as const;
      const replaced: OutgoingMessage = { key, value, sharedHeaders: shared, headers: own };
      const original = { key, value, headers: Object.fromEntries([...shared, ...own]) };
      return contestant === "original" ? original : (replaced as unknown as Kafkajs.Message);
    }),
  }));
}

async function produce(): Promise<Measured> {
  const producer = kafka.producer({ createPartitioner });
  await producer.connect();
  const meter = createMeter();
  for (let batch = 0; batch < WARM + MEASURED; batch += 1) {
    if (batch === WARM) meter.start();
    await producer.sendBatch({ topicMessages: request(batch), compression: Number(compression) });
  }
  const measured = meter.stop(MEASURED * 1000);
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
    consumer.run({ autoCommit: false, partitionsConsumedConcurrently: 3, eachBatch }).catch(reject);
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
  topics: topics.map((topic) => ({ topic, numPartitions: 3 })),
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
