// A damaged batch halts the stage that reads it, loudly; anything else ends the program.

import { expect, test } from "vitest";

import type { ConsumeOptions, Consumer, Kafka } from "../../../src/kafka/port.ts";
import { DamagedBatchError } from "../../../src/kafka/wire/damaged-batch.ts";
import { startConsuming } from "../../../src/stage/consuming-stage.ts";
import { createMetrics } from "../../../src/telemetry/instruments.ts";
import { ManualClock } from "../../support/clock/manual-clock.ts";
import { LogLines } from "../../support/log/log-lines.ts";

function world() {
  const started: ConsumeOptions[] = [];
  const consume = (options: ConsumeOptions): Consumer => {
    started.push(options);
    const counts = { progress: () => [], rebalances: () => 0, offsetResets: () => 0 };
    return { joined: Promise.resolve(), stop: () => Promise.resolve(), ...counts };
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
      troubles: () => [],
    },
  );
  return { stage, started, clock, lines, metrics, fatal };
}

const DAMAGED = new DamagedBatchError("its length is 0", 42, {
  ...{ topic: "calls", partition: 3, offset: 42, behind: 43 },
  damage: "its length is 0",
});

test("a damaged batch halts the stage: it is named, and tried again", async () => {
  const { stage, started, clock, lines, metrics, fatal } = world();
  started[0]?.onCrash(DAMAGED);
  expect(stage.troubles()).toEqual([
    expect.stringContaining("halted: The record batch at topic calls, partition 3, offset 42"),
  ]);
  expect(lines.seen).toEqual(["stage.halted"]);
  expect(await metrics.text()).toContain(
    'switchyard_consumer_restarts_total{stage="route",destination=""} 1',
  );
  const halted = 'switchyard_consumer_halted{stage="route",destination=""}';
  expect(await metrics.text()).toContain(`${halted} 1`);
  await clock.advance(1_000);
  expect(started).toHaveLength(2);
  expect(stage.troubles()).toEqual([]);
  expect(await metrics.text()).toContain(`${halted} 1`);
  await clock.advance(15_000);
  expect(await metrics.text()).toContain(`${halted} 0`);
  started[1]?.onCrash(new Error("crashed", { cause: DAMAGED }));
  await clock.advance(1_999);
  expect(started).toHaveLength(2);
  await clock.advance(1);
  expect(started).toHaveLength(3);
  expect(fatal).toEqual([]);
  await stage[Symbol.asyncDispose]();
});

test("any other failure ends the program, once", async () => {
  const { stage, started, clock, fatal } = world();
  const error = new Error("a right is missing");
  started[0]?.onCrash(error);
  started[0]?.onCrash(error);
  await clock.advance(60_000);
  expect(fatal).toEqual([error]);
  expect(started).toHaveLength(1);
  await stage[Symbol.asyncDispose]();
});
