// What our producer relies on when the partitions of a request are written with different producer IDs.

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { initProducerId, produce as produceRequest } from "../../src/kafka/broker/requests.ts";
import { Brokers } from "../../src/kafka/cluster/brokers.ts";
import { Clients } from "../../src/kafka/cluster/connection.ts";
import type { ProducerId } from "../../src/kafka/produce/producer-id.ts";
import type { ProduceRequest } from "../../src/kafka/wire/encode-produce.ts";
import { Bench } from "../support/contract/bench.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { testConnection, testKafka } from "../support/worlds/test-kafka.ts";

const OUT_OF_ORDER = 45;
const connection = testConnection({ sessionTimeoutMs: 6_000, recordMaxBytes: () => 900_000 });
const { log } = new LogLines();
const bench = new Bench();
const client = new Clients(connection, log).create();
const brokers = new Brokers(client);

beforeAll(() => {
  bench.open({ connect: () => testKafka(connection, log), close: () => Promise.resolve() });
});
afterAll(async () => {
  brokers.close();
  client.destroy();
  await bench.close();
});

interface Batch {
  readonly id: ProducerId;
  readonly firstSequence: number;
}

/** Finds a broker, and two partitions that it leads. */
async function twoOfOneLeader(topic: string) {
  const { topics } = await brokers.metadata([topic]);
  const all = topics[0]?.partitions ?? [];
  const nodeId = all[0]?.leaderId ?? 0;
  const led = all
    .filter(({ leaderId }) => leaderId === nodeId)
    .map(({ partitionIndex }) => partitionIndex);
  return { leader: await brokers.leader(nodeId), partitions: led.slice(0, 2) };
}

test("batches of one request have ids and sequences of their own", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 12);
  const { leader, partitions } = await twoOfOneLeader(topic);
  const messages = [{ key: null, value: Buffer.from("v"), headers: [] }];
  /** Writes one record for each batch. The responses are in the same order. */
  const produce = async (...batches: readonly Batch[]) => {
    const data = batches.map(({ id: { producerId, producerEpoch }, firstSequence }, index) => ({
      partition: partitions[index],
      producerId,
      producerEpoch,
      firstSequence,
      messages,
      nowMs: Date.now(),
    }));
    const options = { acks: -1, timeout: 10_000, topicData: [{ topic, partitions: data }] };
    const { responses } = await leader.send(produceRequest(options as ProduceRequest));
    const ofTopic = responses[0]?.partitionResponses ?? [];
    const codes = new Map(ofTopic.map(({ index, errorCode }) => [index, errorCode]));
    return partitions.map((partition) => codes.get(partition));
  };
  const newId = async (): Promise<ProducerId> => {
    const { producerId, producerEpoch } = await brokers.ask(initProducerId(null, 60_000, -1n, -1));
    return { producerId: `${producerId}`, producerEpoch };
  };
  const one = await newId();
  const other = await newId();
  const under = (id: ProducerId, firstSequence: number): Batch => ({ id, firstSequence });
  // A new leader is notified with a short delay.
  const begun = async () => {
    expect(await produce(under(one, 0), under(other, 0))).toEqual([0, 0]);
  };
  await vi.waitFor(begun, { timeout: 60_000, interval: 50 });
  // The second batch is a repetition.
  expect(await produce(under(one, 1), under(other, 0))).toEqual([0, 0]);
  expect(await produce(under(one, 5), under(other, 1))).toEqual([OUT_OF_ORDER, 0]);
  // For a partition that has not seen the ID, the ID is new.
  expect(await produce(under(other, 0), under(one, 0))).toEqual([0, 0]);
  const ends = new Map(
    (await kafka.admin.offsets(topic)).map(({ partition, end }) => [partition, end]),
  );
  expect(partitions.map((partition) => ends.get(partition))).toEqual([3, 3]);
});
