import { expect, test } from "vitest";
import { SKIP_REASONS } from "../../../../../src/base/words/reasons.ts";
import {
  hoursOf,
  reasonsOf,
  type SkippedSeries,
} from "../../../../../src/operator/console/page/skipped-hours.ts";

const HOUR = 3_600_000;

function series(over: Partial<SkippedSeries["values"]>): SkippedSeries {
  const length = Object.values(over)[0]?.length ?? 3;
  const zeros = SKIP_REASONS.map((name) => [name, Array.from({ length }, () => 0)] as const);
  const values = Object.fromEntries(zeros) as unknown as SkippedSeries["values"];
  return { fromMs: 0, stepMs: HOUR, values: { ...values, ...over } };
}

test("there is a column for each reason that occurred, and a row for each hour, the latest first", () => {
  const found = series({ filtered: [3, 0, 1], "no-consent": [0, 0, 2] });
  const reasons = reasonsOf(found) ?? [];
  expect(reasons).toEqual(["no-consent", "filtered"]);
  expect(hoursOf(found, reasons)).toEqual([
    { at: "1970-01-01T02:00:00.000Z", counts: { "no-consent": 2, filtered: 1 } },
    { at: "1970-01-01T00:00:00.000Z", counts: { "no-consent": 0, filtered: 3 } },
  ]);
});

test("nothing skipped differs from nothing measured", () => {
  expect(reasonsOf(series({ filtered: [null, 0] }))).toEqual([]);
  const nulls = SKIP_REASONS.map((name) => [name, [null, null]] as const);
  expect(reasonsOf(series(Object.fromEntries(nulls)))).toBeNull();
  expect(hoursOf(series({ filtered: [0, 0] }), [])).toEqual([]);
});
