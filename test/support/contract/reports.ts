/** The contract of `beforeCommit`. */

import { expect, test } from "vitest";
import type { Processed } from "../../../src/kafka/port.ts";
import type { Bench } from "./bench.ts";
import { Taker } from "./taker.ts";

export function testReports(bench: Bench): void {
  test("what was processed is reported before it is committed, and each record once", async () => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 6);
    const taker = new Taker();
    const reports: (readonly [Processed[], boolean])[] = [];
    const mayCommit = Promise.withResolvers<void>();
    const consumer = bench.consume(kafka, taker, {
      groupId: topic,
      topics: [topic],
      beforeCommit: (processed, isLast) => {
        reports.push([[...processed], isLast]);
        return mayCommit.promise;
      },
    });
    await taker.untilTaken(6);
    const assigned = taker.tenures[0]?.assigned;
    for (const at of [0, 1, 3]) assigned?.finish(at);
    await expect.poll(() => reports.length, { timeout: 10_000 }).toBe(1);
    const place = { topic, partition: 0, topicId: assigned?.topicId() };
    const ranges = [
      [0, 2],
      [3, 4],
    ];
    expect(reports[0]).toEqual([[{ ...place, ranges, start: { offset: 0, isOurs: true } }], false]);
    assigned?.finish(2);
    expect(await kafka.admin.committed(topic, topic)).toEqual([]);
    mayCommit.resolve();
    await consumer.stop();
    expect(reports.slice(1)).toEqual([
      [[{ ...place, ranges: [[2, 3]] }], false],
      [[{ ...place, ranges: [] }], true],
    ]);
    expect(await kafka.admin.committed(topic, topic)).toMatchObject([{ offset: 4 }]);
  });
  test.each([
    ["this client", (id: string) => `sw1:3:${id}:`, true],
    ["another program", () => "", false],
  ])("a report says whether %s committed where reading starts", async (_who, metadata, isOurs) => {
    const kafka = bench.connect();
    const topic = await bench.topic(kafka, 1);
    await bench.fill(kafka, topic, 6);
    const id = (await kafka.admin.topicIds([topic])).get(topic) ?? "";
    await kafka.admin.commit(topic, topic, [{ partition: 0, offset: 3, metadata: metadata(id) }]);
    const starts: Processed["start"][] = [];
    const taker = new Taker({ finishesAtOnce: true });
    const consumer = bench.consume(kafka, taker, {
      groupId: topic,
      topics: [topic],
      beforeCommit: async (processed) => {
        starts.push(...processed.map(({ start }) => start));
      },
    });
    await taker.untilTaken(3);
    await consumer.stop();
    expect(starts[0]).toEqual({ offset: 3, isOurs });
  });
}
