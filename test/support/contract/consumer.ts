/** The contract of a consumer that is the only member of its group. */

import { describe, expect, test } from "vitest";

import { type IncomingRecord, recordBytes } from "../../../src/domain/record.ts";
import { TopicGoneError } from "../../../src/kafka/port.ts";
import { createTopics } from "../worlds/test-kafka.ts";
import { type Bench, record, values } from "./bench.ts";
import { Taker } from "./taker.ts";

const FULL_MODES = ["hold", "pause"] as const;

export function testConsumer(bench: Bench): void {
  describe("a consumer hands over", () => {
    testHandingOver(bench);
  });
  describe("after a stop", () => {
    testRestart(bench);
  });
  describe.each(FULL_MODES)("with no room, whenFull %s", (whenFull) => {
    testRoom(bench, whenFull);
    testChangingRoom(bench, whenFull);
  });
  test("with no room in one partition, whenFull pause goes on with the others", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 2);
    await bench.fill(kafka, topic, 20, 0);
    await bench.fill(kafka, topic, 20, 1);
    const taker = new Taker();
    const limits = { partitionRecordsMax: 5, whenFull: "pause" } as const;
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic], ...limits });
    for (let count = 1; count <= 20; count += 1) {
      const other = () => taker.taken.filter(({ partition }) => partition === 1);
      await taker.until(() => other().length >= count);
      for (const one of taker.unfinished()) if (one.partition === 1) taker.finish(one);
    }
    // There may be several brokers, and another one may be slower.
    await taker.until(() => taker.unfinished().length === 5);
    const stuck = taker.unfinished();
    expect(new Set(stuck.map(({ partition }) => partition))).toEqual(new Set([0]));
    for (const one of stuck) taker.finish(one);
    await taker.untilTaken(30);
    await consumer.stop();
  });
  test("with no room, whenFull hold, passing topics go on, and have room of their own", async () => {
    const kafka = bench.connect();
    const [line, passing] = [await bench.topic(kafka, 2), await bench.topic(kafka, 1)];
    for (const partition of [0, 1]) await bench.fill(kafka, line, 20, partition);
    const taker = new Taker();
    const limits = { partitionRecordsMax: 5, whenFull: "hold" } as const;
    const topics = { topics: [line, passing], passingTopics: [passing] };
    const consumer = bench.consume(kafka, taker, { groupId: line, ...topics, ...limits });
    const of = (topic: string) => taker.unfinished().filter((one) => one.topic === topic);
    await taker.until(() => of(line).length >= 5);
    await bench.fill(kafka, passing, 12);
    await taker.until(() => of(passing).length === 5);
    for (let left = 12; left > 0; left -= 1) {
      await taker.until(() => of(passing).length > 0);
      const [first] = of(passing);
      if (first !== undefined) taker.finish(first);
    }
    // The other records have waited, and continue.
    while (taker.taken.length < 52) {
      for (const one of of(line)) taker.finish(one);
      const { length } = taker.taken;
      await taker.until(() => taker.taken.length > length || taker.taken.length === 52);
    }
    expect(taker.taken.filter(({ topic }) => topic === line)).toHaveLength(40);
    await consumer.stop();
  });
  describe.each(FULL_MODES)("with a record that is not admitted, whenFull %s", (whenFull) => {
    testAdmitting(bench, whenFull);
  });
  testLife(bench);
  testTopicMadeAnew(bench);
}

function testAdmitting(bench: Bench, whenFull: (typeof FULL_MODES)[number]): void {
  test("its partition waits alone, without any of the others' room, and goes on", async () => {
    const kafka = bench.connect();
    const [line, passing] = [await bench.topic(kafka, 2), await bench.topic(kafka, 1)];
    await bench.fill(kafka, line, 30, 0);
    const { promise, resolve } = Promise.withResolvers<void>();
    let mayCome = false;
    const taker = new Taker({
      admit: (one) =>
        one.topic === line && one.partition === 0 && one.offset >= 2 && !mayCome ? promise : one,
    });
    const of = (topic: string, partition: number) =>
      taker.taken.filter((one) => one.topic === topic && one.partition === partition);
    const consumer = bench.consume(kafka, taker, {
      groupId: line,
      topics: [line, passing],
      passingTopics: [passing],
      // There is room for the two earlier records and one more.
      maxBytes: 500,
      partitionRecordsMax: 5,
      whenFull,
    });
    await taker.untilTaken(2);
    await bench.fill(kafka, line, 20, 1);
    await bench.fill(kafka, passing, 20);
    const others = () => [...of(line, 1), ...of(passing, 0)];
    while (others().length < 40) {
      for (const one of taker.unfinished()) if (others().includes(one)) taker.finish(one);
      const { length } = others();
      await taker.until(() => others().length > length || length === 40);
    }
    expect(of(line, 0).map(({ offset }) => offset)).toEqual([0, 1]);
    expect(consumer.progress().find((at) => at.inFlight === 2)).toMatchObject({ partition: 0 });
    mayCome = true;
    resolve();
    while (taker.taken.length < 70) {
      for (const one of taker.unfinished()) taker.finish(one);
      const { length } = taker.taken;
      await taker.until(() => taker.taken.length > length || length === 70);
    }
    expect(of(line, 0).map(({ offset }) => offset)).toEqual([...Array(30).keys()]);
    await consumer.stop();
  });

  test("a stop leaves it for the next owner, and takes what admit gives", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 3);
    const before = new Taker({
      finishesAtOnce: true,
      admit: (one) => (one.offset === 1 ? new Promise(() => undefined) : one),
    });
    const options = { groupId: topic, topics: [topic], whenFull };
    const first = bench.consume(kafka, before, options);
    await before.untilTaken(1);
    await first.stop();
    expect(await kafka.admin.committed(topic, topic)).toMatchObject([{ offset: 1 }]);
    const value = Buffer.from("another");
    const after = new Taker({ admit: (one) => ({ ...placeOf(one), value }) });
    const second = bench.consume(bench.connect(), after, options);
    await after.untilTaken(2);
    expect(values(after.taken)).toEqual(["another", "another"]);
    expect(after.taken.map(({ offset }) => offset)).toEqual([1, 2]);
    await second.stop();
  });
}

/** Fetched records have no own properties, so the fields are copied one by one. */
function placeOf({ topic, partition, offset, timestampMs, key, headers }: IncomingRecord) {
  return { topic, partition, offset, timestampMs, key, headers };
}

function testHandingOver(bench: Bench): void {
  test("each partition's records in offset order, at most 1,000 a call", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 3);
    for (const partition of [0, 1, 2]) await bench.fill(kafka, topic, 1_500, partition);
    const taker = new Taker({ finishesAtOnce: true });
    const limits = { partitionRecordsMax: 2_000 };
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic], ...limits });
    await taker.untilTaken(4_500);
    for (const partition of [0, 1, 2]) {
      const taken = taker.taken.filter((one) => one.partition === partition);
      expect(taken.map(({ offset }) => offset)).toEqual([...Array(1_500).keys()]);
      expect(values(taken)).toEqual([...Array(1_500).keys()].map(String));
    }
    expect(taker.batchMax).toBeLessThanOrEqual(1_000);
    await consumer.stop();
  });

  test("keys, values and headers as they were written", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const shared = [["first", Buffer.from("shared")]] as const;
    const headers = [
      ["twice", Buffer.from("one")],
      ["__proto__", Buffer.from("a name like any other")],
      ["twice", Buffer.from("two")],
      ["toString", null],
      ["empty", Buffer.alloc(0)],
      ["bytes", Buffer.from([0, 255, 128])],
    ] as const;
    await kafka.producer().send([
      {
        topic,
        key: Buffer.from("key"),
        value: Buffer.from([0, 255]),
        headers,
        sharedHeaders: shared,
      },
      { topic, key: null, value: null, headers: [] },
      { topic, key: Buffer.alloc(0), value: Buffer.alloc(0), headers: [], sharedHeaders: shared },
      { topic, key: Buffer.alloc(4), value: Buffer.from("ü"), headers: [] },
    ]);
    const taker = new Taker({ finishesAtOnce: true });
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
    await taker.untilTaken(4);
    const found = taker.taken.map(({ key, value, headers: read }) => ({ key, value, read }));
    expect(found).toEqual([
      { key: Buffer.from("key"), value: Buffer.from([0, 255]), read: [...shared, ...headers] },
      { key: null, value: null, read: [] },
      { key: Buffer.alloc(0), value: Buffer.alloc(0), read: shared },
      { key: Buffer.alloc(4), value: Buffer.from("ü"), read: [] },
    ]);
    await consumer.stop();
  });

  test("records of all its topics, and those written later", async () => {
    const kafka = bench.connect();
    const topics = [await bench.topic(kafka, 1), await bench.topic(kafka, 2)];
    const taker = new Taker({ finishesAtOnce: true });
    const consumer = bench.consume(kafka, taker, { groupId: bench.name(), topics });
    await consumer.joined;
    for (const [index, topic] of topics.entries()) await bench.fill(kafka, topic, 2, index);
    await taker.untilTaken(4);
    expect(new Set(taker.taken.map(({ topic }) => topic))).toEqual(new Set(topics));
    await consumer.stop();
  });
}

function testRestart(bench: Bench): void {
  test("exactly the unfinished records are handed over again", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 8);
    const before = new Taker();
    const first = bench.consume(kafka, before, { groupId: topic, topics: [topic] });
    await before.untilTaken(8);
    for (const at of [6, 0, 3, 1, 4]) {
      const taken = before.taken[at];
      if (taken !== undefined) before.finish(taken);
    }
    await first.stop();
    const [committed] = await kafka.admin.committed(topic, topic);
    expect(committed?.offset).toBe(2);
    expect(committed?.metadata).toMatch(/^sw1:2:/);

    const after = new Taker();
    const second = bench.consume(bench.connect(), after, { groupId: topic, topics: [topic] });
    await after.untilTaken(3);
    expect(values(after.taken)).toEqual(["2", "5", "7"]);
    for (const taken of after.taken) after.finish(taken);
    await second.stop();
    expect(await kafka.admin.committed(topic, topic)).toEqual([
      { partition: 0, offset: 8, metadata: expect.stringMatching(/^sw1:8:[\w-]+:$/) },
    ]);
  });

  test("nothing is repeated when everything was finished", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 2);
    for (const partition of [0, 1]) await bench.fill(kafka, topic, 5, partition);
    const before = new Taker({ finishesAtOnce: true });
    const first = bench.consume(kafka, before, { groupId: topic, topics: [topic] });
    await before.untilTaken(10);
    await first.stop();
    const after = new Taker({ finishesAtOnce: true });
    const second = bench.consume(kafka, after, { groupId: topic, topics: [topic] });
    for (const partition of [0, 1]) {
      await kafka.producer().send([record(topic, "new", partition)]);
    }
    await after.untilTaken(2);
    expect(values(after.taken)).toEqual(["new", "new"]);
    await second.stop();
  });

  test("what was finished while draining is committed, too", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 3);
    const onDrain = async (drained: Taker) => {
      await Promise.resolve();
      for (const taken of drained.unfinished().slice(0, 2)) drained.finish(taken);
    };
    const taker = new Taker({ onDrain });
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
    await taker.untilTaken(3);
    await consumer.stop();
    const [committed] = await kafka.admin.committed(topic, topic);
    expect(committed?.offset).toBe(2);
  });

  test("a drain that never ends is given up, and its records come again", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 3);
    const before = new Taker({ onDrain: () => new Promise(() => undefined) });
    const options = { groupId: topic, topics: [topic], drainLimitMs: 200 };
    const first = bench.consume(kafka, before, options);
    await before.untilTaken(3);
    await first.stop();
    const after = new Taker();
    const second = bench.consume(kafka, after, options);
    await after.untilTaken(3);
    expect(values(after.taken)).toEqual(["0", "1", "2"]);
    await second.stop();
  });
}

function testRoom(bench: Bench, whenFull: (typeof FULL_MODES)[number]): void {
  test("partitions with a backlog advance together, however far a fetch reads", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 3);
    const [count, step] = [4_000, 20];
    // A batch is larger than a partition's share of a fetch, so that a fetch returns only one partition.
    const value = "x".repeat(2_000);
    for (const partition of [0, 1, 2]) {
      const records = Array.from({ length: count }, () => record(topic, value, partition));
      await kafka.producer().send(records);
    }
    const taker = new Taker();
    const limits = { partitionRecordsMax: 100, maxBytes: 2_000_000, whenFull };
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic], ...limits });
    const finished = [0, 0, 0];
    let spreadMax = 0;
    // The oldest records are finished first, a few at a time, as with a slow endpoint.
    for (let next = 0; Math.max(...finished) < count; ) {
      await taker.until(() => taker.taken.length > next);
      for (const one of taker.taken.slice(next, next + step)) {
        taker.finish(one);
        finished[one.partition] = one.offset + 1;
        next += 1;
      }
      spreadMax = Math.max(spreadMax, Math.max(...finished) - Math.min(...finished));
    }
    expect(spreadMax).toBeLessThanOrEqual(1_000);
    await consumer.stop();
  });

  test("the records of a partition that are in flight are limited, and all of them come", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 30);
    const taker = new Taker();
    const limits = { partitionRecordsMax: 4, whenFull };
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic], ...limits });
    for (let finished = 0; finished < 30; finished += 1) {
      await taker.untilTaken(Math.min(30, finished + 4));
      // The newest records are finished first, so that the position does not change meanwhile.
      const newest = taker.unfinished().at(-1);
      if (newest !== undefined) taker.finish(newest);
    }
    expect(taker.inFlightMax).toBe(4);
    expect(values(taker.taken)).toEqual([...Array(30).keys()].map(String));
    await consumer.stop();
  });

  test("the bytes in flight are limited, but one record is always allowed", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const sizes = [1_000, 1_000, 50_000, 1_000, 1_000, 1_000];
    await kafka.producer().send(sizes.map((size) => record(topic, "x".repeat(size), 0)));
    const taker = new Taker();
    const limits = { maxBytes: 2_500, whenFull };
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic], ...limits });
    for (const [index] of sizes.entries()) {
      await taker.untilTaken(index + 1);
      const oldest = taker.taken[index];
      if (oldest !== undefined) taker.finish(oldest);
    }
    expect(taker.taken.map(({ value }) => value?.length)).toEqual(sizes);
    const largest = taker.taken[2];
    expect(taker.bytesInFlightMax).toBe(largest === undefined ? 0 : recordBytes(largest));
    await consumer.stop();
  });
}

function testChangingRoom(bench: Bench, whenFull: (typeof FULL_MODES)[number]): void {
  test("records that wait for others do not count toward the limit, which can change", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 60);
    let isOneKey = true;
    let recordsMax = 4;
    const taker = new Taker({ followers: (inFlight) => (isOneKey ? inFlight - 1 : 0) });
    const limits = { partitionRecordsMax: () => recordsMax, whenFull };
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic], ...limits });
    await taker.untilTaken(60);
    isOneKey = false;
    recordsMax = 8;
    for (const one of taker.unfinished()) taker.finish(one);
    taker.inFlightMax = 0;
    await bench.fill(kafka, topic, 30);
    for (let finished = 0; finished < 30; finished += 1) {
      await taker.untilTaken(60 + Math.min(30, finished + 8));
      const newest = taker.unfinished().at(-1);
      if (newest !== undefined) taker.finish(newest);
    }
    expect(taker.inFlightMax).toBe(8);
    await consumer.stop();
  });
}

function testLife(bench: Bench): void {
  test("an empty topic is joined, and its progress is known", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const consumer = bench.consume(kafka, new Taker(), { groupId: topic, topics: [topic] });
    await consumer.joined;
    expect(consumer.rebalances()).toBe(1);
    expect(consumer.progress()).toMatchObject([
      { topic, partition: 0, position: 0, next: 0, end: 0, inFlight: 0, oldestUnfinishedMs: null },
    ]);
    await consumer.stop();
  });

  test("progress has the position, the end, what is in flight and how old it is", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 5);
    const taker = new Taker();
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
    await taker.untilTaken(5);
    for (const taken of taker.taken.filter(({ offset }) => offset !== 2)) taker.finish(taken);
    const oldestUnfinishedMs = taker.taken[2]?.timestampMs;
    const place = { topic, partition: 0, position: 2, next: 5, end: 5 };
    const [endAtMs, atMs]: number[] = [expect.any(Number), expect.any(Number)];
    expect(consumer.progress()).toEqual([{ ...place, endAtMs, inFlight: 1, oldestUnfinishedMs }]);
    const life = {
      fetchedAtMs: atMs,
      heardAtMs: atMs,
      commitFailures: 0,
      foreignMembers: [],
      unreadTopics: [],
      halts: [],
    };
    expect(consumer.vitals()).toEqual({ ...life, isAssigned: true });
    await consumer.stop();
    expect(consumer.progress()).toEqual([]);
    expect(consumer.vitals()).toEqual({ ...life, isAssigned: false });
  });

  test("stopping twice, or before it has joined, is fine", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const consumer = bench.consume(kafka, new Taker(), { groupId: topic, topics: [topic] });
    await Promise.all([consumer.stop(), consumer.stop()]);
    await consumer.stop();
  });

  test("closing the connection stops its consumers: they drain and commit", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 3);
    const other = bench.connect();
    const taker = new Taker({ finishesAtOnce: true });
    bench.consume(other, taker, { groupId: topic, topics: [topic] });
    await taker.untilTaken(3);
    await other.close();
    expect(taker.tenures[0]?.drains).toBeGreaterThan(0);
    const [committed] = await kafka.admin.committed(topic, topic);
    expect(committed?.offset).toBe(3);
  });

  test("a topic that is deleted ends its consumer", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const crashed = Promise.withResolvers<Error>();
    const taker = new Taker();
    const options = { groupId: topic, topics: [topic], onCrash: crashed.resolve };
    const consumer = bench.consume(kafka, taker, options);
    await consumer.joined;
    await kafka.admin.deleteTopics([topic]);
    expect(await crashed.promise).toBeInstanceOf(TopicGoneError);
    expect(consumer.progress()).toEqual([]);
    await consumer.stop();
  });
}

function testTopicMadeAnew(bench: Bench): void {
  test("a commit of an earlier topic says nothing about one of the same name", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const before = new Taker({ finishesAtOnce: true });
    await bench.fill(kafka, topic, 5);
    const first = bench.consume(kafka, before, { groupId: topic, topics: [topic] });
    await before.untilTaken(5);
    await first.stop();
    const committed = await kafka.admin.committed(topic, topic);
    expect(committed).toMatchObject([{ offset: 5 }]);
    await kafka.admin.deleteTopics([topic]);
    await expect.poll(() => kafka.admin.topics()).not.toContain(topic);
    await createTopics(kafka, [topic]);
    await bench.fill(kafka, topic, 7);
    // Kafka removes the commits of a deleted topic, but a commit that was in progress arrives after that.
    await kafka.admin.commit(topic, topic, committed);
    const after = new Taker({ finishesAtOnce: true });
    // This is another process, which has never read the earlier topic.
    const second = bench.consume(bench.connect(), after, { groupId: topic, topics: [topic] });
    await after.untilTaken(7);
    expect(values(after.taken)).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
    await second.stop();
    expect(await kafka.admin.committed(topic, topic)).toMatchObject([{ offset: 7 }]);

    // A commit of another tool contains no topic ID, so it counts.
    await bench.fill(kafka, topic, 2);
    await kafka.admin.commit(topic, topic, [{ partition: 0, offset: 8, metadata: "" }]);
    const last = new Taker({ finishesAtOnce: true });
    const third = bench.consume(bench.connect(), last, { groupId: topic, topics: [topic] });
    await last.untilTaken(1);
    expect(last.taken.map(({ offset }) => offset)).toEqual([8]);
    await third.stop();
  });
}
