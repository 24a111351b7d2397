// Faults of Kafka clients, with one test for each, on a real Kafka.

import { Kafka as KafkajsClient, logLevel } from "kafkajs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { LostRecords } from "../../src/domain/lost-records.ts";
import { type Consumer, TopicGoneError } from "../../src/kafka/port.ts";
import { encodeBatch } from "../support/build/record-batches.ts";
import { Bench, record, values } from "../support/contract/bench.ts";
import { keyOf, Taker } from "../support/contract/taker.ts";
import { rawProduce } from "../support/kafka-client/raw-produce.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { testConnection, testKafka } from "../support/worlds/test-kafka.ts";

const connection = testConnection({ sessionTimeoutMs: 6_000, recordMaxBytes: () => 900_000 });
const bench = new Bench();
let lines = new LogLines();

beforeEach(() => {
  lines = new LogLines();
  bench.open({ connect: () => testKafka(connection, lines.log), close: () => Promise.resolve() });
});
afterEach(() => bench.close());

async function stopAll(...consumers: Consumer[]): Promise<void> {
  await Promise.all(consumers.map((consumer) => consumer.stop()));
}

describe.each(["hold", "pause"] as const)("a consumer without room, whenFull %s", (whenFull) => {
  test("takes part in a rebalance, and its partitions continue wherever they are assigned", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 2);
    for (const partition of [0, 1]) await bench.fill(kafka, topic, 20, partition);
    const options = { groupId: topic, topics: [topic], partitionRecordsMax: 3, whenFull };
    const first = new Taker({
      onDrain: async (taker, { inFlight }) => {
        for (const taken of [...inFlight.values()]) taker.finish(taken);
      },
    });
    const one = bench.consume(kafka, first, options);
    await first.untilTaken(6);

    const second = new Taker({ finishesAtOnce: true });
    const other = bench.consume(bench.connect(), second, options);
    await other.joined;
    const all = () => [...first.taken, ...second.taken];
    while (new Set(all().map(keyOf)).size < 40) {
      for (const taken of first.unfinished()) first.finish(taken);
      await Promise.race([
        first.untilTaken(first.taken.length + 1),
        second.untilTaken(second.taken.length + 1),
      ]);
    }
    expect(all()).toHaveLength(40);
    expect(second.taken.length).toBeGreaterThan(0);
    await stopAll(one, other);
  });
});

test("a paused partition that comes back after a rebalance is fetched again", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  await bench.fill(kafka, topic, 10);
  const limits = { partitionRecordsMax: 2, whenFull: "pause" } as const;
  const options = { groupId: topic, topics: [topic], ...limits };
  const first = new Taker();
  const one = bench.consume(kafka, first, options);
  await first.untilTaken(2);
  const second = new Taker();
  const other = bench.consume(bench.connect(), second, options);
  await other.joined;
  // Either consumer may own the partition now, and only this one gets the record.
  await expect
    .poll(() => one.rebalances() >= 2 && first.tenures.length + second.tenures.length > 1, {
      timeout: 60_000,
    })
    .toBe(true);
  await other.stop();
  // Whichever consumer owned it in between, nothing was finished, so `first` gets the first record again.
  await first.until(
    () => first.tenures.length >= 2 && (first.tenures.at(-1)?.inFlight.size ?? 0) > 0,
  );
  expect(first.tenures.at(-1)?.inFlight.has(0)).toBe(true);
  while (first.unfinished().length > 0) {
    for (const taken of first.unfinished()) first.finish(taken);
    const last = first.taken.at(-1)?.offset;
    if (last !== 9) await first.untilTaken(first.taken.length + 1);
  }
  await one.stop();
  expect(await kafka.admin.committed(topic, topic)).toMatchObject([{ offset: 10 }]);
});

/** Writes `count` empty records as one batch. Compressed with gzip, it is far below the limit. */
async function writeOneBatch(topic: string, count: number): Promise<void> {
  const messages = Array.from({ length: count }, () => record(topic, ""));
  await rawProduce(connection, topic, 0, await encodeBatch(messages, { compression: 1 }));
}

test("whenFull pause: bytes that wait in one partition leave the others their share", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 2);
  const large = (partition: number) => record(topic, "x".repeat(10_000), partition);
  await kafka.producer().send(Array.from({ length: 10 }, () => large(0)));
  const taker = new Taker();
  const limits = { maxBytes: 60_000, whenFull: "pause" } as const;
  const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic], ...limits });
  await taker.untilTaken(2);
  await kafka.producer().send(Array.from({ length: 2 }, () => large(1)));
  await taker.until(() => taker.taken.filter(({ partition }) => partition === 1).length === 2);
  expect(taker.taken.filter(({ partition }) => partition === 0)).toHaveLength(2);
  await consumer.stop();
});

test("whenFull pause: batches larger than a partition's share come in from all of them", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 4);
  const large = (partition: number) => record(topic, "x".repeat(300_000), partition);
  const producer = kafka.producer();
  for (let round = 0; round < 3; round += 1) await producer.send([0, 1, 2, 3].map(large));
  const taker = new Taker({ finishesAtOnce: true });
  const limits = { maxBytes: 256 * 1024, whenFull: "pause" } as const;
  const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic], ...limits });
  await taker.untilTaken(12);
  expect(new Set(taker.taken.map(keyOf)).size).toBe(12);
  await consumer.stop();
});

test("200,000 tiny records in one batch are handed over, at most 1,000 at once", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  await writeOneBatch(topic, 200_000);
  const taker = new Taker({ finishesAtOnce: true });
  const options = { groupId: topic, topics: [topic], partitionRecordsMax: 1_500 };
  const consumer = bench.consume(kafka, taker, { ...options, maxBytes: 16_000_000 });
  await taker.untilTaken(200_000);
  expect(taker.taken.at(-1)?.offset).toBe(199_999);
  expect(taker.batchMax).toBe(1_000);
  await consumer.stop();
});

test("an offset that retention has overtaken is reset to the first record, logged and counted, and what was finished above it is not repeated", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  await bench.fill(kafka, topic, 10);
  const before = new Taker();
  const first = bench.consume(kafka, before, { groupId: topic, topics: [topic] });
  await before.untilTaken(10);
  for (const [at, taken] of before.taken.entries()) if (at < 2 || at === 7) before.finish(taken);
  await first.stop();

  const admin = new KafkajsClient({ brokers: BROKERS, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  // kafkajs looks up leaders in metadata that it already has.
  await admin.fetchTopicOffsets(topic);
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "6" }] });
  await admin.disconnect();

  const after = new Taker({ finishesAtOnce: true });
  const second = bench.consume(kafka, after, { groupId: topic, topics: [topic] });
  await after.untilTaken(3);
  expect(values(after.taken)).toEqual(["6", "8", "9"]);
  expect(second.offsetResets()).toBe(1);
  await second.stop();
  expect(lines.seen).toContain("kafka.offset.out-of-range");
  expect(await kafka.admin.committed(topic, topic)).toMatchObject([{ offset: 10 }]);
});

test("the records of a topic that is deleted are reported as lost when the topic exists again", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 2);
  await bench.fill(kafka, topic, 54);
  const taker = new Taker();
  const gone = Promise.withResolvers<Error>();
  const of = { groupId: topic, topics: [topic], onCrash: gone.resolve };
  bench.consume(kafka, taker, { ...of, partitionRecordsMax: 5 });
  await taker.untilTaken(4);
  for (const taken of taker.taken.slice(0, 4)) taker.finish(taken);
  const admin = new KafkajsClient({ brokers: BROKERS, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  expect(await gone.promise).toBeInstanceOf(TopicGoneError);
  await admin.createTopics({ topics: [{ topic, numPartitions: 2 }], waitForLeaders: true });
  await admin.disconnect();
  const lost = Promise.withResolvers<LostRecords>();
  const again = bench.consume(kafka, new Taker(), { ...of, onLost: lost.resolve });
  expect(await lost.promise).toEqual({ topic, records: 50 });
  expect(again.offsetResets()).toBe(1);
});

test("a reset that an earlier owner has left is not counted again", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  await bench.fill(kafka, topic, 3);
  const admin = new KafkajsClient({ brokers: BROKERS, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  // This is what kafkajs commits if an offset is out of range: the first record.
  await admin.setOffsets({ groupId: topic, topic, partitions: [{ partition: 0, offset: "-2" }] });
  await admin.disconnect();
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
  await taker.untilTaken(3);
  expect(consumer.offsetResets()).toBe(0);
  await consumer.stop();
});

test("a commit of somebody else's metadata is ignored", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  await bench.fill(kafka, topic, 3);
  const admin = new KafkajsClient({ brokers: BROKERS, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const committed = { partition: 0, offset: "1", metadata: "sw1:1:some-other-topic-id:BB" };
  await admin.setOffsets({ groupId: topic, topic, partitions: [committed] });
  await admin.disconnect();
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
  await taker.untilTaken(2);
  expect(values(taker.taken)).toEqual(["1", "2"]);
  await consumer.stop();
});

test("a consumer of a topic that does not exist crashes, and `joined` rejects", async () => {
  const kafka = bench.connect();
  const crashed = Promise.withResolvers<Error>();
  const consumer = bench.consume(kafka, new Taker(), {
    groupId: bench.name(),
    topics: [bench.name()],
    onCrash: crashed.resolve,
  });
  await expect(consumer.joined).rejects.toThrow(/topic/);
  expect(await crashed.promise).toBeInstanceOf(Error);
  await consumer.stop();
});

test("records for a missing topic wait, are reported once, and hold up no others", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  const missing = bench.name();
  const producer = kafka.producer();
  const waiting = producer.send([record(missing, "late"), record(topic, "along")]);
  for (let number = 0; number < 20; number += 1) {
    expect(await producer.send([record(topic, `${number}`)])).toEqual([]);
  }
  await lines.until("kafka.produce.topic-missing");
  await bench.topic(kafka, 1, {}, missing);
  expect(await waiting).toEqual([]);
  expect(lines.seen).toEqual(["kafka.produce.topic-missing"]);
  expect(await kafka.admin.offsets(missing)).toEqual([{ partition: 0, first: 0, end: 1 }]);
  expect(await kafka.admin.offsets(topic)).toEqual([{ partition: 0, first: 0, end: 21 }]);
});

test("a topic that accepts less than expected: batches shrink, and nothing else is rejected", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1, { "max.message.bytes": "30000" });
  const sizes = Array.from({ length: 400 }, (_, index) => (index % 100 === 50 ? 40_000 : 1_000));
  const records = sizes.map((size) => record(topic, "x".repeat(size)));
  const refused = await kafka.producer().send(records);
  expect(refused.map((one) => one.record.value?.length)).toEqual([40_000, 40_000, 40_000, 40_000]);
  expect(await kafka.admin.offsets(topic)).toEqual([{ partition: 0, first: 0, end: 396 }]);
});
