/** The contract of a producer. */

import { describe, expect, test } from "vitest";

import type { IncomingRecord } from "../../../src/domain/record.ts";
import { ClosedError } from "../../../src/kafka/port.ts";
import { partitionOfKey } from "../../../src/kafka/wire/murmur2.ts";
import { type Bench, RECORD_MAX_BYTES, record, values } from "./bench.ts";
import { Taker } from "./taker.ts";

/** The limit of one topic, which is larger than that of another. */
const TOPIC_MAX_BYTES = 20_000;

export function testProducer(bench: Bench): void {
  describe("a producer", () => {
    testWriting(bench);
    testWaiting(bench);
  });
}

async function readAll(bench: Bench, topic: string, count: number): Promise<IncomingRecord[]> {
  const kafka = bench.connect();
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = bench.consume(kafka, taker, { groupId: bench.name(), topics: [topic] });
  await taker.untilTaken(count);
  await consumer.stop();
  return taker.taken;
}

function testWriting(bench: Bench): void {
  test("keeps the order of one caller in one partition, also of sends not waited for", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const producer = kafka.producer();
    const numbers = [...Array(300).keys()].map(String);
    await Promise.all(numbers.map((number) => producer.send([record(topic, number)])));
    expect(values(await readAll(bench, topic, 300))).toEqual(numbers);
  });

  test("places keys as Java does, uses a partition that is given, and spreads the rest", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 4);
    const keys = [...Array(20).keys()].map((number) => Buffer.from(`user-${number}`));
    await kafka
      .producer()
      .send([
        ...keys.map((key) => ({ topic, key, value: key, headers: [] })),
        { ...record(topic, "given"), key: keys[0] ?? null, partition: 3 },
        ...[...Array(8).keys()].map(() => record(topic, "any")),
      ]);
    const read = await readAll(bench, topic, 29);
    for (const { key, value, partition } of read) {
      if (value?.toString() === "given") expect(partition).toBe(3);
      else if (key !== null) expect(partition).toBe(partitionOfKey(key, 4));
    }
    const spread = read.filter(({ key }) => key === null).map(({ partition }) => partition);
    expect(new Set(spread)).toEqual(new Set([0, 1, 2, 3]));
  });

  test("returns records that are too large, and writes the others", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const small = await bench.topic(kafka, 1, { "max.message.bytes": `${TOPIC_MAX_BYTES}` });
    const tooLarge = record(topic, "x".repeat(RECORD_MAX_BYTES + 1));
    const tooLargeForTopic = record(small, "x".repeat(TOPIC_MAX_BYTES + 1));
    const refused = await kafka
      .producer()
      .send([
        record(topic, "before"),
        tooLarge,
        record(topic, "after"),
        record(small, "before"),
        tooLargeForTopic,
        record(small, "after"),
      ]);
    expect(new Set(refused.map((one) => one.record))).toEqual(
      new Set([tooLarge, tooLargeForTopic]),
    );
    for (const { error } of refused) expect(error).not.toBe("");
    expect(values(await readAll(bench, topic, 2))).toEqual(["before", "after"]);
    expect(values(await readAll(bench, small, 2))).toEqual(["before", "after"]);
  });
}

function testWaiting(bench: Bench): void {
  test("has nothing to do for no records", async () => {
    expect(await bench.connect().producer().send([])).toEqual([]);
  });

  test("waits for a topic that is not there yet", async () => {
    const kafka = bench.connect();
    const topic = bench.name();
    const sent = kafka.producer().send([record(topic, "patient", 0)]);
    await bench.topic(kafka, 1, {}, topic);
    expect(await sent).toEqual([]);
    expect(values(await readAll(bench, topic, 1))).toEqual(["patient"]);
  });

  test("gives back the records of a topic that is missing where that is asked for, and writes the others", async () => {
    const missing: string[] = [];
    const kafka = bench.connect();
    const producer = kafka.producer({ onMissing: (topic) => missing.push(topic) });
    const topic = await bench.topic(kafka, 1);
    const gone = bench.name();
    const lost = [record(gone, "one", 0), record(gone, "two", 0)];
    const refused = await producer.send([...lost, record(topic, "there")], { giveBack: true });
    expect(refused.map((each) => [each.record, each.blocked])).toEqual(
      lost.map((each) => [each, "missing"]),
    );
    expect(producer.blocked()).toMatchObject([{ topic: gone, by: "missing" }]);
    expect(new Set(missing)).toEqual(new Set([gone]));
    expect(values(await readAll(bench, topic, 1))).toEqual(["there"]);
  });

  test("writes to a topic that was missing as soon as it is there, to a send that waited too", async () => {
    const kafka = bench.connect();
    const producer = kafka.producer();
    const topic = bench.name();
    const patient = producer.send([record(topic, "patient", 0)]);
    expect(await producer.send([record(topic, "given back", 0)], { giveBack: true })).toHaveLength(
      1,
    );
    await bench.topic(kafka, 1, {}, topic);
    expect(await patient).toEqual([]);
    expect(await producer.send([record(topic, "next", 0)], { giveBack: true })).toEqual([]);
    expect(producer.blocked()).toEqual([]);
    expect(values(await readAll(bench, topic, 2))).toEqual(["patient", "next"]);
  });

  test("closes when everything is acknowledged", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const producer = kafka.producer();
    const sent = producer.send([record(topic, "last")]);
    await producer.close(10_000);
    expect(await sent).toEqual([]);
  });

  test("says what is not acknowledged when it closes, and takes nothing more", async () => {
    const producer = bench.connect().producer();
    const sent = producer.send([record(bench.name(), "to nowhere")]);
    const failed = expect(sent).rejects.toBeInstanceOf(ClosedError);
    await producer.close(100);
    await failed;
    await expect(producer.send([record(bench.name(), "late")])).rejects.toBeInstanceOf(ClosedError);
    await producer.close(100);
  });
}
