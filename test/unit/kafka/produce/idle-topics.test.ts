// Topics to which nothing is written any more are dropped, such as those of removed destinations.

import { expect, test } from "vitest";

import type { Brokers } from "../../../../src/kafka/cluster/brokers.ts";
import type { OutageLog } from "../../../../src/kafka/cluster/outage-log.ts";
import { ProduceTopics } from "../../../../src/kafka/produce/topics.ts";
import { BLOCK_AFTER_MS } from "../../../../src/kafka/produce/write-failures.ts";

const ROUND_MS = 20_000;
const UNKNOWN_TOPIC = 3;

function world() {
  const asked: string[][] = [];
  const dropped: string[] = [];
  const missing = new Set<string>();
  const metadata = async (names: readonly string[]) => {
    asked.push([...names]);
    const topics = names.map((name) => ({
      name,
      errorCode: missing.has(name) ? UNKNOWN_TOPIC : 0,
      partitions: [{ partitionIndex: 0, leaderId: 1 }],
    }));
    return { topics };
  };
  const topics = new ProduceTopics({
    brokers: { metadata } as unknown as Brokers,
    outages: { warnOnce: () => undefined } as unknown as OutageLog,
    identity: { brokers: ["b:9092"], tls: null, sasl: null },
    clock: { nowMs: Date.now },
    recordMaxBytes: () => 1_000,
    onRejected: () => undefined,
    onLeaders: () => undefined,
    dropId: (buffer) => dropped.push(buffer.topic.name),
  });
  const nowMs = Date.now();
  let rounds = 0;
  /** Refreshes the topics once. */
  const round = async () => {
    rounds += 1;
    topics.refresh(nowMs + rounds * ROUND_MS);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  };
  const names = () => [...topics.all()].map(({ name }) => name);
  return { topics, round, names, asked, dropped, missing };
}

const call = () => ({
  place: -1,
  unacknowledged: 1,
  rejected: [],
  giveBack: false,
  resolve: () => undefined,
  reject: () => undefined,
});
const recordTo = (topic: string) => ({ topic, key: null, value: null, headers: [] });

test("a topic that nothing is written to is forgotten after five minutes, with its producer id", async () => {
  const { topics, round, names, dropped } = world();
  const used = topics.get("used");
  topics.get("idle");
  for (let count = 0; count < 15; count += 1) {
    await round();
    used.add(recordTo("used"), 10, call());
    expect(names()).toEqual(["used", "idle"]);
  }
  await round();
  expect(names()).toEqual(["used"]);
  expect(dropped).toEqual(["idle"]);
  // The topic is kept as long as records wait for it.
  for (let count = 0; count < 40; count += 1) await round();
  expect(names()).toEqual(["used"]);
  topics.close();
});

test("one that is missing and not written is forgotten at the next look, and asked for no longer", async () => {
  const { topics, round, names, missing, asked } = world();
  topics.get("gone");
  await round();
  missing.add("gone");
  await round();
  expect(names()).toEqual(["gone"]);
  await round();
  expect(names()).toEqual([]);
  const before = asked.length;
  await round();
  expect(asked).toHaveLength(before);
  topics.close();
});

test("one that is missing stays as long as records for it are given back, and so does the time since", async () => {
  const { topics, round, names, missing } = world();
  const gone = topics.get("gone");
  await round();
  missing.add("gone");
  await round();
  const { sinceMs } = gone.block;
  const blockedMs = (sinceMs ?? 0) + BLOCK_AFTER_MS;
  for (let count = 0; count < 5; count += 1) {
    expect(gone.blockFor(recordTo("gone"), blockedMs)?.sinceMs).toBe(sinceMs);
    await round();
    expect(names()).toEqual(["gone"]);
  }
  await round();
  expect(names()).toEqual([]);
  topics.close();
});
