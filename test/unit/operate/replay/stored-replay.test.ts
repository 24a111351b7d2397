// A replay as Kafka keeps it, and how far it is.

import fc from "fast-check";
import { expect, test } from "vitest";

import { EVERY_DEAD_LETTER } from "../../../../src/operate/replay/filter.ts";
import { ReplayProgress } from "../../../../src/operate/replay/progress.ts";
import {
  decodeReplay,
  encodeReplay,
  fits,
  METADATA_MAX_BYTES,
  type PartitionReplay,
} from "../../../../src/operate/replay/stored-replay.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

const PLAN = { filter: EVERY_DEAD_LETTER, limit: null, perSecond: null };
const count = fc.nat();
const at: fc.Arbitrary<PartitionReplay> = fc.record({
  partition: fc.nat(1_000),
  position: count,
  to: count,
  replayed: count,
  refused: count,
});
const plan = fc.record({
  filter: fc.record({
    destinations: fc.array(fc.string(), { maxLength: 3 }),
    reasons: fc.constant(["rejected" as const]),
    messageIds: fc.array(fc.string({ unit: "grapheme" }), { maxLength: 3 }),
    sinceMs: fc.option(count),
    untilMs: fc.option(count),
  }),
  limit: fc.option(count),
  perSecond: fc.option(count),
});

test("what is kept of a replay is what was stored", () => {
  fc.assert(
    fc.property(plan, fc.array(at, { minLength: 1, maxLength: 5 }), (given, partitions) => {
      const commits = partitions.map((partition) => encodeReplay(given, partition));
      expect(decodeReplay(commits)).toEqual({ plan: given, partitions });
    }),
    { numRuns: costlyInputs(4) },
  );
});

const partition = { partition: 0, position: 1, to: 2, replayed: 0, refused: 0 };

test.each(["", "sw1:1:id:BB", "null", "[]", '{"v":2}', '{"v":1}', "{"])(
  "the metadata %j is of no replay",
  (metadata) => {
    const sound = encodeReplay(PLAN, partition);
    expect(decodeReplay([sound, { partition: 1, offset: 0, metadata }])).toBe(null);
  },
);

test("no commits are no replay", () => {
  expect(decodeReplay([])).toBe(null);
});

test("a plan fits as long as brokers store it", () => {
  const withIds = (ids: number) => ({
    ...PLAN,
    filter: {
      ...EVERY_DEAD_LETTER,
      messageIds: Array.from({ length: ids }, () => "m".repeat(100)),
    },
  });
  expect(fits(withIds(20))).toBe(true);
  expect(fits(withIds(40))).toBe(false);
  const longest = { ...partition, to: 2 ** 52, replayed: 2 ** 52, refused: 2 ** 52 };
  const { metadata } = encodeReplay(withIds(20), longest);
  expect(metadata.length).toBeLessThanOrEqual(METADATA_MAX_BYTES);
});

test("progress: counts, positions, and only what has moved is committed again", () => {
  const partitions = [0, 1].map((number) => ({ ...partition, partition: number, to: 9 }));
  const progress = new ReplayProgress({ plan: { ...PLAN, limit: 2 }, partitions });
  // At the start the whole plan is written down.
  expect(progress.commits().map((commit) => commit.offset)).toEqual([1, 1]);
  progress.committed();
  expect(progress.commits()).toEqual([]);

  progress.moveOn({ partition: 1, offset: 4 }, null);
  progress.moveOn({ partition: 1, offset: 5 }, "replayed");
  expect(progress.totals).toEqual({ replayed: 1, refused: 0 });
  expect(progress.isFull).toBe(false);
  progress.takeBack(1);
  progress.moveOn({ partition: 1, offset: 6 }, "replayed");
  expect(progress.totals).toEqual({ replayed: 1, refused: 1 });
  expect(progress.isFull).toBe(true);
  const stored = decodeReplay(progress.commits());
  expect(stored?.partitions).toEqual([
    { partition: 1, position: 7, to: 9, replayed: 1, refused: 1 },
  ]);
});
