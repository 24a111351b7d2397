/** The contract of reading and committing without joining a group. */

import { describe, expect, test } from "vitest";

import type { IncomingRecord } from "../../../src/domain/record.ts";
import type { Kafka, ReadRange } from "../../../src/kafka/port.ts";
import { type Bench, record, values } from "./bench.ts";
import { Taker } from "./taker.ts";

const never = new AbortController().signal;

async function read(
  kafka: Kafka,
  range: Pick<ReadRange, "topic" | "from" | "to"> & Partial<ReadRange>,
): Promise<readonly (readonly IncomingRecord[])[]> {
  const steps: (readonly IncomingRecord[])[] = [];
  const all = { partition: 0, maxBytes: 1_000_000, signal: never, ...range };
  for await (const step of kafka.read(all)) steps.push(step);
  return steps;
}

export function testRead(bench: Bench): void {
  describeRead(bench);
  describeCommit(bench);
}

function describeRead(bench: Bench): void {
  describe("reading without a group", () => {
    test("gives the records from one offset up to another, and ends", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 2);
      await bench.fill(kafka, topic, 10, 1);
      const range = { topic, partition: 1 };
      const some = (await read(kafka, { ...range, from: 3, to: 6 })).flat();
      expect(values(some)).toEqual(["3", "4", "5"]);
      expect(some.map(({ topic: of, partition, offset }) => [of, partition, offset])).toEqual(
        [3, 4, 5].map((offset) => [topic, 1, offset]),
      );
      expect(await read(kafka, { ...range, from: 4, to: 4 })).toEqual([]);
      // Partition 0 has no records, so there is nothing to wait for, regardless of its end.
      expect(await read(kafka, { topic, from: 0, to: 0 })).toEqual([]);
      // The same records are returned again, because no position has moved.
      expect(values((await read(kafka, { ...range, from: 0, to: 10 })).flat())).toHaveLength(10);
    });

    test("takes steps of limited size, but always at least one record", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 1);
      const producer = kafka.producer();
      for (let number = 0; number < 4; number += 1) {
        await producer.send([record(topic, `${number}`.repeat(1_000), 0)]);
      }
      const steps = await read(kafka, { topic, from: 0, to: 4, maxBytes: 100 });
      expect(steps.map((step) => step.length)).toEqual([1, 1, 1, 1]);
      const larger = await read(kafka, { topic, from: 0, to: 4, maxBytes: 1_000_000 });
      expect(larger.flat()).toEqual(steps.flat());
    });

    test("stops when the reader does, and when the signal aborts", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 1);
      await bench.fill(kafka, topic, 3);
      const range = { topic, partition: 0, from: 0, to: 3, maxBytes: 1_000_000, signal: never };
      for await (const [first] of kafka.read(range)) {
        expect(first?.offset).toBe(0);
        break;
      }
      expect(await read(kafka, { ...range, signal: AbortSignal.abort() })).toEqual([]);
    });

    test("follows: what is there, and what is written later, until the signal aborts", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 1);
      await bench.fill(kafka, topic, 3);
      const ending = new AbortController();
      let responses = 0;
      const onResponse = () => {
        responses += 1;
      };
      const place = { topic, partition: 0, maxBytes: 1_000_000, onResponse };
      const found: (string | undefined)[] = [];
      for await (const records of kafka.follow({ ...place, from: 1, signal: ending.signal })) {
        found.push(...values(records));
        if (found.length === 2) await bench.fill(kafka, topic, 1);
        if (found.length === 3) ending.abort();
      }
      expect(found).toEqual(["1", "2", "0"]);
      expect(responses).toBeGreaterThan(1);
    });

    test("throws for a topic that there is not", async () => {
      const kafka = bench.connect();
      const topic = bench.name();
      await expect(read(kafka, { topic, from: 0, to: 1 })).rejects.toThrow(topic);
    });

    test("finds the offsets of a time", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 2);
      await bench.fill(kafka, topic, 2, 1);
      const [, second] = (await read(kafka, { topic, partition: 1, from: 0, to: 2 })).flat();
      const atMs = second?.timestampMs ?? 0;
      expect(await kafka.admin.offsetsAt(topic, 0)).toEqual([
        { partition: 0, offset: 0 },
        { partition: 1, offset: 0 },
      ]);
      const [, at] = await kafka.admin.offsetsAt(topic, atMs);
      expect(at?.offset).toBeLessThanOrEqual(1);
      expect(await kafka.admin.offsetsAt(topic, atMs + 1)).toContainEqual({
        partition: 1,
        offset: 2,
      });
    });
  });
}

function describeCommit(bench: Bench): void {
  describe("committing from outside a group", () => {
    test("stores offsets and metadata, and a consumer goes on from there", async () => {
      const kafka = bench.connect();
      const topic = await bench.topic(kafka, 2);
      await bench.fill(kafka, topic, 5, 1);
      const groupId = bench.name();
      const offsets = [
        { partition: 0, offset: 0, metadata: '{"note":"ä"}' },
        { partition: 1, offset: 3, metadata: "" },
      ];
      await kafka.admin.commit(groupId, topic, offsets);
      expect(await kafka.admin.committed(groupId, topic)).toEqual(offsets);
      await kafka.admin.commit(groupId, topic, [{ partition: 0, offset: 0, metadata: "" }]);
      expect(await kafka.admin.committed(groupId, topic)).toContainEqual({
        partition: 0,
        offset: 0,
        metadata: "",
      });

      const taker = new Taker({ finishesAtOnce: true });
      const consumer = bench.consume(kafka, taker, { groupId, topics: [topic] });
      await taker.untilTaken(2);
      expect(values(taker.taken)).toEqual(["3", "4"]);
      // Only the members may commit now.
      await expect(kafka.admin.commit(groupId, topic, offsets)).rejects.toThrow();
      await consumer.stop();
    });
  });
}
