/**
 * The contract of `hold` (records that are finished above the held offset are passed on again), of `isOurs` and of
 * `topicId`.
 */

import { describe, expect, test } from "vitest";
import { createTopics } from "../worlds/test-kafka.ts";
import { type Bench, values } from "./bench.ts";
import { Taker } from "./taker.ts";

export function testHold(bench: Bench): void {
  test("a partition is ours until it is given up", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 1);
    const taker = new Taker();
    const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
    await taker.untilTaken(1);
    const assigned = taker.tenures[0]?.assigned;
    expect(await assigned?.isOurs()).toBe(true);
    await consumer.stop();
    expect(await assigned?.isOurs()).toBe(false);
  });
  test("a topic has one id for all, and another one when it was deleted and made again", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    const idNow = async () => {
      await bench.fill(kafka, topic, 1);
      const taker = new Taker({ finishesAtOnce: true });
      const options = { groupId: bench.name(), topics: [topic] };
      const consumer = bench.consume(bench.connect(), taker, options);
      await taker.untilTaken(1);
      await consumer.stop();
      return taker.tenures.at(-1)?.assigned.topicId() ?? "";
    };
    const before = await idNow();
    expect(before).not.toBe("");
    expect(await idNow()).toBe(before);
    await kafka.admin.deleteTopics([topic]);
    await expect.poll(() => kafka.admin.topics()).not.toContain(topic);
    await createTopics(kafka, [topic]);
    const after = await idNow();
    expect(after).not.toBe("");
    expect(after).not.toBe(before);
  });
  describe("a partition held at an offset", () => {
    test("is committed no further, and everything from there on comes again", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 1);
      await bench.fill(kafka, topic, 6);
      const before = new Taker();
      const first = bench.consume(kafka, before, { groupId: topic, topics: [topic] });
      await before.untilTaken(6);
      before.tenures[0]?.assigned.hold(2);
      for (const at of [0, 1, 2, 3, 5]) before.tenures[0]?.assigned.finish(at);
      expect(first.progress()).toMatchObject([{ position: 2, inFlight: 1 }]);
      await first.stop();
      expect(await kafka.admin.committed(topic, topic)).toEqual([
        { partition: 0, offset: 2, metadata: expect.stringMatching(/^sw1:2:[\w-]+:~2$/) },
      ]);
      const after = new Taker({ finishesAtOnce: true });
      const second = bench.consume(kafka, after, { groupId: topic, topics: [topic] });
      await after.untilTaken(4);
      expect(values(after.taken)).toEqual(["2", "3", "4", "5"]);
      await second.stop();
    });

    test("is committed up to what is finished once it is let go", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 1);
      await bench.fill(kafka, topic, 4);
      const taker = new Taker();
      const consumer = bench.consume(kafka, taker, { groupId: topic, topics: [topic] });
      await taker.untilTaken(4);
      const assigned = taker.tenures[0]?.assigned;
      assigned?.hold(1);
      for (const at of [0, 1, 2]) assigned?.finish(at);
      assigned?.hold(3);
      expect(consumer.progress()).toMatchObject([{ position: 3 }]);
      assigned?.finish(3);
      assigned?.hold(null);
      await consumer.stop();
      expect(await kafka.admin.committed(topic, topic)).toMatchObject([{ offset: 4 }]);
    });
  });
}
