// Reading ahead: its pace, and failures of one partition. The rest of the table of scan.ts is in counting.test.ts.

import { expect, test } from "vitest";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import type { ReadRange } from "../../../../src/kafka/port.ts";
import { OwnedCounts } from "../../../../src/router/delay/owned-counts.ts";
import { startScan } from "../../../../src/router/delay/scan.ts";
import { Labels } from "../../../../src/router/delay/tally.ts";
import { waitingOf } from "../../../support/build/waiting-of.ts";
import { ManualClock } from "../../../support/clock/manual-clock.ts";

const END = 40;

/** @param read returns the records of a step, and the time that it takes. */
function scanning(read: (range: ReadRange) => { offsets: number[]; afterMs: number } | Error) {
  const clock = new ManualClock();
  let aheadMs = 0;
  const timeOfDay = {
    nowMs: () => clock.nowMs() + aheadMs,
    sleep: (ms: number, signal: AbortSignal) => clock.sleep(ms, signal),
  };
  const begunAtMs = clock.nowMs();
  const steps: { readonly atMs: number; readonly partition: number; readonly from: number }[] = [];
  const counts = new OwnedCounts(new Labels([]));
  const over = new Set<number>();
  for (const partition of [0, 1]) {
    const place = { delay: "10m", topic: "sw.delays.10m", partition };
    counts.begin({
      ...place,
      inFlight: () => [],
      isGone: () => false,
      isOver: () => over.has(partition),
    });
  }
  const scan = startScan({
    clock: timeOfDay,
    kafka: {
      async *read(range) {
        const { partition, from, signal } = range;
        steps.push({ atMs: clock.nowMs() - begunAtMs, partition, from });
        const response = read(range);
        if (response instanceof Error) throw response;
        await clock.sleep(response.afterMs, signal).catch(() => undefined);
        if (!signal.aborted) yield response.offsets.map((offset) => ({ offset }) as IncomingRecord);
      },
    },
    partitions: () => counts.all(),
    read: (_, { offset }) => waitingOf("crm", { offset }),
    look: () => {
      for (const { count } of counts.all()) count.look({ position: 0, end: END }, clock.nowMs());
    },
  });
  const setAhead = (ms: number) => {
    aheadMs += ms;
  };
  return {
    clock,
    setAhead,
    scan,
    steps,
    over,
    known: () => counts.all().map(({ count }) => count.isKnown),
  };
}

test("partitions take turns, and each step is followed by a rest that is as long", async () => {
  const { clock, steps, known } = scanning(({ from }) => ({
    offsets: Array.from({ length: 20 }, (_, index) => from + index),
    afterMs: 2_000,
  }));
  await clock.advance(60_000);
  expect(steps).toEqual([
    { atMs: 10_000, partition: 0, from: 0 },
    { atMs: 14_000, partition: 1, from: 0 },
    { atMs: 18_000, partition: 0, from: 20 },
    { atMs: 22_000, partition: 1, from: 20 },
  ]);
  expect(known()).toEqual([true, true]);
});

test("a partition that fails is tried again after ten seconds; the other one continues", async () => {
  const { clock, scan, steps, known } = scanning(({ partition, from }) =>
    partition === 0 ? new Error("no right") : { offsets: [from], afterMs: 0 },
  );
  await clock.advance(30_000);
  const failed = steps.filter(({ partition }) => partition === 0).map(({ atMs }) => atMs);
  expect(failed.length).toBeGreaterThan(1);
  for (const [index, atMs] of failed.slice(1).entries()) {
    expect(atMs - (failed[index] ?? 0)).toBeGreaterThanOrEqual(10_000);
  }
  expect(known()).toEqual([false, true]);
  expect(scan.healthProblems()).toEqual([
    "the count of partition 0 of sw.delays.10m is unknown: no right",
  ]);
});

test("a partition that is abandoned is read no more, and a stop ends a step in progress", async () => {
  const { clock, scan, steps, over } = scanning(({ from }) => ({
    offsets: [from],
    afterMs: 1_000,
  }));
  await clock.advance(10_500);
  over.add(1);
  await clock.advance(20_000);
  expect(steps.filter(({ partition }) => partition === 1)).toEqual([]);
  const { length } = steps;
  await scan[Symbol.asyncDispose]();
  await clock.advance(60_000);
  expect(steps).toHaveLength(length);
});

test("a clock that is set ahead during a step keeps nothing from being counted", async () => {
  const { clock, setAhead, known } = scanning(({ from }) => {
    setAhead(8 * 3_600_000);
    return { offsets: Array.from({ length: 20 }, (_, index) => from + index), afterMs: 2_000 };
  });
  await clock.advance(120_000);
  expect(known()).toEqual([true, true]);
});
