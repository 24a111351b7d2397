// Several partitions are read as one, in order of time.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { IncomingRecord } from "../../../../src/domain/record.ts";
import { mergeByTime } from "../../../../src/operator/replay/read-records.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

function recordAt(partition: number, offset: number, timestampMs: number): IncomingRecord {
  const nothing = { key: null, value: null, headers: [] };
  return { topic: "t", partition, offset, timestampMs, ...nothing };
}

/** Yields the records in steps of the given length. */
async function* steps(records: readonly IncomingRecord[], size: number, ended: () => void) {
  try {
    for (let at = 0; at < records.length; at += size) yield records.slice(at, at + size);
  } finally {
    ended();
  }
}

const times = fc.array(fc.nat(50), { maxLength: 20 });

test("all records once, in each partition's order; by time where partitions' times rise", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(times, { maxLength: 5 }),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      async (lists, size, isSorted) => {
        const partitions = lists.map((list, partition) =>
          (isSorted ? list.toSorted((a, b) => a - b) : list).map((time, offset) =>
            recordAt(partition, offset, time),
          ),
        );
        const merged: IncomingRecord[] = [];
        for await (const records of mergeByTime(
          partitions.map((list) => steps(list, size, () => undefined)),
        )) {
          merged.push(...records);
        }
        expect(merged).toHaveLength(partitions.flat().length);
        for (const [partition, records] of partitions.entries()) {
          expect(merged.filter((record) => record.partition === partition)).toEqual(records);
        }
        if (!isSorted) return;
        const atMs = merged.map(({ timestampMs }) => timestampMs);
        expect(atMs).toEqual(atMs.toSorted((a, b) => a - b));
      },
    ),
    { numRuns: costlyInputs(4) },
  );
});

test("a reader that stops ends every partition", async () => {
  let ended = 0;
  const end = () => {
    ended += 1;
  };
  const lists = [0, 1, 2].map((partition) => steps([recordAt(partition, 0, 1)], 1, end));
  for await (const _records of mergeByTime(lists)) break;
  expect(ended).toBe(3);
});
