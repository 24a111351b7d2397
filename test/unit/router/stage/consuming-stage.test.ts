// A corrupt batch halts its partition, which is reported. Any other failure ends the program.

import { expect, test } from "vitest";
import { createMetrics } from "../../../../src/base/telemetry/instruments.ts";
import { CorruptBatchError, type OnCorruptBatch } from "../../../../src/domain/corrupt-batch.ts";
import type { ConsumeOptions, Consumer, Kafka } from "../../../../src/kafka/port.ts";
import { startConsuming } from "../../../../src/router/stage/consuming-stage.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";
import { LogLines } from "../../../support/log/log-lines.ts";

function world(onCorruptBatch?: OnCorruptBatch) {
  const started: ConsumeOptions[] = [];
  const halts: Error[] = [];
  const unreadTopics: string[] = [];
  const consume = (options: ConsumeOptions): Consumer => {
    started.push(options);
    const counts = { progress: () => [], rebalances: () => 0, offsetResets: () => 0 };
    const vitals = {
      isAssigned: true,
      ...{ fetchedAtMs: 0, heardAtMs: 0 },
      ...{ commitFailures: 0, foreignMembers: [] as string[], unreadTopics, halts },
    };
    return {
      joined: Promise.resolve(),
      stop: () => Promise.resolve(),
      vitals: () => vitals,
      ...counts,
    };
  };
  const clock = new ManualClock();
  const lines = new LogLines();
  const metrics = createMetrics();
  const fatal: Error[] = [];
  const stage = startConsuming(
    {
      kafka: { consume } as unknown as Kafka,
      producer: { send: async () => [] } as never,
      clock,
      log: lines.log,
      metrics,
      onFatal: (error) => fatal.push(error),
    },
    {
      name: "route",
      deadLetterTopic: "dead-letters",
      onCorruptBatch,
      consume: () => [
        {
          groupId: "g",
          topics: ["calls"],
          partitionRecordsMax: 1,
          maxBytes: 1,
          whenFull: "hold",
          drainLimitMs: 1,
          onAssigned: () => ({ take: () => undefined, drain: () => Promise.resolve() }),
        },
      ],
      healthProblems: () => [],
    },
  );
  return { stage, started, halts, unreadTopics, clock, lines, metrics, fatal };
}

const CORRUPT = new CorruptBatchError("its length is 0", 42, {
  ...{ topic: "calls", partition: 3, offset: 42, behind: 43, isEndKnown: true },
  corruption: "its length is 0",
});

test("a corrupt batch halts its partition: it is named as long as the consumer reports it", async () => {
  const { stage, started, halts, lines, metrics, fatal } = world();
  halts.push(CORRUPT);
  started[0]?.onHalted?.(CORRUPT, 2_000);
  expect(stage.healthProblems()).toEqual([
    expect.stringContaining("halted: The record batch at topic calls, partition 3"),
  ]);
  expect(lines.lines).toMatchObject([
    {
      msg: "stage.halted",
      fields: { ...{ stage: "route", destination: "", topic: "calls", partition: 3, offset: 42 } },
    },
  ]);
  const halted = 'switchyard_consumer_halted{stage="route",destination=""}';
  const at =
    'switchyard_consumer_halted_offset{stage="route",destination="",topic="calls",partition="3"}';
  expect(await metrics.text()).toContain(`${halted} 1`);
  expect(await metrics.text()).toContain(`${at} 42`);
  halts.pop();
  expect(await metrics.text()).toContain(`${halted} 0`);
  expect(await metrics.text()).not.toContain("switchyard_consumer_halted_offset{");
  expect(stage.healthProblems()).toEqual([]);
  expect([started.length, fatal]).toEqual([1, []]);
  await stage[Symbol.asyncDispose]();
});

test("topics that nobody in the group can get are named", async () => {
  const { stage, unreadTopics } = world();
  unreadTopics.push("raw-b");
  expect(stage.healthProblems()).toEqual([expect.stringContaining("nobody reads raw-b: ")]);
  await stage[Symbol.asyncDispose]();
});

test("configured to skip, it passes a corrupt batch, and says which", async () => {
  const { stage, started, lines, metrics } = world("skip");
  if (CORRUPT.at !== null) started[0]?.onSkipped?.({ ...CORRUPT.at, behind: 50 });
  expect(lines.lines).toMatchObject([
    {
      ...{ level: "error", msg: "stage.corrupt-batch-skipped" },
      fields: {
        ...{ stage: "route", topic: "calls", partition: 3, firstOffset: 42, lastOffset: 49 },
        corruption: "its length is 0",
      },
    },
  ]);
  expect(await metrics.text()).toContain(
    'switchyard_corrupt_batches_skipped_total{stage="route",topic="calls"} 1',
  );
  expect(stage.healthProblems()).toEqual([]);
  await stage[Symbol.asyncDispose]();
});

test.each([undefined, "stop" as const])(
  "configured with %s, it passes none",
  async (onCorruptBatch) => {
    const { stage, started } = world(onCorruptBatch);
    expect(started[0]).not.toHaveProperty("onSkipped");
    await stage[Symbol.asyncDispose]();
  },
);

test("any other failure ends the program, once", async () => {
  const { stage, started, clock, lines, fatal } = world();
  const error = new Error("a right is missing");
  started[0]?.onCrash(error);
  started[0]?.onCrash(error);
  await clock.advance(60_000);
  expect(fatal).toEqual([error]);
  expect(lines.lines).toMatchObject([
    { level: "error", msg: "consumer.crashed", fields: { stage: "route", error: error.message } },
  ]);
  expect(started).toHaveLength(1);
  await stage[Symbol.asyncDispose]();
});
