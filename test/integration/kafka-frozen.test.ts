// A process is frozen for longer than its session while its broker sends records: the response to its fetch waits in
// the socket, and when the process reads the records, another member owns them.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { afterEach, beforeEach, expect, test } from "vitest";

import { Bench, record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

const MEMBER = join(import.meta.dirname, "../support/kafkajs/frozen-member.ts");
const BROKERS = process.env.SWITCHYARD_KAFKA_BROKERS ?? "";
const bench = new Bench();

beforeEach(() =>
  bench.open({
    connect: () => {
      return testKafka({ sessionTimeoutMs: 6_000, recordMaxBytes: () => 200_000 });
    },
    close: () => Promise.resolve(),
  }),
);
afterEach(() => bench.close());

test("a frozen member hands over nothing of what it was sent meanwhile, and continues", async () => {
  const kafka = bench.connect();
  const topic = await bench.topic(kafka, 1);
  const producer = kafka.producer();
  const child = spawn(process.execPath, [MEMBER, BROKERS, topic], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const printed: string[] = [];
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => {
      printed.push((await lines.next()).value ?? "ended");
    };
    await producer.send([record(topic, "before")]);
    await next();
    // By then, it has requested more records.
    const committed = () => kafka.admin.committed(topic, topic);
    await expect.poll(committed).toMatchObject([{ offset: 1 }]);
    child.kill("SIGSTOP");
    await producer.send([record(topic, "meanwhile 1"), record(topic, "meanwhile 2")]);
    const other = new Taker({ finishesAtOnce: true });
    const consumer = bench.consume(kafka, other, { groupId: topic, topics: [topic] });
    await other.untilTaken(2);
    await consumer.stop();
    child.kill("SIGCONT");
    await producer.send([record(topic, "after")]);
    await next();
    expect(values(other.taken)).toEqual(["meanwhile 1", "meanwhile 2"]);
    expect(printed).toEqual(["before", "after"]);
  } finally {
    child.kill("SIGKILL");
  }
});
