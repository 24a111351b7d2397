// A consumer that is started again, and what is counted of those before it.

import { expect, test } from "vitest";

import { keepConsuming } from "../../src/kafka/keep-consuming.ts";
import type { ConsumeOptions, Consumer, Kafka } from "../../src/kafka/port.ts";
import { ManualClock } from "../support/manual-clock.ts";

const OPTIONS = {
  ...{ groupId: "g", topics: ["t"], partitionRecordsMax: 1, bytesMax: 1, drainLimitMs: 1 },
  whenFull: "hold" as const,
  onAssigned: () => ({ take: () => undefined, drain: () => Promise.resolve() }),
};

/** Consumers that count what a test says, and crash when it says so. */
function fakeKafka() {
  const started: { readonly options: ConsumeOptions; counts: [number, number] }[] = [];
  const consume = (options: ConsumeOptions): Consumer => {
    const own = { options, counts: [0, 0] as [number, number] };
    started.push(own);
    return {
      joined: Promise.resolve(),
      stop: () => Promise.resolve(),
      progress: () => [],
      rebalances: () => own.counts[0],
      offsetResets: () => own.counts[1],
    };
  };
  return { kafka: { consume } as unknown as Kafka, started };
}

test("what is counted goes on over crashes", async () => {
  const { kafka, started } = fakeKafka();
  const clock = new ManualClock();
  const restarts: number[] = [];
  const kept = keepConsuming(kafka, OPTIONS, clock, (_error, waitMs) => restarts.push(waitMs));
  const [first] = started;
  if (first === undefined) throw new Error("nothing was started");
  first.counts = [3, 1];
  first.options.onCrash(new Error("gone"));
  // While there is none, nothing is forgotten.
  expect([kept.rebalances(), kept.offsetResets(), kept.trouble()]).toEqual([3, 1, "gone"]);
  await clock.advance(1_000);
  expect(restarts).toEqual([1_000]);
  expect(started).toHaveLength(2);
  const second = started[1];
  if (second !== undefined) second.counts = [2, 4];
  expect([kept.rebalances(), kept.offsetResets(), kept.trouble()]).toEqual([5, 5, null]);
  await kept.stop();
});
