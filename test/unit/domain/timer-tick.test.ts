// Waits that end at the same time.

import fc from "fast-check";
import { expect, test } from "vitest";

import { TICK_MS, untilTickMs } from "../../../src/domain/timer-tick.ts";

test.each([
  [1_000, 0, 0],
  [1_000, 1, 50],
  [1_000, 50, 50],
  [1_049, 1, 1],
  [1_049, 2, 51],
])("at %d a wait of %d ms becomes one of %d ms", (nowMs, waitMs, expected) => {
  expect(untilTickMs(nowMs, waitMs)).toBe(expected);
});

test("a wait is never shorter than asked, and less than a tick longer", () => {
  fc.assert(
    fc.property(fc.nat(2 ** 40), fc.nat(20_000), (nowMs, waitMs) => {
      const untilMs = untilTickMs(nowMs, waitMs);
      expect(untilMs).toBeGreaterThanOrEqual(waitMs);
      expect(untilMs).toBeLessThan(waitMs + TICK_MS);
      expect((nowMs + untilMs) % TICK_MS).toBe(0);
    }),
  );
});
