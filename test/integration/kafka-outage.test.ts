// A broker is killed and restarted: work continues without a restart, and there is one log line about it.

import { afterAll, beforeAll, expect, test } from "vitest";

import { waitForBrokers } from "../../src/kafka/cluster/wait-for-brokers.ts";
import { createKafka } from "../../src/kafka/kafka.ts";
import { ClosedError, type ConsumeOptions, type KafkaConnection } from "../../src/kafka/port.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { LogLines } from "../support/log/log-lines.ts";
import { createTopics } from "../support/worlds/test-kafka.ts";

let broker: PrivateKafka;
beforeAll(async () => {
  broker = await startKafka({ private: true });
});
afterAll(() => broker?.stop());

function connection(brokers: readonly string[] = broker.brokers): KafkaConnection {
  return {
    brokers,
    clientId: "outage",
    tls: null,
    sasl: null,
    sessionTimeoutMs: 6_000,
    recordMaxBytes: () => 1_000_000,
  };
}

function options(topic: string, taker: Taker): ConsumeOptions {
  return {
    groupId: topic,
    topics: [topic],
    partitionRecordsMax: 100,
    maxBytes: 1_000_000,
    whenFull: "hold",
    drainLimitMs: 1_000,
    onAssigned: taker.onAssigned,
    onCrash: (error) => {
      throw error;
    },
  };
}

test("a broker gone for longer than a session: nothing is lost, and nothing finished comes again", async () => {
  const lines = new LogLines();
  const kafka = createKafka(connection(), lines.log);
  const topic = "gone";
  await createTopics(kafka, [topic]);
  const producer = kafka.producer();
  await producer.send(["a", "b", "c"].map((value) => record(topic, value)));
  const taker = new Taker();
  const consumer = kafka.consume(options(topic, taker));
  await taker.untilTaken(3);

  await broker.kill();
  const [a, , c] = taker.taken;
  if (a === undefined || c === undefined) throw new Error("not taken");
  taker.finish(a);
  taker.finish(c);
  const during = producer.send([record(topic, "d"), record(topic, "e")]);
  // By now, the member has tried for longer than its session, and starts again.
  await lines.until("kafka.consumer.restarting");
  await broker.restart();

  expect(await during).toEqual([]);
  await producer.send([record(topic, "f")]);
  await taker.untilTaken(7);
  expect(values(taker.taken)).toEqual(["a", "b", "c", "b", "d", "e", "f"]);
  for (const taken of taker.unfinished()) taker.finish(taken);
  await consumer.stop();
  expect(await kafka.admin.committed(topic, topic)).toMatchObject([{ offset: 6 }]);
  await kafka.close();
  expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.reachable"]);
});

test("closing while the broker is down ends, and reports what was not written", async () => {
  const lines = new LogLines();
  const kafka = createKafka(connection(), lines.log);
  const topic = "closed";
  await createTopics(kafka, [topic]);
  const consumer = kafka.consume(options(topic, new Taker()));
  await consumer.joined;
  const producer = kafka.producer();
  await producer.send([record(topic, "before")]);
  await broker.kill();
  const sent = producer.send([record(topic, "during")]);
  const failed = expect(sent).rejects.toBeInstanceOf(ClosedError);
  await lines.until("kafka.broker.unreachable");
  await Promise.all([producer.close(10), consumer.stop()]);
  await kafka.close();
  await failed;
  await broker.restart();
});

test("without a broker at start: an error that names the addresses, after the limit", async () => {
  const lines = new LogLines();
  const nobody = connection(["127.0.0.1:1", "127.0.0.1:2"]);
  const waiting = { limitMs: 60_000, log: lines.log, signal: new AbortController().signal };
  await expect(waitForBrokers(nobody, { ...waiting, limitMs: 3_000 })).rejects.toThrow(
    /within 3 s at 127\.0\.0\.1:1, 127\.0\.0\.1:2/,
  );
  expect(lines.seen).toEqual(["kafka.broker.unreachable", "kafka.broker.unreachable"]);
  expect(await waitForBrokers(nobody, { ...waiting, signal: AbortSignal.abort() })).toBe(false);
  const second = connection(["127.0.0.1:1", ...broker.brokers]);
  expect(await waitForBrokers(second, waiting)).toBe(true);
});
