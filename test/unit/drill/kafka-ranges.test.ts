import { expect, test } from "vitest";

import { lagRange, samplesOf, waitingRange, waitingRecords } from "../../drill/kafka-ranges.ts";
import type { KafkaSample, SeenRecord } from "../../drill/kafka-truth.ts";

const TOPIC = "t";
const GROUP = "g";

function sample(atMs: number, ends: readonly number[], commits: readonly number[]): KafkaSample {
  return {
    fromMs: atMs,
    toMs: atMs + 10,
    ends: new Map([[TOPIC, ends]]),
    committed: new Map([[GROUP, new Map([[TOPIC, commits]])]]),
  };
}

function record(partition: number, offset: number): SeenRecord {
  return { topic: TOPIC, partition, offset, writtenAtMs: 0, seenAtMs: 0, headers: new Map() };
}

test.each([
  ["all of a time, and one more on both sides", { from: 150, to: 250 }, [100, 200, 300]],
  ["what is there, where looks are missing", { from: 0, to: 1_000 }, [100, 200, 300]],
  ["the last one before, for a moment between looks", { from: 220, to: 230 }, [200, 300]],
])("looks of a time: %s", (_name, range, found) => {
  const samples = [100, 200, 300].map((atMs) => sample(atMs, [0], [0]));
  expect(samplesOf(samples, range).map(({ fromMs }) => fromMs)).toEqual(found);
});

test("a lag lies between the least and the most that ends and commits allow, partition by partition", () => {
  const samples = [sample(0, [10, 5], [4, 5]), sample(100, [20, 5], [12, 5])];
  const of = { ends: samples, commits: samples };
  expect(lagRange(of, GROUP, [TOPIC])).toEqual({ from: 0, to: 16 });
  const still = { ends: samples.slice(1), commits: samples.slice(1) };
  expect(lagRange(still, GROUP, [TOPIC])).toEqual({ from: 8, to: 8 });
});

test("where nothing is committed, all of it is the lag", () => {
  const samples = [sample(0, [3, 4], [])];
  expect(lagRange({ ends: samples, commits: samples }, "other", [TOPIC])).toEqual({
    from: 7,
    to: 7,
  });
});

test("the lag of a topic that is gone is not known, nor is one that was never looked at", () => {
  const samples = [sample(0, [1], [0])];
  expect(lagRange({ ends: samples, commits: samples }, GROUP, [TOPIC, "gone"])).toBeNull();
  expect(lagRange({ ends: [], commits: [] }, GROUP, [TOPIC])).toBeNull();
});

test("what waits was there all the time at least, and at some moment at most", () => {
  const records = [record(0, 0), record(0, 1), record(0, 2), record(1, 0)];
  const samples = [sample(0, [2, 1], [0, 0]), sample(100, [3, 1], [1, 0])];
  const place = { group: GROUP, topic: TOPIC };
  expect(waitingRange(waitingRecords(samples, records, place, () => true))).toEqual({
    from: 2,
    to: 4,
  });
  const inOne = waitingRecords(samples, records, place, ({ partition }) => partition === 1);
  expect(waitingRange(inOne)).toEqual({ from: 1, to: 1 });
  expect(waitingRange(waitingRecords([], records, place, () => true))).toBeNull();
});
