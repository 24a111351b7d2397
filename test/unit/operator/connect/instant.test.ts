// Parsing and formatting times and ages for users.

import { expect, test } from "vitest";
import { ageText } from "../../../../src/base/words/count.ts";
import { instantText, parseInstant } from "../../../../src/operator/connect/instant.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 9, 30, 15, 250);

test.each([
  ["2h", NOW_MS - 7_200_000],
  ["0s", NOW_MS],
  ["2026-03-01", Date.UTC(2026, 2, 1)],
  ["2026-03-01T09:30Z", Date.UTC(2026, 2, 1, 9, 30)],
  ["2026-03-01T09:30+02:00", Date.UTC(2026, 2, 1, 7, 30)],
  ["yesterday", null],
  ["2", null],
  ["", null],
])("%s is %s", (text, atMs) => {
  expect(parseInstant(text, NOW_MS)).toBe(atMs);
});

test("an instant is written to the second", () => {
  expect(instantText(NOW_MS)).toBe("2026-03-01 09:30:15");
});

test.each([
  [-5, "0s"],
  [0, "0s"],
  [999, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [200_000, "3m 20s"],
  [7_500_000, "2h 5m"],
  [7_201_000, "2h"],
  [273_600_000, "3d 4h"],
])("%i ms are %s", (ms, text) => {
  expect(ageText(ms)).toBe(text);
});
