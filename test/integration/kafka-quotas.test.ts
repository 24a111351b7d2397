// The brokers throttle the program's requests, like managed clusters: a broker responds immediately, and then reads
// nothing from the connection for up to a second.

import { setTimeout as sleep } from "node:timers/promises";
import { alterClientQuotasV0, Connection } from "@platformatic/kafka";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { Coordinator } from "../../src/kafka/group/coordinator.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import { kafkaConnection } from "../../src/operator/connect/connection.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { configOf, loaded, useProgram, useRun } from "../support/kit/program.ts";
import { type Receiver, useReceiver } from "../support/kit/receiver.ts";
import { LogLines } from "../support/log/log-lines.ts";

interface Quota {
  /** Percent of the time of one broker thread, or bytes per second, for all connections together. */
  readonly kind: "request_percentage" | "producer_byte_rate" | "consumer_byte_rate";
  readonly limit: number;
}

async function setQuota(
  brokers: readonly string[],
  clientId: string,
  { kind, limit }: Quota,
): Promise<void> {
  const [host = "", port] = (brokers[0] ?? "").split(":");
  const connection = new Connection("sets-quotas");
  await connection.connect(host, Number(port));
  const entities = [{ entityType: "client-id", entityName: clientId }] as const;
  const ops = [{ key: kind, value: limit, remove: false }];
  try {
    await alterClientQuotasV0.api.async(connection, [{ entities: [...entities], ops }], false);
  } finally {
    await connection.close();
  }
}

const IDS = Array.from({ length: 20 }, (_, at) => `hook-${at}`);
const CALLS = 50;
/** Their deliveries have about 70 kB, which is more than twice what the quotas allow within 10 s. */
const FEW_CALLS = 15;
/** This is three and a half sessions. */
const THROTTLED_MS = 21_000;
/** The calls are spread over that time, so that there is work whenever a session could end. */
const CALL_EVERY_MS = THROTTLED_MS / CALLS;
/** With this quota, the requests of twenty destinations exceed it all the time, on any machine. */
const TIGHT = 0.2;
const NO_LIMIT = 1_000_000_000;

let broker: PrivateKafka;
beforeAll(async () => {
  broker = await startKafka({ private: true });
});
afterAll(() => broker.stop());

const joinsSeen = () => vi.spyOn(Coordinator.prototype, "join");

/**
 * Starts the program, which runs until the end of the test, and waits until it has delivered a call to each
 * destination. This is needed because a fetch from a new topic may find no leader, and the consumer then joins again.
 */
async function running(prefix: string, receiver: Receiver) {
  const { file } = useProgram(
    configOf({
      kafka: { brokers: broker.brokers, topicPrefix: `${prefix}.`, sessionTimeout: "6s" },
      destinations: Object.fromEntries(IDS.map((id) => [id, `${receiver.url}/${id}`])),
      delivery: { retryDelays: ["10s"] },
    }),
  );
  const { lines, stop, ready } = useRun(file, ["route", "deliver", "delay"]);
  await ready();
  const port = lines.lines.find(({ msg }) => msg === "admin.listening")?.fields.port;
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const connection = kafkaConnection(loaded(file).config);
  const publisher = createKafka({ ...connection, clientId: "publisher" }, new LogLines().log);
  onTestFinished(() => publisher.close());
  const producer = publisher.producer();
  const publish = async (at: number) => {
    const call = { type: "track", userId: `u${at}`, event: "E", messageId: `m${at}` };
    const value = Buffer.from(JSON.stringify(call));
    const topic = `${prefix}.calls`;
    await producer.send([{ topic, key: Buffer.from(call.userId), value, headers: [] }]);
  };
  await publish(-1);
  await expect.poll(() => receiver.taken.length).toBe(IDS.length);
  const limit = (kind: Quota["kind"], most: number) =>
    setQuota(broker.brokers, connection.clientId, { kind, limit: most });
  const counts = (...names: string[]) =>
    names.map((name) => lines.lines.filter(({ msg }) => msg === name).length);
  return { publish, limit, counts, metrics, stop };
}

const QUIET = ["kafka.broker.unreachable", "kafka.commit.abandoned", "kafka.consumer.restarting"];

test("above a quota all the time, the consumers of 20 destinations keep their places in the groups, and no broker is called unreachable", async () => {
  const receiver = await useReceiver();
  const program = await running("tight", receiver);
  const joins = joinsSeen();
  onTestFinished(() => joins.mockRestore());
  await program.limit("request_percentage", TIGHT);
  for (let at = 0; at < CALLS; at += 1) {
    await program.publish(at);
    await sleep(CALL_EVERY_MS);
  }
  expect({ joins: joins.mock.calls.length, lines: program.counts(...QUIET) }).toEqual({
    joins: 0,
    lines: [0, 0, 0],
  });
  const [logged] = program.counts("kafka.throttled");
  expect(logged).toBeGreaterThanOrEqual(1);
  expect(logged).toBeLessThanOrEqual(3);
  const text = await program.metrics();
  const seconds = /^switchyard_kafka_throttle_seconds_total\{broker="[^"]+"\} (\S+)$/m.exec(text);
  expect(Number(seconds?.[1])).toBeGreaterThan(10);
  expect(text).toMatch(/^switchyard_kafka_broker_reachable\{broker="[^"]+"\} 1$/m);
  await program.limit("request_percentage", NO_LIMIT);
  await expect.poll(() => receiver.taken.length).toBe((1 + CALLS) * IDS.length);
  expect(await program.stop()).toBe(0);
  expect({ joins: joins.mock.calls.length, lines: program.counts(...QUIET) }).toEqual({
    joins: 0,
    lines: [0, 0, 0],
  });
});

test.each([
  ["producer_byte_rate", 3_000],
  ["consumer_byte_rate", 3_000],
] as const)("above a %s of %i, deliveries are late and nothing else", async (kind, limit) => {
  const receiver = await useReceiver();
  const program = await running(kind, receiver);
  const joins = joinsSeen();
  onTestFinished(() => joins.mockRestore());
  await program.limit(kind, limit);
  for (let at = 0; at < FEW_CALLS; at += 1) await program.publish(at);
  await expect.poll(() => receiver.taken.length).toBe((1 + FEW_CALLS) * IDS.length);
  expect(program.counts("kafka.throttled")[0]).toBeGreaterThanOrEqual(1);
  await program.limit(kind, NO_LIMIT);
  expect(await program.stop()).toBe(0);
  expect({ joins: joins.mock.calls.length, lines: program.counts(...QUIET) }).toEqual({
    joins: 0,
    lines: [0, 0, 0],
  });
});
