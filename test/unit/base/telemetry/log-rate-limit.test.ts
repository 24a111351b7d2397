import { expect, test } from "vitest";

import { LineLimit } from "../../../../src/base/telemetry/log-rate-limit.ts";

test("so many lines a second are written, and the next one counts those omitted", () => {
  const limit = new LineLimit(2);
  expect([limit.admit(1_000), limit.admit(1_100), limit.admit(1_200)]).toEqual([0, 0, null]);
  expect(limit.admit(1_999)).toBeNull();
  expect(limit.admit(2_000)).toBe(2);
  expect(limit.admit(2_001)).toBe(0);
});

test("a clock that was set back does not silence the log", () => {
  const limit = new LineLimit(1);
  expect(limit.admit(1_000_000)).toBe(0);
  expect(limit.admit(5_000)).toBe(0);
});
