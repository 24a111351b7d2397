// Consumers on three brokers that get very few records, so that their fetches last for minutes. Records that are
// written after a leader has moved, or after partitions were added, are still read.

import { Kafka as Driver, logLevel } from "kafkajs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Consumer, Kafka } from "../../src/kafka/port.ts";
import { type LocalCluster, startCluster } from "../../tools/kafka/cluster.ts";
import { Taker } from "../support/contract/taker.ts";
import { JAVA } from "../support/kit/java.ts";
import { brokerOf } from "../support/worlds/program-on-cluster.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const TOPIC = "quiet";
const FIRST_LEADERS = [1, 2, 3];

let cluster: LocalCluster;
let kafka: Kafka;
let consumer: Consumer;
const taker = new Taker({ finishesAtOnce: true });
let round = 0;

beforeAll(async () => {
  if (JAVA === null) return;
  cluster = await startCluster();
  await cluster.look.create(TOPIC, [
    [1, 2, 3],
    [2, 3, 1],
    [3, 1, 2],
  ]);
  kafka = testKafka({ brokers: cluster.brokers });
  consumer = kafka.consume({
    groupId: TOPIC,
    topics: [TOPIC],
    whenFull: "hold",
    partitionRecordsMax: 1_000,
    maxBytes: 1_000_000,
    drainLimitMs: 1_000,
    onAssigned: taker.onAssigned,
    onCrash: () => undefined,
  });
  await consumer.joined;
});
afterAll(async () => {
  await kafka?.close();
  await cluster?.[Symbol.asyncDispose]();
});

const leaders = async () =>
  (await cluster.look.partitions(TOPIC)).map(({ leader }) => leader).slice(0, 3);

/** Writes as many keys as are needed to reach each partition. */
async function untilRead(): Promise<void> {
  round += 1;
  const values = Array.from({ length: 30 }, (_, at) => `${round}-${at}`);
  const records = values.map((value) => {
    return { topic: TOPIC, headers: [], key: Buffer.from(value), value: Buffer.from(value) };
  });
  expect(await kafka.producer().send(records)).toEqual([]);
  const taken = () => new Set(taker.taken.map(({ value }) => `${value}`));
  await expect.poll(() => values.filter((value) => !taken().has(value))).toEqual([]);
}

describe.skipIf(JAVA === null)("three brokers (need Java)", () => {
  test("a broker dies: its partitions are read from their new leaders", async () => {
    await untilRead();
    const dying = brokerOf(cluster, 1);
    await dying.kill();
    await expect.poll(leaders).not.toContain(1);
    await untilRead();
    await dying.start();
    await cluster.look.untilInSync([TOPIC]);
    await untilRead();
  });

  test("a leader is elected that led nothing before: its partition is read from it", async () => {
    await cluster.look.electPreferred(TOPIC);
    await expect.poll(leaders).toEqual(FIRST_LEADERS);
    await untilRead();
  });

  test("partitions that are added are read", async () => {
    const admin = new Driver({ brokers: [...cluster.brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    await admin.createPartitions({ topicPartitions: [{ topic: TOPIC, count: 5 }] });
    await admin.disconnect();
    const owned = () => consumer.progress().length;
    await expect.poll(owned).toBe(5);
    await untilRead();
  });
});
