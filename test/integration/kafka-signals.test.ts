// What the looks at a real cluster tell: ends of logs that nobody fetches, a broker that dies, one
// that is silent behind connections which stay open.

import { afterAll, beforeAll, expect, test } from "vitest";

import { Brokers } from "../../src/kafka/cluster/brokers.ts";
import { ClusterWatch } from "../../src/kafka/cluster/cluster-watch.ts";
import { Clients } from "../../src/kafka/cluster/connection.ts";
import { LogEnds } from "../../src/kafka/cluster/log-ends.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import type { Broker } from "../../src/kafka/kafkajs/internals.ts";
import { Kafka as Driver } from "../../src/kafka/kafkajs/kafkajs.ts";
import type { ConsumeOptions, Kafka, KafkaConnection } from "../../src/kafka/port.ts";
import { watchCluster } from "../../src/stage/watch-cluster.ts";
import { watchConsumer } from "../../src/stage/watch-consumer.ts";
import { createMetrics } from "../../src/telemetry/instruments.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { type BrokerProxy, startProxy } from "../chaos/proxy.ts";
import { record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { LogLines } from "../support/log/log-lines.ts";

/** Longer than a signal may be late. */
const TIMEOUT = { timeout: 30_000, interval: 200 };
const CLOCK = { nowMs: () => Date.now() };

/** Listeners that pile up, as Node notices them. */
const piled: string[] = [];
process.on("warning", ({ name, message }) => {
  if (name === "MaxListenersExceededWarning") piled.push(message);
});

let proxy: BrokerProxy;
let broker: PrivateKafka;
beforeAll(async () => {
  proxy = await startProxy();
  broker = await startKafka({ private: true, fronts: [proxy.address] });
  proxy.leadTo(broker.behind[0] ?? "");
});
afterAll(async () => {
  await proxy?.[Symbol.asyncDispose]();
  await broker?.stop();
});

function connect(lines: LogLines): Kafka {
  return createKafka(connectionTo(proxy.address), lines.log);
}

function connectionTo(address: string): KafkaConnection {
  const connection = { brokers: [address], clientId: "signals", tls: null, sasl: null };
  return { ...connection, sessionTimeoutMs: 6_000, recordMaxBytes: () => 1_000_000 };
}

function options(topic: string, taker: Taker, whenFull: "hold" | "pause"): ConsumeOptions {
  return {
    groupId: topic,
    topics: [topic],
    partitionRecordsMax: 2,
    maxBytes: 1_000_000,
    whenFull,
    drainLimitMs: 500,
    onAssigned: taker.onAssigned,
    onCrash: (error) => {
      throw error;
    },
  };
}

async function topicWith(kafka: Kafka, name: string, records: number): Promise<string> {
  await kafka.admin.create([{ name, partitions: 1, replicationFactor: 1, config: {} }]);
  await write(kafka, name, records);
  return name;
}

async function write(kafka: Kafka, topic: string, records: number): Promise<void> {
  const producer = kafka.producer();
  await producer.send(Array.from({ length: records }, (_, at) => record(topic, `${at}`)));
  await producer.close(5_000);
}

test.concurrent.each(["hold", "pause"] as const)(
  "lag follows the end of a log that is not fetched (%s)",
  async (whenFull) => {
    const kafka = connect(new LogLines());
    const topic = await topicWith(kafka, `still-${whenFull}`, 5);
    const taker = new Taker();
    const consumer = kafka.consume(options(topic, taker, whenFull));
    kafka.watch();
    await taker.untilTaken(2);
    await write(kafka, topic, 40);
    const end = () => consumer.progress()[0]?.end;
    await expect.poll(end, TIMEOUT).toBe(45);
    expect(consumer.progress()[0]).toMatchObject({ position: 0, inHand: 2 });
    const heardAtMs = consumer.progress()[0]?.endAtMs ?? 0;
    // It stays fresh although nothing happens.
    await expect.poll(() => consumer.progress()[0]?.endAtMs, TIMEOUT).toBeGreaterThan(heardAtMs);
    expect(taker.taken).toHaveLength(2);
    await kafka.close();
  },
);

test("the looks hear where a log begins, for partitions of which nothing was read", async () => {
  const lines = new LogLines();
  const kafka = connect(lines);
  const topic = await topicWith(kafka, "begins-later", 3);
  const driver = new Driver({ brokers: [proxy.address], logLevel: 0 }).admin();
  await driver.connect();
  // It knows the leaders of topics that it was asked about.
  await driver.fetchTopicOffsets(topic);
  await driver.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "2" }] });
  await driver.disconnect();
  const ends = new LogEnds();
  const clients = new Clients(connectionTo(proxy.address), lines.log);
  const watch = new ClusterWatch(clients, ends, () => [{ topic, partition: 0, position: 0 }]);
  const unread = { topic, partition: 0, position: 0, next: 0, end: 0, endAtMs: null };
  const seen = () => ends.seen({ ...unread, inHand: 0, oldestUnfinishedMs: null });
  await expect.poll(seen, TIMEOUT).toMatchObject({ position: 2, end: 3 });
  watch.close();
  await kafka.close();
});

test("a broker that dies: no lag is shown, and none of 0; it is said in the gauge, the log and back", async () => {
  const lines = new LogLines();
  const kafka = connect(lines);
  const metrics = createMetrics();
  const topic = await topicWith(kafka, "dies", 5);
  const taker = new Taker();
  const consumer = kafka.consume(options(topic, taker, "hold"));
  watchCluster(metrics, kafka.watch(), CLOCK);
  watchConsumer(metrics, consumer, { stage: "route", destination: "" }, CLOCK);
  await taker.untilTaken(2);
  const lag = 'switchyard_consumer_lag_records{stage="route",destination=""}';
  const connected = `switchyard_kafka_connected{broker="${proxy.address}"}`;
  const text = () => metrics.text();
  await expect.poll(text, TIMEOUT).toContain(`${connected} 1\n`);
  await expect.poll(text, TIMEOUT).toContain(`${lag} 5\n`);

  await broker.kill();
  proxy.cut();
  const seen: string[] = [];
  const watched = async () => {
    const now = await text();
    seen.push(now.split("\n").find((line) => line.startsWith(lag)) ?? "absent");
    return now;
  };
  await expect.poll(watched, TIMEOUT).toContain(`${connected} 0\n`);
  await expect.poll(watched, TIMEOUT).not.toContain(`${lag} `);
  expect(await text()).toContain('switchyard_consumers_with_unknown_lag{stage="route"} 1\n');
  // Longer than the session: the consumer has given its partitions up.
  await lines.until("kafka.consumer.restarting");
  await watched();
  expect(new Set(seen)).toEqual(new Set([`${lag} 5`, "absent"]));

  await broker.restart();
  await expect.poll(text, TIMEOUT).toContain(`${connected} 1\n`);
  await expect.poll(text, { ...TIMEOUT, timeout: 60_000 }).toContain(`${lag} 5\n`);
  const back = lines.lines.find(({ msg }) => msg === "kafka.broker.reachable");
  expect(back?.fields).toMatchObject({ broker: proxy.address });
  await kafka.close();
  expect(piled).toEqual([]);
}, 180_000);

test("a broker that answers nothing is away, although it takes connections", async () => {
  const lines = new LogLines();
  const kafka = connect(lines);
  const view = kafka.watch();
  const away = () => view.brokers().map((each) => [each.broker, each.away?.error ?? null]);
  await expect.poll(() => view.endsAtMs(), TIMEOUT).not.toBeNull();
  expect(away()).toEqual([[proxy.address, null]]);
  proxy.hold("everything");
  await expect.poll(away, TIMEOUT).toEqual([[proxy.address, "no answer within 4 s"]]);
  await lines.until("kafka.broker.unreachable");
  proxy.release();
  await expect.poll(away, TIMEOUT).toEqual([[proxy.address, null]]);
  expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.reachable"]);
  await kafka.close();
}, 120_000);

/** How many requests kafkajs waits for on the connection. */
function inFlight({ connectionPool }: Broker): () => number {
  const [connection] = connectionPool.pool as unknown as readonly {
    readonly requestQueue: { readonly inflight: { readonly size: number } };
  }[];
  return () => connection?.requestQueue.inflight.size ?? 0;
}

test("connections to a silent broker are given up whole, however often: no request waits for ever", async () => {
  const client = new Clients(connectionTo(proxy.address), new LogLines().log).create(0);
  const brokers = new Brokers(client);
  const { brokers: known } = await brokers.metadata([]);
  const node = known[0]?.nodeId ?? -1;
  proxy.hold("everything");
  for (let times = 0; times < 12; times += 1) {
    const sent = inFlight(await brokers.leader(node));
    const ofOne = expect(brokers.metadataFrom(node, [])).rejects.toThrow();
    const ofAny = expect(brokers.metadata([])).rejects.toThrow();
    await expect.poll(sent).toBe(1);
    brokers.drop(node);
    brokers.nextSeed();
    await Promise.all([ofOne, ofAny]);
  }
  proxy.release();
  expect(piled).toEqual([]);
  expect((await brokers.metadata([])).brokers).toHaveLength(1);
  brokers.close();
  client.destroy();
});

test("connections that stay open and silent are left: reading and writing go on over new ones", async () => {
  const kafka = connect(new LogLines());
  const topic = await topicWith(kafka, "silent-for-good", 1);
  const taker = new Taker({ finishesAtOnce: true });
  kafka.consume(options(topic, taker, "hold"));
  await taker.untilTaken(1);
  const producer = kafka.producer();
  await producer.send([record(topic, "before")]);
  await taker.untilTaken(2);
  proxy.silence();
  // Nothing that was open answers ever again, as with a broker that was stopped and is cut off.
  await producer.send([record(topic, "after")]);
  await expect.poll(() => values(taker.taken).at(-1), { timeout: 120_000 }).toBe("after");
  await producer.close(5_000);
  await kafka.close();
}, 240_000);
