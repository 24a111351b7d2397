// When fetched records are passed on, and which partitions are fetched meanwhile.

import { expect, test, vi } from "vitest";
import { BackPressure } from "../../../../src/kafka/consume/back-pressure.ts";
import { ByteBudget } from "../../../../src/kafka/consume/byte-budget.ts";
import { OwnedPartition } from "../../../../src/kafka/consume/owned-partition.ts";
import type { Member } from "../../../../src/kafka/membership.ts";
import { inEachTest } from "../../../support/clock/stepped-timers.ts";
import { fetchedBatch } from "../../../support/kafka-client/fetched-batch.ts";

inEachTest();

interface Given {
  readonly whenFull?: "hold" | "pause";
  /** From this offset on, records of the first partition wait. */
  readonly waitsFrom?: number;
  /** True if records of the first partition's topic may overtake others. */
  readonly passes?: boolean;
  readonly recordsMax?: number;
  readonly budgetBytes?: number;
}

/** Creates two partitions, each with up to 20 records of 74 bytes. */
function world({
  whenFull = "hold",
  waitsFrom = Number.POSITIVE_INFINITY,
  passes = false,
  recordsMax = 100,
  budgetBytes = 1_500,
}: Given = {}) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let mayCome = false;
  const taken: string[] = [];
  const paused: string[] = [];
  const backPressure = new BackPressure(whenFull);
  const budget = new ByteBudget(budgetBytes, null);
  const owned = [0, 1].map((partition) => {
    const made = new OwnedPartition({
      topic: "t",
      partition,
      recordsMax,
      passes: passes && partition === 0,
      budget,
      owner: {
        finished: () => undefined,
        held: () => undefined,
        admits: () => backPressure.admits(),
        isOurs: () => Promise.resolve(true),
      },
      onAssigned: () => ({
        admit: (record) =>
          partition === 0 && record.offset >= waitsFrom && !mayCome ? promise : record,
        take: (records) => {
          taken.push(...records.map(({ offset }) => `${partition}/${offset}`));
        },
        drain: () => Promise.resolve(),
      }),
    });
    made.committedAt({ topic: "t", partition, topicId: "id", offset: 0, metadata: "" });
    return made;
  });
  const member = {
    pause: (topic: string, partition: number) => void paused.push(`${topic}/${partition}`),
    resume: (topic: string, partition: number) => {
      paused.splice(paused.indexOf(`${topic}/${partition}`), 1);
    },
  } as unknown as Member;
  backPressure.own(member, owned);
  const offer = (partition: number, from = 0) => {
    const offsets = Array.from({ length: 20 }, (_, at) => from + at);
    const batch = fetchedBatch(offsets, { from, end: from + 20, last: from + 19 });
    owned[partition]?.offer(batch, null);
    backPressure.handOver();
  };
  const finish = async (partition: number, ...offsets: readonly number[]) => {
    for (const offset of offsets) {
      owned[partition]?.finish(offset);
      backPressure.finished();
      await vi.advanceTimersByTimeAsync(1);
    }
  };
  const admit = async () => {
    mayCome = true;
    resolve();
    await vi.advanceTimersByTimeAsync(1);
  };
  return { taken, paused, budget, offer, finish, admit };
}

test("records are handed over when an eighth of what is allowed is free", async () => {
  const { taken, offer, finish } = world({ recordsMax: 16, budgetBytes: 1_000_000 });
  offer(0);
  expect(taken).toHaveLength(16);
  await finish(0, 3);
  expect(taken).toHaveLength(16);
  await finish(0, 5);
  expect(taken).toHaveLength(18);
  await finish(0, 0, 1);
  expect(taken).toEqual([...Array(20).keys()].map((offset) => `0/${offset}`));
});

test("a full partition is not fetched until all of it is handed over, and the other one is", async () => {
  const { paused, offer, finish } = world({ recordsMax: 16, budgetBytes: 1_000_000 });
  offer(0);
  expect(paused).toEqual(["t/0"]);
  await finish(0, 0, 1, 2);
  expect(paused).toEqual(["t/0"]);
  await finish(0, 3, 4);
  expect(paused).toEqual([]);
});

test.each([
  ["with pause", { whenFull: "pause" }],
  ["of a passing topic", { passes: true }],
] as const)(
  "a partition %s is fetched again when half of its limit is free, too",
  async (_, given) => {
    const { paused, offer, finish } = world({ recordsMax: 16, budgetBytes: 1_000_000, ...given });
    offer(0);
    await finish(0, 0, 1, 2, 3, 4);
    expect(paused).toEqual(["t/0"]);
    await finish(0, 5, 6, 7, 8, 9, 10, 11);
    expect(paused).toEqual([]);
  },
);

test("a partition whose record waits takes no room, and the other one continues", () => {
  const { taken, paused, budget, offer } = world({ waitsFrom: 0 });
  offer(0);
  expect({ taken, paused }).toEqual({ taken: [], paused: ["t/0"] });
  expect(budget.inFlight).toBe(0);
  offer(1);
  expect({ count: taken.length, paused }).toEqual({ count: 20, paused: ["t/0"] });
});

test("when it may continue it does, and is fetched again when all of it is handed over", async () => {
  const { taken, paused, offer, finish, admit } = world({ waitsFrom: 0 });
  offer(0);
  offer(1);
  // There is room for 20 records of 74 bytes, and the other partition uses all of it.
  await admit();
  expect({ count: taken.length, paused }).toEqual({ count: 20, paused: ["t/0"] });
  await finish(1, ...Array(20).keys());
  expect({ count: taken.length, paused }).toEqual({ count: 40, paused: [] });
});

test("what is given back goes to the partition that has less, although the other one comes first", async () => {
  const { taken, offer, finish } = world();
  offer(0);
  offer(1);
  offer(0, 20);
  await finish(0, 0, 1, 2);
  expect(taken.slice(20)).toEqual(["1/0", "1/1", "1/2"]);
});
