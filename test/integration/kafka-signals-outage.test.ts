// A broker is killed and restarted, and the signals for operators show it.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createMetrics } from "../../src/base/telemetry/instruments.ts";
import { watchCluster } from "../../src/router/stage/watch-cluster.ts";
import { watchConsumer } from "../../src/router/stage/watch-consumer.ts";
import { Taker } from "../support/contract/taker.ts";
import { LogLines } from "../support/log/log-lines.ts";
import {
  connectTo,
  type FrontedKafka,
  frontedKafka,
  narrow,
  piledListeners,
  topicWith,
} from "../support/worlds/fronted-kafka.ts";

const CLOCK = { nowMs: () => Date.now() };

const piled = piledListeners();
let fronted: FrontedKafka;
beforeAll(async () => {
  fronted = await frontedKafka();
});
afterAll(() => fronted?.[Symbol.asyncDispose]());

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
