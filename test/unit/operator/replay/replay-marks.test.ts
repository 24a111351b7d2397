// A test for each row of the file's table, and then consecutive replays with crashes.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";

import { deadLetterRules } from "../../../../src/operator/replay/dead-letter-replay.ts";
import { deadLetterRanges, readMarks } from "../../../../src/operator/replay/read-dead-letters.ts";
import { countReplay } from "../../../../src/operator/replay/replay.ts";
import { marksOf, ReplayMarks } from "../../../../src/operator/replay/replay-marks.ts";
import { rangesOf } from "../../../../src/operator/replay/replay-store.ts";
import { Tally } from "../../../../src/operator/replay/replayed-record.ts";
import { openReplay } from "../../../../src/operator/replay/run-replay.ts";
import { ReplayWorld, resumedReplay, topics } from "../../../support/worlds/replay-world.ts";

const BY = { replay: "r", by: "p", atMs: 1_800_000_000_000 };
const place = (partition: number, offset: number, timestampMs = offset) => ({
  ...{ partition, offset, timestampMs },
});

/** The memory in use, in bytes, without garbage. */
function memory(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const ALL = [0, 1, 2].map((partition) => ({ partition, from: 0, to: 100 }));

function taken(deadLetters: readonly ReturnType<typeof place>[]): ReplayMarks {
  const marks = new ReplayMarks(ALL);
  for (const record of marksOf("t", deadLetters, BY)) marks.take(record);
  return marks;
}

test("a dead letter with its place and its time is replayed, every other one waits", () => {
  const marks = taken([place(0, 5), place(0, 9), place(1, 5)]);
  expect(marks.of(place(0, 5))).toEqual({ replay: "r", atMs: BY.atMs });
  expect(marks.of(place(1, 5))).not.toBeNull();
  expect(marks.of(place(0, 6))).toBeNull();
  expect(marks.of(place(2, 5))).toBeNull();
  // The topic was recreated.
  expect(marks.of(place(0, 5, 6))).toBeNull();
});

test("a mark is removed when all its dead letters have left the topic", () => {
  const marks = taken([place(0, 5), place(0, 9), place(1, 5)]);
  const at = (first: number, end: number) => [
    { partition: 0, first, end },
    { partition: 1, first: 0, end: 10 },
  ];
  expect(marks.tombstones("t", at(9, 10))).toEqual([]);
  const [gone] = marks.tombstones("t", at(10, 12));
  expect(gone).toMatchObject({ topic: "t", key: Buffer.from("0/5-9/r/p"), value: null });
  // The recreated topic does not have this offset yet.
  expect(marks.tombstones("t", at(0, 5))).toHaveLength(1);
  if (gone !== undefined) marks.take({ key: gone.key, value: null });
  expect(marks.tombstones("t", at(10, 12))).toEqual([]);
});

test("marks of millions of dead letters take a few bytes for each of them in a range, and none for others", () => {
  const [count, batch] = [200_000, 500];
  const marks = new ReplayMarks([{ partition: 0, from: 0, to: count }]);
  const before = memory();
  for (const partition of [0, 1]) {
    for (let from = 0; from < count; from += batch) {
      const deadLetters = Array.from({ length: batch }, (_, at) => place(partition, from + at));
      for (const record of marksOf("t", deadLetters, BY)) marks.take(record);
    }
  }
  expect(memory() - before).toBeLessThan(24 * count);
  expect(marks.of(place(0, count - 1))).not.toBeNull();
  expect(marks.of(place(1, count - 1))).toBeNull();
});

test("records that are no marks count for nothing", () => {
  const marks = new ReplayMarks(ALL);
  const key = Buffer.from("k");
  for (const text of ["", "null", "{}", '{"v":2}', '{"v":1,"replay":"r","at":"x","partition":0}']) {
    marks.take({ key, value: Buffer.from(text) });
  }
  marks.take({ key: null, value: Buffer.from("{}") });
  expect(marks.tombstones("t", [])).toEqual([]);
});

test("what one replay has sent, the next one omits, unless it sends again", async () => {
  const world = new ReplayWorld({ partitions: 3 });
  await world.fill(700, (number) => ({ reason: number % 2 === 0 ? "rejected" : "expired" }));
  await world.finish(world.process("one").begin("replay-1", {}, { reasons: ["rejected"] }));
  expect(world.delivered()).toHaveLength(350);
  await world.finish(world.process("two").begin("replay-2"));
  expect(world.delivered()).toHaveLength(700);
  expect(new Set(world.delivered()).size).toBe(700);
  await world.finish(world.process("three").begin("replay-3", { includeReplayed: true }));
  expect(world.delivered()).toHaveLength(1_400);
});

test.each([40, 200, 333, 520])(
  "killed after %i were written, marked ones are not repeated",
  async (at) => {
    const world = new ReplayWorld({ partitions: 3 });
    await world.fill(700);
    const first = world.process("one");
    void first.begin("replay-1", { perSecond: 1_000 }).catch(() => undefined);
    await world.clock.advanceUntil(() => world.delivered().length >= at, 60_000);
    first.kafka.kill();
    await world.clock.advance(1_000);
    const { kafka } = world.process("reader");
    const signal = new AbortController().signal;
    const ranges = await world.finish(deadLetterRanges(kafka, topics.deadLetters, null));
    const marks = await world.finish(readMarks({ kafka, topics, signal }, ranges));
    const deadLetters = world.cluster.records(topics.deadLetters);
    const marked = deadLetters.filter((deadLetter) => marks.of(deadLetter) !== null).length;
    const before = world.delivered().length;
    await world.finish(world.process("two").resume("replay-1"));
    expect(new Set(world.delivered()).size).toBe(700);
    expect(world.delivered()).toHaveLength(700 + before - marked);
    expect(world.progress.at(-1)).toEqual({ replayed: 700, refused: 0 });
  },
);

test("killed and resumed, a limit counts what its own marks show, and so does the count", async () => {
  const world = new ReplayWorld();
  await world.fill(700);
  const first = world.process("one");
  void first.begin("replay-1", { limit: 600 }).catch(() => undefined);
  // The first 500 are marked, but their position is not committed.
  const hasMarks = () => world.cluster.records(topics.deadLetterReplays).length > 0;
  await world.clock.advanceUntil(hasMarks, 60_000);
  first.kafka.kill();
  await world.clock.advance(1_000);

  const { kafka } = world.process("reader");
  const { destinations, clock } = world;
  const source = { kafka, topics, signal: new AbortController().signal };
  const [cluster, chosen] = [{ ...source, hasLedger: true, clock }, resumedReplay("replay-1")];
  const opening = openReplay(cluster, "dead-letters", chosen, { dryRun: true });
  const replay = await world.finish(opening);
  if (replay === null) throw new Error("no such replay");
  expect(replay.stored.partitions.map(({ counts }) => counts)).toEqual([{}, {}]);
  const marks = await world.finish(readMarks(source, rangesOf(replay.stored)));
  const tally = new Tally({ topics, destinations });
  const { decide } = deadLetterRules(replay, { topics, destinations, marks, tally });
  const ignore = () => undefined;
  const ignored = { onProgress: ignore, onWaiting: ignore, onRefused: ignore };
  expect(await world.finish(countReplay(replay, decide, ignored))).toBe(true);
  expect(tally).toMatchObject({ total: 100, own: 500 });

  await world.finish(world.process("two").resume("replay-1"));
  expect(world.delivered()).toHaveLength(600);
  expect(new Set(world.delivered()).size).toBe(600);
});
