// A batch is damaged during its transfer: the stage halts at the batch, others continue, and the command skips exactly
// this batch.

import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/base/runtime/clock.ts";
import { type CorruptBatch, corruptBatchOf } from "../../src/domain/corrupt-batch.ts";
import type { Kafka, ReadRange } from "../../src/kafka/port.ts";
import { skipCorrupt } from "../../src/program/cli/skip-corrupt-batch/skip-corrupt-batch.ts";
import { KeptConsumer } from "../../src/router/stage/keep-consuming.ts";
import { type PrivateKafka, startKafka } from "../../tools/kafka/start.ts";
import { record, values } from "../support/contract/bench.ts";
import { Taker } from "../support/contract/taker.ts";
import { type DamagingFront, damagingFront } from "../support/servers/damaging-front.ts";
import { fakeShell } from "../support/worlds/fake-shell.ts";
import { testKafka } from "../support/worlds/test-kafka.ts";

let front: DamagingFront;
let broker: PrivateKafka;
let kafka: Kafka;

beforeAll(async () => {
  front = await damagingFront("intact", "broken");
  broker = await startKafka({ private: true, fronts: [front.address] });
  front.behind = broker.behind[0] ?? "";
  kafka = testKafka({ brokers: [front.address], sessionTimeoutMs: 6_000 });
});
afterAll(async () => {
  await kafka?.close();
  await broker?.stop();
  front?.[Symbol.dispose]();
});

function start(topic: string, taker: Taker, onHalted: (error: Error) => void) {
  const limits = { partitionRecordsMax: 100, maxBytes: 1_000_000, whenFull: "hold" } as const;
  const options = { groupId: topic, topics: [topic], ...limits, drainLimitMs: 1_000 };
  return new KeptConsumer(
    kafka,
    { ...options, onAssigned: taker.onAssigned, onHalted },
    systemClock,
    onHalted,
  );
}

test("a partition halts at the batch, another continues, and the command skips exactly that batch", async () => {
  const halts = "halts";
  const spec = { partitions: 2, replicationFactor: 1, config: {} };
  await kafka.admin.create([{ name: halts, ...spec }]);
  const producer = kafka.producer();
  for (const value of ["first", "intact", "last"]) await producer.send([record(halts, value, 0)]);

  const taker = new Taker({ finishesAtOnce: true });
  const halted = Promise.withResolvers<Error>();
  const consumer = start(halts, taker, halted.resolve);
  const { message } = await halted.promise;
  expect(message).toContain("topic halts, partition 0, offset 1 is corrupt");
  expect(message).toContain("switchyard skip-corrupt-batch halts 0 1");
  expect(consumer.vitals().halts.map(corruptBatchOf)).toMatchObject([
    { topic: halts, partition: 0, offset: 1, behind: 2 },
  ]);
  expect(consumer.healthProblem()).toBeNull();
  await producer.send([record(halts, "other", 1)]);
  await taker.untilTaken(2);

  // The batch before the damaged one was processed and committed, so the group's offset is at the damaged batch.
  await expect
    .poll(() => kafka.admin.committed(halts, halts))
    .toMatchObject([{ offset: 1 }, { offset: 1 }]);
  const { signal } = new AbortController();
  const at = { topic: halts, partition: 0, group: halts, dryRun: false, signal };
  const refused = fakeShell();
  expect(await skipCorrupt(kafka, { ...at, offset: 2 }, refused)).toBe(1);
  expect(refused.errors()).toContain("the corrupt batch there begins at 1, not at 2");
  const dry = fakeShell();
  expect(await skipCorrupt(kafka, { ...at, offset: 1, dryRun: true, json: true }, dry)).toBe(0);
  expect(JSON.parse(dry.output())).toMatchObject({
    ...{ outcome: "would-skip", error: null, dryRun: true, groupOffset: 1, firstOffset: 1 },
    recordsLost: expect.any(Number),
  });
  expect(await kafka.admin.committed(halts, halts)).toMatchObject([{ offset: 1 }, { offset: 1 }]);

  const shell = fakeShell();
  expect(await skipCorrupt(kafka, { ...at, offset: 1 }, shell)).toBe(0);
  expect(shell.output()).toContain("offsets 1 to 1 (its checksum should be");
  await taker.untilTaken(3);
  expect(values(taker.taken)).toEqual(["first", "other", "last"]);
  expect(consumer.vitals().halts).toEqual([]);
  await consumer.stop();
  expect(await kafka.admin.committed(halts, halts)).toMatchObject([{ offset: 3 }, { offset: 1 }]);

  const range = { topic: halts, partition: 0, from: 0, to: 3, maxBytes: 1, signal };
  const read = async (more: Partial<ReadRange>) => {
    const offsets: number[] = [];
    for await (const records of kafka.read({ ...range, ...more })) {
      offsets.push(...records.map(({ offset }) => offset));
    }
    return offsets;
  };
  await expect(read({})).rejects.toThrow("offset 1 is corrupt");
  const skipped: CorruptBatch[] = [];
  expect(await read({ onSkipped: (batch) => void skipped.push(batch) })).toEqual([0, 2]);
  expect(skipped).toMatchObject([{ topic: halts, offset: 1, behind: 2, isEndKnown: true }]);

  const whole = fakeShell();
  expect(await skipCorrupt(kafka, { ...at, offset: 1 }, whole)).toBe(1);
  expect(whole.errors()).toContain("has already passed offset 1");
});
