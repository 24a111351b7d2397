// The table of expiring.ts.

import { expect, test } from "vitest";

import { ExpiryCount } from "../../../../src/operator/act/paused-text.ts";

const HOUR_MS = 3_600_000;
const atMs = Date.parse("2026-03-01T10:00:00Z");

function textOf(first: readonly (number | null)[], untilMs: number | null, isWhole = true) {
  const expiring = new ExpiryCount(4 * HOUR_MS, untilMs);
  for (const each of first) expiring.add(each);
  return expiring.text(isWhole);
}

test("deliveries that were never attempted have no window", () => {
  expect(textOf([null, null], null)).toBe(
    "No delivery is awaiting retry, so none can expire during the pause.",
  );
});

test("those whose window ends before the pause expire, with the time of the first", () => {
  const first = [atMs, atMs - HOUR_MS, null, atMs + HOUR_MS];
  expect(textOf(first, atMs + 4 * HOUR_MS)).toBe(
    "3 deliveries are awaiting retry. 2 of them expire before the end of the pause, the first at 2026-03-01 13:00:00 UTC.",
  );
  expect(textOf([atMs], atMs + HOUR_MS)).toBe(
    "1 delivery is awaiting retry. None of them expires before the end of the pause.",
  );
});

test("a pause without an end lets all of them expire", () => {
  expect(textOf([atMs, atMs + 1], null)).toBe(
    "2 deliveries are awaiting retry. They expire one by one unless the destination is resumed, the first at 2026-03-01 14:00:00 UTC.",
  );
});

test("what was not counted is not denied", () => {
  expect(textOf([], null, false)).toContain("At least 0 deliveries");
});

test("programs get the same as an object", () => {
  const expiring = new ExpiryCount(4 * HOUR_MS, atMs + 4 * HOUR_MS);
  expect(expiring.json()).toEqual({ awaitingRetry: 0, expiring: 0, firstExpiresAt: null });
  for (const each of [atMs, null, atMs + HOUR_MS]) expiring.add(each);
  expect(expiring.json()).toEqual({
    ...{ awaitingRetry: 2, expiring: 1, firstExpiresAt: "2026-03-01T14:00:00.000Z" },
  });
});
