// The results of checking a real cluster: log end offsets that nobody fetches, and a broker that does not respond while
// its connections stay open. At the end the broker is killed.

import { setTimeout as sleep } from "node:timers/promises";
import { Kafka as Driver } from "kafkajs";
import { afterAll, beforeAll, expect, test } from "vitest";

import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import type { BrokerConnection } from "../../src/kafka/broker/broker-connection.ts";
import { Brokers } from "../../src/kafka/cluster/brokers.ts";
import { ClusterWatch } from "../../src/kafka/cluster/cluster-watch.ts";
import { Clients } from "../../src/kafka/cluster/connection.ts";
import { LogEnds } from "../../src/kafka/cluster/log-ends.ts";
import { watchCluster } from "../../src/router/stage/watch-cluster.ts";
import { watchConsumer } from "../../src/router/stage/watch-consumer.ts";
import type { BrokerProxy } from "../chaos/proxy.ts";
import { record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { LogLines } from "../support/log/log-lines.ts";
import {
  connectionTo,
  connectTo,
  type FrontedKafka,
  frontedKafka,
  narrow,
  piledListeners,
  topicWith,
  write,
} from "../support/worlds/fronted-kafka.ts";
import { AWAITING, waitingWorld } from "../support/worlds/waiting-world.ts";

const TIMEOUT = { interval: 200 };

const piled = piledListeners();
let fronted: FrontedKafka;
let proxy: BrokerProxy;
beforeAll(async () => {
  fronted = await frontedKafka();
  proxy = fronted.proxy;
});
afterAll(() => fronted?.[Symbol.asyncDispose]());

const connect = (lines: LogLines) => connectTo(proxy.address, lines);

test.concurrent.for(["hold", "pause"] as const)(
  "lag follows the end of a log that is not fetched (%s)",
  async (whenFull, { expect }) => {
    const kafka = connect(new LogLines());
    const topic = await topicWith(kafka, `still-${whenFull}`, 5);
    const taker = new Taker();
    const consumer = kafka.consume(narrow(topic, taker, whenFull));
    kafka.watch();
    await taker.untilTaken(2);
    await write(kafka, topic, 40);
    const end = () => consumer.progress()[0]?.end;
    await expect.poll(end, TIMEOUT).toBe(45);
    expect(consumer.progress()[0]).toMatchObject({ position: 0, inFlight: 2 });
    const heardAtMs = consumer.progress()[0]?.endAtMs ?? 0;
    // The end stays up to date although nothing is written.
    await expect.poll(() => consumer.progress()[0]?.endAtMs, TIMEOUT).toBeGreaterThan(heardAtMs);
    expect(taker.taken).toHaveLength(2);
    await kafka.close();
  },
);

test.concurrent("connections that stay open and silent are abandoned: reading and writing continue over new ones", async ({
  expect,
}) => {
  const own = fronted.second;
  const kafka = connectTo(own.address, new LogLines());
  const topic = await topicWith(kafka, "silent-for-good", 1);
  const taker = new Taker({ finishesAtOnce: true });
  kafka.consume(narrow(topic, taker, "hold"));
  await taker.untilTaken(1);
  const producer = kafka.producer();
  await producer.send([record(topic, "before")]);
  await taker.untilTaken(2);
  own.silence();
  // Open connections never respond again, as with a broker that was stopped and disconnected.
  await producer.send([record(topic, "after")]);
  await expect.poll(() => values(taker.taken).at(-1), { timeout: 120_000 }).toBe("after");
  await producer.close(5_000);
  await kafka.close();
});

test("the start of a log is known for partitions from which nothing was read", async () => {
  const lines = new LogLines();
  const kafka = connect(lines);
  const topic = await topicWith(kafka, "begins-later", 3);
  const driver = new Driver({ brokers: [proxy.address], logLevel: 0 }).admin();
  await driver.connect();
  // It has the leaders of the topics that were requested.
  await driver.fetchTopicOffsets(topic);
  await driver.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "2" }] });
  await driver.disconnect();
  const ends = new LogEnds();
  const clients = new Clients(connectionTo(proxy.address), lines.log);
  const watch = new ClusterWatch(clients, ends, () => [{ topic, partition: 0, position: 0 }]);
  const unread = { topic, partition: 0, position: 0, next: 0, end: 0, endAtMs: null };
  const seen = () => ends.withLatest({ ...unread, inFlight: 0, oldestUnfinishedMs: null });
  await expect.poll(seen, TIMEOUT).toMatchObject({ position: 2, end: 3 });
  watch.close();
  await kafka.close();
});

test("a broker that never responds is unreachable, although it accepts connections", async () => {
  const lines = new LogLines();
  const kafka = connect(lines);
  const view = kafka.watch();
  const outages = () => view.brokers().map((each) => [each.broker, each.outage?.error ?? null]);
  await expect.poll(() => view.endsAtMs(), TIMEOUT).not.toBeNull();
  expect(outages()).toEqual([[proxy.address, null]]);
  proxy.hold("everything");
  await expect.poll(outages, TIMEOUT).toEqual([[proxy.address, "no response within 4 s"]]);
  await lines.until("kafka.broker.unreachable");
  proxy.release();
  await expect.poll(outages, TIMEOUT).toEqual([[proxy.address, null]]);
  expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.reachable"]);
  await kafka.close();
});

test("a broker that does not respond to fetches alone is named, and left for a new connection", async () => {
  const lines = new LogLines();
  const kafka = connect(lines);
  const topic = await topicWith(kafka, "fetchless", 1);
  const taker = new Taker({ finishesAtOnce: true });
  kafka.consume(narrow(topic, taker, "hold"));
  const view = kafka.watch();
  const outages = () => view.brokers().map((each) => each.outage?.error ?? null);
  await taker.untilTaken(1);
  proxy.hold("fetches");
  await write(kafka, topic, 1);
  const error = "no response to a Fetch request within 10 s";
  await expect.poll(outages, { ...TIMEOUT, timeout: 20_000 }).toEqual([error]);
  // Other requests get responses, and new connections are opened, but the broker is still reported.
  const endsAtMs = view.endsAtMs() ?? 0;
  await expect.poll(() => view.endsAtMs() ?? 0, TIMEOUT).toBeGreaterThan(endsAtMs);
  expect(outages()).toEqual([error]);
  expect(taker.taken).toHaveLength(1);
  // Current connections stay dead, and new connections work.
  proxy.silence("fetches");
  proxy.release();
  await taker.untilTaken(2);
  await expect.poll(outages, TIMEOUT).toEqual([null]);
  expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.reachable"]);
  await kafka.close();
});

test("connections to a silent broker are closed completely, however often: no request waits forever", async () => {
  const client = new Clients(connectionTo(proxy.address), new LogLines().log).create();
  const brokers = new Brokers(client);
  const { brokers: known } = await brokers.metadata([]);
  const node = known[0]?.nodeId ?? -1;
  for (let times = 0; times < 12; times += 1) {
    const leader = (await brokers.leader(node)) as BrokerConnection;
    proxy.hold("everything");
    const ofOne = expect(brokers.metadataFrom(node, [])).rejects.toThrow();
    const ofAny = expect(brokers.metadata([])).rejects.toThrow();
    await expect.poll(() => leader.isInUse).toBe(true);
    brokers.drop(node);
    client.shared.close();
    await Promise.all([ofOne, ofAny]);
    // A new connection first waits for the versions that the broker accepts.
    const connecting = expect(brokers.leader(node)).rejects.toThrow();
    await sleep(50);
    brokers.drop(node);
    await connecting;
    proxy.release();
  }
  expect(piled).toEqual([]);
  expect((await brokers.metadata([])).brokers).toHaveLength(1);
  brokers.close();
  client.destroy();
});

const CLOCK = { nowMs: () => Date.now() };

test("a broker that dies: its lag is absent, not 0; the gauge and the log report it, and its return", async () => {
  const { broker, proxy } = fronted;
  const lines = new LogLines();
  const kafka = connectTo(proxy.address, lines);
  const metrics = createMetrics();
  const topic = await topicWith(kafka, "dies", 5);
  const taker = new Taker();
  const consumer = kafka.consume(narrow(topic, taker, "hold"));
  watchCluster(metrics, kafka.watch(), CLOCK);
  watchConsumer(metrics, consumer, { stage: "route", destination: "" }, CLOCK);
  await taker.untilTaken(2);
  const lag = 'switchyard_consumer_lag_records{stage="route",destination=""}';
  const connected = `switchyard_kafka_broker_reachable{broker="${proxy.address}"}`;
  const text = () => metrics.text();
  await expect.poll(text).toContain(`${connected} 1\n`);
  await expect.poll(text).toContain(`${lag} 5\n`);

  await broker.kill();
  proxy.cut();
  const seen: string[] = [];
  const watched = async () => {
    const now = await text();
    seen.push(now.split("\n").find((line) => line.startsWith(lag)) ?? "absent");
    return now;
  };
  await expect.poll(watched).toContain(`${connected} 0\n`);
  await expect.poll(watched).not.toContain(`${lag} `);
  expect(await text()).toContain('switchyard_consumers_with_unknown_lag{stage="route"} 1\n');
  // This is longer than the session: the consumer has lost its partitions.
  await lines.until("kafka.consumer.restarting");
  await watched();
  expect(new Set(seen)).toEqual(new Set([`${lag} 5`, "absent"]));

  await broker.restart();
  await expect.poll(text).toContain(`${connected} 1\n`);
  await expect.poll(text).toContain(`${lag} 5\n`);
  const back = lines.lines.find(({ msg }) => msg === "kafka.broker.reachable");
  expect(back?.fields).toMatchObject({ broker: proxy.address });
  await kafka.close();
  expect(piled).toEqual([]);
});

// Most of the records that wait in delay topics are not in flight.
test("with Kafka unreachable the counts are absent and shown as such; they are never 0, and come back", async () => {
  const { broker, proxy } = fronted;
  const { startProcess } = await waitingWorld([proxy.address]);
  const process = await startProcess();
  await expect.poll(process.waiting).toEqual(AWAITING);
  await broker.kill();
  proxy.cut();
  const seen = new Set<string>();
  const watched = async () => {
    const waiting = await process.waiting();
    seen.add(JSON.stringify(waiting));
    return waiting;
  };
  await expect.poll(watched).toEqual({});
  expect(Object.values(await process.unknown()).every((count) => count > 0)).toBe(true);
  for (const each of seen) {
    for (const count of Object.values(JSON.parse(each) as Record<string, number>)) {
      expect(count).toBeGreaterThan(0);
    }
  }
  await broker.restart();
  await expect.poll(process.waiting).toEqual(AWAITING);
  expect(await process.unknown()).toEqual({ "10m": 0, "60m": 0 });
  await process.stop();
});
