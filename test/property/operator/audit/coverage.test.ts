// Laws of src/operator/audit/coverage.ts, compared with a set of offsets.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { OffsetRange } from "../../../../src/kafka/port.ts";
import { Coverage } from "../../../../src/operator/audit/coverage.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

const OFFSETS_MAX = 60;
const range = fc
  .tuple(fc.nat(OFFSETS_MAX), fc.integer({ min: 1, max: 8 }))
  .map(([from, length]): OffsetRange => [from, from + length]);

function offsetsIn(ranges: readonly OffsetRange[]): number[] {
  return ranges.flatMap(([from, to]) =>
    Array.from({ length: to - from }, (_, index) => from + index),
  );
}

test("knows what was added, what was added before, and what is missing", () => {
  fc.assert(
    fc.property(fc.array(range, { maxLength: 30 }), range, (ranges, asked) => {
      const coverage = new Coverage();
      const known = new Set<number>();
      for (const each of ranges) {
        const twice = offsetsIn([each]).filter((offset) => known.has(offset));
        expect(offsetsIn(coverage.add(each))).toEqual(twice);
        for (const offset of offsetsIn([each])) known.add(offset);
      }
      const holes = coverage.holes(asked);
      expect(offsetsIn(holes)).toEqual(offsetsIn([asked]).filter((offset) => !known.has(offset)));
      // Adjacent ranges would be read with two requests.
      expect(new Set(holes.flat()).size).toBe(holes.length * 2);
      expect(coverage.first).toBe(known.size === 0 ? null : Math.min(...known));
      expect(coverage.end).toBe(Math.max(-1, ...known) + 1);
    }),
    { numRuns: costlyInputs(1_000, 50_000) },
  );
});
