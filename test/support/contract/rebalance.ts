/** The contract of consumers that share a group: drain, commit, fence. */

import { describe, expect, test } from "vitest";

import type { Bench } from "./bench.ts";
import { keyOf, Taker } from "./taker.ts";

const PARTITIONS = [0, 1, 2, 3];

export function testRebalance(bench: Bench): void {
  describe("when a second member joins", () => {
    testSecondMember(bench);
  });
  testMembers(bench);
}

function testSecondMember(bench: Bench): void {
  test("it goes on exactly where the first one left off", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, PARTITIONS.length);
    for (const partition of PARTITIONS) await bench.fill(kafka, topic, 10, partition);
    // On each partition, the even offsets are finished before the drain, and offset 1 during it.
    const first = new Taker({ onDrain: finishFirst });
    const options = { groupId: topic, topics: [topic] };
    const one = bench.consume(kafka, first, options);
    await first.untilTaken(40);
    for (const taken of first.taken) if (taken.offset % 2 === 0) first.finish(taken);

    const second = new Taker();
    const other = bench.consume(bench.connect(), second, options);
    await other.joined;
    await Promise.all([second.untilTaken(8), first.untilTaken(48)]);
    expect(one.rebalances()).toBeGreaterThanOrEqual(2);
    expect(first.tenures.slice(0, 4).every(({ drains }) => drains > 0)).toBe(true);
    const again = [...first.taken.slice(40), ...second.taken];
    expect(again.map(({ partition, offset }) => `${partition}/${offset}`).sort()).toEqual(
      PARTITIONS.flatMap((partition) => [3, 5, 7, 9].map((offset) => `${partition}/${offset}`)),
    );
    await Promise.all([one.stop(), other.stop()]);
  });

  test("it gets nothing before the first one has drained", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 2);
    for (const partition of [0, 1]) await bench.fill(kafka, topic, 3, partition);
    const seen: string[] = [];
    const drained = Promise.withResolvers<void>();
    const first = new Taker({ onDrain: () => drained.promise });
    const options = { groupId: topic, topics: [topic], drainLimitMs: 20_000 };
    const one = bench.consume(kafka, first, options);
    await first.untilTaken(6);
    const second = new Taker();
    const other = bench.consume(bench.connect(), second, options);
    void second.untilTaken(1).then(() => seen.push("taken by the second"));
    await first.until(() => first.tenures.some(({ drains }) => drains > 0));
    // Enough time for the second consumer to start, if it did not wait.
    for (let times = 0; times < 20; times += 1) await kafka.admin.offsets(topic);
    for (const taken of first.taken) if (taken.offset < 2) first.finish(taken);
    seen.push("drained");
    drained.resolve();
    await second.untilTaken(1);
    expect(seen).toEqual(["drained", "taken by the second"]);
    expect(second.taken[0]?.offset).toBe(2);
    await Promise.all([one.stop(), other.stop()]);
  });

  test("finishing in a partition that was taken away does nothing", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 2);
    for (const partition of [0, 1]) await bench.fill(kafka, topic, 4, partition);
    const options = { groupId: topic, topics: [topic] };
    const first = new Taker();
    const one = bench.consume(kafka, first, options);
    await first.untilTaken(8);
    const lost = first.tenures.slice();
    const second = new Taker();
    const other = bench.consume(bench.connect(), second, options);
    await Promise.all([second.untilTaken(4), first.untilTaken(12)]);
    for (const { assigned } of lost) for (const offset of [0, 1, 2, 3]) assigned.finish(offset);
    const progress = [...one.progress(), ...other.progress()];
    expect(progress.map(({ position, inFlight }) => [position, inFlight])).toEqual([
      [0, 4],
      [0, 4],
    ]);
    await Promise.all([one.stop(), other.stop()]);
    for (const { offset } of await kafka.admin.committed(topic, topic)) expect(offset).toBe(0);
  });
}

function testMembers(bench: Bench): void {
  test("of members with different topics, each gets all partitions of its own topic", async () => {
    const kafka = bench.connect();
    const topics = [await bench.topic(kafka, 2), await bench.topic(kafka, 2)] as const;
    const takers = topics.map(() => new Taker({ finishesAtOnce: true }));
    const consumers = takers.map((taker, at) =>
      bench.consume(bench.connect(), taker, {
        groupId: topics[0],
        topics: at === 0 ? [topics[0]] : [topics[1]],
      }),
    );
    await Promise.all(consumers.map(({ joined }) => joined));
    for (const topic of topics) for (const at of [0, 1]) await bench.fill(kafka, topic, 3, at);
    await Promise.all(takers.map((taker) => taker.untilTaken(6)));
    for (const [at, { taken }] of takers.entries()) {
      expect(new Set(taken.map(({ topic }) => topic))).toEqual(new Set([topics[at]]));
    }
    await Promise.all(consumers.map((consumer) => consumer.stop()));
  });

  test("a member that leaves hands its partitions to the one that stays", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 2);
    const options = { groupId: topic, topics: [topic] };
    const staying = new Taker({ finishesAtOnce: true });
    const leaving = new Taker({ finishesAtOnce: true });
    const one = bench.consume(kafka, staying, options);
    const other = bench.consume(bench.connect(), leaving, options);
    await Promise.all([one.joined, other.joined]);
    await other.stop();
    for (const partition of [0, 1]) await bench.fill(kafka, topic, 5, partition);
    const all = () => [...staying.taken, ...leaving.taken];
    await staying.until(() => all().length >= 10);
    expect(new Set(all().map(keyOf)).size).toBe(10);
    expect(all()).toHaveLength(10);
    await one.stop();
  });

  test("more members than partitions: one has none, and has joined", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const options = { groupId: topic, topics: [topic] };
    const members = [kafka, bench.connect()].map((connection) =>
      bench.consume(connection, new Taker(), options),
    );
    await Promise.all(members.map(({ joined }) => joined));
    await Promise.all(members.map((member) => member.stop()));
  });
}

async function finishFirst(taker: Taker): Promise<void> {
  await Promise.resolve();
  for (const taken of taker.unfinished()) if (taken.offset === 1) taker.finish(taken);
}
