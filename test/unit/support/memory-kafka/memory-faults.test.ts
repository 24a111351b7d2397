// Failures of the Kafka in memory, and guarantees that must still hold.

import { expect, test } from "vitest";
import type { AssignedPartition } from "../../../../src/kafka/port.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { createPrng } from "../../../support/clock/prng.ts";
import { record, values } from "../../../support/contract/bench.ts";
import { keyOf, Taker } from "../../../support/contract/taker.ts";
import { MemoryCluster, type MemoryKafka } from "../../../support/memory-kafka/memory-kafka.ts";
import { consumeWith } from "../../../support/worlds/test-kafka.ts";

const MINUTE_MS = 60_000;

function start(seed = 1): { clock: ManualClock; cluster: MemoryCluster } {
  const clock = new ManualClock();
  const cluster = new MemoryCluster({ clock, random: createPrng(seed) });
  cluster.createTopic("calls", 2);
  return { clock, cluster };
}

function consume(kafka: MemoryKafka, taker: Taker) {
  return consumeWith(kafka, taker, { groupId: "group", topics: ["calls"] });
}

test("a killed process commits nothing more, and the others take over after the session timeout", async () => {
  const { clock, cluster } = start();
  for (let number = 0; number < 20; number += 1) cluster.append(record("calls", `${number}`));
  const doomed = cluster.connect();
  const before = new Taker({ finishesAtOnce: true });
  consume(doomed, before);
  await clock.advanceUntil(() => before.taken.length === 20, 1_000);
  doomed.kill();
  const after = new Taker();
  consume(cluster.connect(), after);
  await clock.advance(9_000);
  expect(after.taken).toHaveLength(0);
  await clock.advance(2_000);
  expect(after.taken).toHaveLength(20);
  expect(before.tenures.map(({ drains }) => drains)).toEqual([0, 0]);
});

test("a process that its coordinator forgot commits nothing, and joins again", async () => {
  const { clock, cluster } = start();
  const forgotten = cluster.connect();
  const taker = new Taker();
  const consumer = consume(forgotten, taker);
  for (let number = 0; number < 4; number += 1) cluster.append(record("calls", `${number}`));
  await clock.advanceUntil(() => taker.taken.length === 4, 1_000);
  forgotten.expire();
  for (const taken of taker.taken) taker.finish(taken);
  await clock.advanceUntil(() => taker.taken.length === 8, MINUTE_MS);
  expect(new Set(taker.taken.map(keyOf)).size).toBe(4);
  expect(consumer.rebalances()).toBe(2);
});

test("a partition of a process that its coordinator forgot is not its own, even before it notices", async () => {
  const { clock, cluster } = start();
  const forgotten = cluster.connect();
  const partitions: AssignedPartition[] = [];
  const onAssigned = (partition: AssignedPartition) => {
    partitions.push(partition);
    return { take: () => undefined, drain: () => Promise.resolve() };
  };
  consumeWith(forgotten, new Taker(), { groupId: "group", topics: ["calls"], onAssigned });
  await clock.advanceUntil(() => partitions.length === 2, 1_000);
  const areOurs = () => Promise.all(partitions.map((partition) => partition.isOurs()));
  expect(await areOurs()).toEqual([true, true]);
  forgotten.expire();
  expect(await areOurs()).toEqual([false, false]);
});

test("a consumer that is stopped while it joins again does not block its group", async () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const { clock, cluster } = start(seed);
    cluster.setLatency({ minMs: 1, maxMs: 300 });
    const kafka = cluster.connect();
    const consumer = consume(kafka, new Taker({ finishesAtOnce: true }));
    await clock.advance(1_000);
    kafka.expire();
    await clock.advance(seed * 12);
    void consumer.stop();
    const next = consume(cluster.connect(), new Taker({ finishesAtOnce: true }));
    await clock.advance(MINUTE_MS);
    expect(next.progress(), `seed ${seed}`).toHaveLength(2);
  }
});

test("sends wait for the end of an outage, and the groups come back", async () => {
  const { clock, cluster } = start();
  const kafka = cluster.connect();
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = consume(kafka, taker);
  await clock.advance(1_000);
  cluster.goDown();
  let isSent = false;
  void kafka
    .producer()
    .send([record("calls", "patient")])
    .then(() => {
      isSent = true;
    });
  await clock.advance(MINUTE_MS);
  expect(isSent).toBe(false);
  cluster.comeUp();
  await clock.advanceUntil(() => isSent && taker.taken.length === 1, MINUTE_MS);
  await clock.advance(MINUTE_MS);
  // If it finished before the coordinator was known again, its commit may have been rejected.
  expect(new Set(values(taker.taken))).toEqual(new Set(["patient"]));
  expect(consumer.rebalances()).toBe(2);
});

test("a lost acknowledgement writes the records twice, in order", async () => {
  const { clock, cluster } = start();
  cluster.loseAcknowledgements(1);
  const sent = cluster
    .connect()
    .producer()
    .send([record("calls", "one", 0), record("calls", "two", 0)]);
  await clock.advance(500);
  cluster.loseAcknowledgements(0);
  await clock.advance(5_000);
  expect(await sent).toEqual([]);
  expect(values(cluster.records("calls"))).toEqual(["one", "two", "one", "two"]);
});

test("gaps in the offsets are passed", async () => {
  const { clock, cluster } = start();
  cluster.skipOffsets("calls", 0, 5);
  cluster.append(record("calls", "after the gap", 0));
  cluster.skipOffsets("calls", 0, 5);
  const taker = new Taker({ finishesAtOnce: true });
  const consumer = consume(cluster.connect(), taker);
  await clock.advanceUntil(() => taker.taken.length === 1, 1_000);
  expect(taker.taken[0]?.offset).toBe(5);
  expect(consumer.progress()[0]).toMatchObject({ position: 11, end: 11 });
});

test("whatever members come, go, die and are forgotten, every record is finished in the end", async () => {
  for (let seed = 0; seed < 100; seed += 1) {
    const { clock, cluster } = start(seed);
    const random = createPrng(seed + 1_000);
    const finished = new Set<string>();
    const takers: Taker[] = [];
    const join = () => {
      const kafka = cluster.connect();
      const taker = new Taker();
      takers.push(taker);
      return { kafka, taker, consumer: consume(kafka, taker) };
    };
    const members = [join(), join()];
    for (let step = 0; step < 60; step += 1) {
      for (let count = random.integer(0, 5); count > 0; count -= 1) {
        cluster.append(record("calls", `${step}`));
      }
      for (const { kafka, taker } of members) {
        if (!kafka.alive) continue;
        for (const taken of taker.unfinished()) {
          if (random.chance(0.5)) continue;
          taker.finish(taken);
          finished.add(keyOf(taken));
        }
      }
      const unlucky = random.pick(members);
      const finalState = random.integer(0, 40);
      if (finalState < 5) {
        if (finalState === 0) unlucky.kafka.kill();
        if (finalState === 1) unlucky.kafka.expire();
        if (finalState === 2) void unlucky.consumer.stop();
        if (finalState === 3) cluster.goDown();
        members.push(join());
      }
      if (finalState === 10) cluster.comeUp();
      await clock.advance(random.integer(0, 2_000));
    }
    cluster.comeUp();
    const last = new Taker({ finishesAtOnce: true });
    for (const { kafka } of members) kafka.kill();
    const consumer = consume(cluster.connect(), last);
    await clock.advance(MINUTE_MS);
    for (const taken of last.taken) finished.add(keyOf(taken));
    expect(finished.size, `seed ${seed}`).toBe(cluster.records("calls").length);
    expect(consumer.progress(), `seed ${seed}`).toHaveLength(2);
  }
});
