// Reading without a group, from topics with gaps, transactions or missing records.

import { CompressionTypes, Kafka as KafkajsClient, logLevel } from "kafkajs";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Kafka } from "../../src/kafka/port.ts";
import { Bench, values } from "../support/contract/bench.ts";
import { registerCompressions } from "../support/kafka-client/compressing.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import { testConnection, testKafka } from "../support/worlds/test-kafka.ts";

const connection = testConnection({ recordMaxBytes: () => 900_000 });
const foreign = new KafkajsClient({ brokers: BROKERS, logLevel: logLevel.NOTHING });
const bench = new Bench();

beforeEach(() =>
  bench.open({ connect: () => testKafka(connection), close: () => Promise.resolve() }),
);
afterEach(() => bench.close());

async function read(
  kafka: Kafka,
  topic: string,
  from: number,
  to: number,
  signal = new AbortController().signal,
) {
  const found = [];
  const range = { topic, partition: 0, from, to, maxBytes: 1_000_000, signal };
  for await (const records of kafka.read(range)) found.push(...records);
  return values(found);
}

test("what retention has removed is passed over, and what was never there is not waited for", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  await bench.fill(kafka, topic, 10);
  const admin = foreign.admin();
  await admin.connect();
  // It has only the metadata of topics that were requested.
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "6" }] });
  await admin.disconnect();
  expect(await read(kafka, topic, 2, 9)).toEqual(["6", "7", "8"]);
  expect(await read(kafka, topic, 2, 5)).toEqual([]);
  // This simulates a topic that was recreated since its end was requested.
  expect(await read(kafka, topic, 5_000, 6_000)).toEqual([]);
});

test("from the middle of a compressed batch, only what was requested", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  const producer = foreign.producer();
  await producer.connect();
  const messages = Array.from({ length: 10 }, (_, number) => ({ value: `${number}` }));
  registerCompressions();
  await producer.send({ topic, messages, compression: CompressionTypes.GZIP });
  await producer.disconnect();
  expect(await read(kafka, topic, 4, 7)).toEqual(["4", "5", "6"]);
});

test("an aborted transaction is omitted, and markers at the end of the range do no harm", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  const producer = foreign.producer({
    idempotent: true,
    transactionalId: `${topic}-id`,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  for (const outcome of ["committed", "aborted"] as const) {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: [{ value: outcome }] });
    await (outcome === "aborted" ? transaction.abort() : transaction.commit());
  }
  // These are two records and two markers.
  expect(await read(kafka, topic, 0, 4)).toEqual(["committed"]);
  expect(await read(kafka, topic, 2, 4)).toEqual([]);

  // An open transaction delays the range until the reader has waited for long enough.
  const open = await producer.transaction();
  await open.send({ topic, messages: [{ value: "open" }] });
  expect(await kafka.admin.offsets(topic)).toEqual([{ partition: 0, first: 0, end: 4 }]);
  expect((await kafka.admin.offsetsOf([topic])).get(topic)).toMatchObject([{ end: 5 }]);
  const stop = new AbortController();
  const waiting = read(kafka, topic, 0, 5, stop.signal);
  expect(await read(kafka, topic, 0, 4)).toEqual(["committed"]);
  stop.abort();
  expect(await waiting).toEqual(["committed"]);
  await open.commit();
  expect(await read(kafka, topic, 0, 5)).toEqual(["committed", "open"]);
  await producer.disconnect();
});

test("a client that is closed reads no more", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  await bench.fill(kafka, topic, 1);
  const other = testKafka(connection);
  // The reader waits for a record that never arrives.
  const waiting = read(other, topic, 0, 2);
  expect(await read(other, topic, 0, 1)).toEqual(["0"]);
  await other.close();
  await expect(waiting).rejects.toThrow("closed");
  await expect(read(other, topic, 0, 1)).rejects.toThrow("closed");
});

test("an empty partition gives nothing until the reader stops, a missing topic an error that names it", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  const range = {
    topic,
    partition: 0,
    from: 0,
    to: 1,
    maxBytes: 1,
    signal: AbortSignal.timeout(1),
  };
  for await (const _records of kafka.read(range)) throw new Error("there is nothing to read");
  await expect(read(kafka, `${topic}-other`, 0, 1)).rejects.toThrow(`${topic}-other at offset 0`);
});
