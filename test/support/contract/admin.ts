/** The contract of the admin port. */

import { describe, expect, test } from "vitest";
import type { Bench } from "./bench.ts";
import { Taker } from "./taker.ts";

export function testManyOffsets(bench: Bench): void {
  describe("offsets of many", () => {
    test("topics have ids, each its own", async () => {
      const kafka = bench.connect();
      const [one, other] = [await bench.topic(kafka, 1), await bench.topic(kafka, 1)];
      const gone = bench.name();
      const ids = await kafka.admin.topicIds([one, gone, other]);
      expect([...ids.keys()].sort()).toEqual([one, other].sort());
      expect(ids.get(one)).not.toBe(ids.get(other));
      expect(await kafka.admin.topicIds([one])).toEqual(new Map([[one, ids.get(one)]]));
    });

    test("of topics and groups are those of each of them", async () => {
      const kafka = bench.connect();
      const [one, other] = [await bench.topic(kafka, 3), await bench.topic(kafka, 1)];
      const gone = bench.name();
      await bench.fill(kafka, one, 5, 2);
      const offsets = await kafka.admin.offsetsOf([one, gone, other]);
      expect([...offsets.keys()].sort()).toEqual([one, other].sort());
      expect(offsets.get(one)).toEqual(await kafka.admin.offsets(one));
      expect(offsets.get(other)).toEqual([{ partition: 0, first: 0, end: 0 }]);
      const groups = [bench.name(), bench.name()] as const;
      const commits = [{ partition: 2, offset: 4, metadata: "m" }];
      await kafka.admin.commit(groups[0], one, commits);
      const wanted = new Map([
        [groups[0], [one, other]],
        [groups[1], [other, gone]],
      ]);
      const committed = await kafka.admin.committedOf(wanted);
      expect(committed.get(groups[0])?.get(one)).toEqual(commits);
      expect(committed.get(groups[0])?.get(other) ?? []).toEqual([]);
      expect(committed.get(groups[1])?.get(other) ?? []).toEqual([]);
      expect(committed.get(groups[1])?.get(gone) ?? []).toEqual([]);
    });
  });
}

const KEYS = ["retention.ms", "cleanup.policy"];

export function testAdmin(bench: Bench): void {
  describe("the administration", () => {
    test("creates topics with their configuration, and leaves those that exist", async () => {
      const { admin } = bench.connect();
      const name = bench.name();
      const spec = {
        name,
        partitions: 3,
        replicationFactor: 1,
        config: { "retention.ms": "1000" },
      };
      await admin.create([spec]);
      expect(await admin.topics()).toContain(name);
      await admin.create([{ ...spec, partitions: 5, config: { "retention.ms": "2000" } }]);
      expect(await admin.describe([name, bench.name()], KEYS)).toEqual([
        {
          name,
          partitions: 3,
          replicationFactor: 1,
          config: { "retention.ms": "1000", "cleanup.policy": "delete" },
        },
      ]);
      await admin.deleteTopics([name]);
      // The controller has deleted the topic, but the broker that lists topics gets this change later.
      await expect.poll(() => admin.topics()).not.toContain(name);
    });

    test("sets the configuration keys it is given, and no others", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 1, { "retention.ms": "1000" });
      await kafka.admin.alterConfig(topic, { "cleanup.policy": "compact" });
      // The broker that describes topics gets the change from the controller later.
      const config = async () => (await kafka.admin.describe([topic], KEYS))[0]?.config;
      await expect.poll(config).toEqual({ "retention.ms": "1000", "cleanup.policy": "compact" });
      await expect(
        kafka.admin.alterConfig(bench.name(), { "retention.ms": "1" }),
      ).rejects.toThrow();
    });

    test("knows the first offset and the end of each partition", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 3);
      await bench.fill(kafka, topic, 7, 1);
      const offsets = [...(await kafka.admin.offsets(topic))];
      expect(offsets.sort((one, other) => one.partition - other.partition)).toEqual([
        { partition: 0, first: 0, end: 0 },
        { partition: 1, first: 0, end: 7 },
        { partition: 2, first: 0, end: 0 },
      ]);
      await expect(kafka.admin.offsets(bench.name())).rejects.toThrow();
    });

    test("knows what a group has committed, until the group is deleted", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 2);
      const groupId = bench.name();
      expect(await kafka.admin.committed(groupId, topic)).toEqual([]);
      await bench.fill(kafka, topic, 4, 1);
      const taker = new Taker({ finishesAtOnce: true });
      const consumer = bench.consume(kafka, taker, { groupId, topics: [topic] });
      await taker.untilTaken(4);
      await consumer.stop();
      expect(await kafka.admin.committed(groupId, topic)).toContainEqual({
        partition: 1,
        offset: 4,
        metadata: expect.stringMatching(/^sw1:4:[\w-]+:$/),
      });
      await kafka.admin.deleteGroup(groupId);
      expect(await kafka.admin.committed(groupId, topic)).toEqual([]);
    });

    test("knows a broker's settings, and null for one that there is not", async () => {
      const { admin } = bench.connect();
      expect(await admin.brokerSetting("offsets.retention.minutes")).toMatch(/^\d+$/);
      expect(await admin.brokerSetting("no.such.setting")).toBe(null);
    });

    test("takes many calls at the same time, also after a topic that it has read was deleted", async () => {
      const kafka = bench.connect();
      const [gone, topic] = [await bench.topic(kafka, 1), await bench.topic(kafka, 1)];
      await kafka.admin.offsets(gone);
      await kafka.admin.deleteTopics([gone]);
      // The broker that lists topics gets the deletion from the controller later.
      await expect.poll(() => kafka.admin.topics()).not.toContain(gone);
      await expect(kafka.admin.offsets(gone)).rejects.toThrow();
      const responses = await Promise.all([...Array(8)].map(() => kafka.admin.offsets(topic)));
      expect(responses.every(([partition]) => partition?.end === 0)).toBe(true);
    });
  });
}
