// Another program is in a consumer group of Switchyard: a consumer of kafkajs.

import { setTimeout as timer } from "node:timers/promises";
import { Kafka, PartitionAssigners } from "kafkajs";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { Kafka as OurKafka } from "../../src/kafka/port.ts";
import { Bench, record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { BROKERS } from "../support/kit/kafka.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const bench = new Bench();
let lines: LogLines;

beforeEach(() => {
  lines = new LogLines();
  bench.open({
    connect: () =>
      testKafka(
        { clientId: "switchyard", sessionTimeoutMs: 6_000, recordMaxBytes: () => 200_000 },
        lines.log,
      ),
    close: () => Promise.resolve(),
  });
});
afterEach(() => bench.close());

/** Resolves when the consumer has its partitions. The records that it gets are added to `taken`. */
async function foreign(topic: string, assigner = PartitionAssigners.roundRobin) {
  const kafka = new Kafka({ brokers: [...BROKERS], clientId: "a-script", logLevel: 0 });
  const consumer = kafka.consumer({ groupId: topic, partitionAssigners: [assigner] });
  const taken: string[] = [];
  const joined = Promise.withResolvers<void>();
  consumer.on(consumer.events.GROUP_JOIN, () => joined.resolve());
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({ eachMessage: async ({ message }) => void taken.push(`${message.value}`) });
  await joined.promise;
  let isIn = true;
  const leave = async () => {
    if (isIn) await consumer.disconnect();
    isIn = false;
  };
  onTestFinished(leave);
  return { taken, leave };
}

async function ours(kafka: OurKafka, topic: string) {
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
  await consumer.joined;
  return { taker, consumer };
}

test("a program that joins and leaves is given nothing, is named, and costs no record", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 3);
  const { taker, consumer } = await ours(kafka, topic);
  const producer = kafka.producer();
  const sent: string[] = [];
  const send = async () => {
    for (let count = 0; count < 20; count += 1) {
      const value = `${sent.length}`;
      sent.push(value);
      expect(await producer.send([{ ...record(topic, value), key: Buffer.from(value) }])).toEqual(
        [],
      );
    }
  };
  expect(consumer.vitals().foreignMembers).toEqual([]);
  const given: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const { taken, leave } = await foreign(topic);
    await send();
    await timer(500);
    await leave();
    given.push(...taken);
    await send();
  }
  await expect.poll(() => new Set(values(taker.taken)).size, { timeout: 20_000 }).toBe(sent.length);
  expect(given).toEqual([]);
  expect(consumer.vitals().foreignMembers).toEqual(["a-script"]);
  const logged = lines.lines.filter(({ msg }) => msg === "kafka.group.foreign-members");
  expect(logged.map(({ fields }) => fields)).toEqual([
    {
      ...{ group: topic, clients: ["a-script"] },
      fix: `kafka-consumer-groups.sh --bootstrap-server ${BROKERS} --describe --members --group ${topic}`,
    },
  ]);
});

test("a program that leads the group is named by each process that joins it", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 2);
  const { leave } = await foreign(topic);
  const { consumer } = await ours(kafka, topic);
  expect(consumer.vitals().foreignMembers).toEqual(["a-script"]);
  await leave();
  await expect.poll(() => consumer.progress().length, { timeout: 20_000 }).toBe(2);
});

test("a program whose way to share out partitions differs keeps others out, and is named for it", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 2);
  await foreign(topic, (config) => {
    const own = PartitionAssigners.roundRobin(config);
    return { ...own, name: "range", protocol: (of) => ({ ...own.protocol(of), name: "range" }) };
  });
  const crashed = Promise.withResolvers<string>();
  const taker = new Taker();
  kafka.consume({
    ...{ groupId: topic, topics: [topic], partitionRecordsMax: 10, maxBytes: 1_000_000 },
    ...{ whenFull: "hold", drainLimitMs: 1_000, onAssigned: taker.onAssigned },
    onCrash: ({ message }) => crashed.resolve(message),
  });
  expect(await crashed.promise).toContain(
    `the group ${topic} contains another program, which assigns partitions in a different way`,
  );
});
