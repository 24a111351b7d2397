// A replay as it is stored in Kafka, with its progress.

import fc from "fast-check";
import { expect, test } from "vitest";

import { EVERY_DEAD_LETTER } from "../../../../src/operator/replay/dead-letter-record.ts";
import { ReplayProgress } from "../../../../src/operator/replay/replay-progress.ts";
import {
  decodeReplay,
  encodeReplay,
  fits,
  type PartitionReplay,
  type StoredReplay,
} from "../../../../src/operator/replay/replay-store.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

const PLAN = { filter: EVERY_DEAD_LETTER, limit: null, perSecond: null };
const count = fc.nat();
const at: fc.Arbitrary<PartitionReplay> = fc.record({
  partition: fc.nat(1_000),
  position: count,
  to: count,
  counts: fc.record({ written: count, refused: count, "skipped:disabled": count }),
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

function replayOf(given: Partial<StoredReplay<"dead-letters">> = {}) {
  const partition = { partition: 0, position: 1, to: 2, counts: {} };
  return { of: "dead-letters", plan: PLAN, partitions: [partition], ...given } as const;
}

test("what is kept of a replay is what was stored", () => {
  fc.assert(
    fc.property(plan, fc.array(at, { minLength: 1, maxLength: 5 }), (given, partitions) => {
      const stored = replayOf({ plan: given, partitions });
      expect(decodeReplay("dead-letters", encodeReplay(stored))).toEqual(stored);
    }),
    { numRuns: costlyInputs(4) },
  );
});

test.each(["", "sw1:1:id:BB", "null", "[]", '{"v":2,"of":"dead-letters"}', '{"v":1}', "{"])(
  "the metadata %j is of no replay",
  (metadata) => {
    const commits = [...encodeReplay(replayOf()), { partition: 1, offset: 0, metadata }];
    expect(decodeReplay("dead-letters", commits)).toBe(null);
  },
);

test("no commits are no replay, and those of calls are none of dead letters", () => {
  expect(decodeReplay("calls", [])).toBe(null);
  expect(decodeReplay("calls", encodeReplay(replayOf()))).toBe(null);
});

test("a plan fits as long as brokers store it", () => {
  const withIds = (ids: number) => {
    const messageIds = Array.from({ length: ids }, () => "m".repeat(100));
    return { ...PLAN, filter: { ...EVERY_DEAD_LETTER, messageIds } };
  };
  expect(fits("dead-letters", withIds(20))).toBe(true);
  expect(fits("dead-letters", withIds(40))).toBe(false);
  const most = Array.from({ length: 40 }, (_, ids) => ids).findLast((ids) =>
    fits("dead-letters", withIds(ids)),
  );
  const keys = ["disabled", "not-connected", "named-false", "all-false"].map((key) => [
    `skipped:${key}`,
    2 ** 52,
  ]);
  const counts = { written: 2 ** 52, refused: 2 ** 52, ...Object.fromEntries(keys) };
  const longest = { partition: 0, position: 1, to: 2 ** 52, counts };
  const [commit] = encodeReplay(replayOf({ plan: withIds(most ?? 0), partitions: [longest] }));
  expect(commit?.metadata.length).toBeLessThanOrEqual(4_096);
});

test("progress: counts, positions, and only what has moved is committed again", () => {
  const partitions = [0, 1].map((partition) => {
    return { partition, position: 1, to: 9, counts: partition === 0 ? { written: 3 } : {} };
  });
  const progress = new ReplayProgress(replayOf({ plan: { ...PLAN, limit: 5 }, partitions }));
  // At the start, the whole plan is written.
  expect(progress.commits().map((commit) => commit.offset)).toEqual([1, 1]);
  progress.committed();
  expect(progress.commits()).toEqual([]);

  progress.moveOn({ partition: 1, offset: 4 }, null);
  progress.moveOn({ partition: 1, offset: 5 }, "written");
  expect(progress.counts).toEqual({ written: 4 });
  expect(progress.own).toEqual({ written: 1 });
  expect(progress.isFull).toBe(false);
  progress.recount(1, "refused");
  progress.moveOn({ partition: 1, offset: 6 }, "written");
  expect(progress.counts).toEqual({ written: 4, refused: 1 });
  expect(progress.isFull).toBe(true);
  const stored = decodeReplay("dead-letters", progress.commits());
  expect(stored?.partitions).toEqual([
    { partition: 1, position: 7, to: 9, counts: { written: 1, refused: 1 } },
  ]);
});
