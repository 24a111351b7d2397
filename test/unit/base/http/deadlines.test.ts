import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { createDeadlines } from "../../../../src/base/http/deadlines.ts";

const AHEAD_MS = 5_000;
let expired: string[] = [];

function deadlines() {
  const made = createDeadlines(AHEAD_MS, () => Date.now());
  const set = (name: string) => made.set({ expire: () => void expired.push(name) }, Date.now());
  return { set, clear: made.clear };
}

beforeEach(() => {
  expired = [];
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

test("each expires at its own time, neither before nor much after", () => {
  const { set } = deadlines();
  set("first");
  vi.advanceTimersByTime(1_000);
  set("second");
  vi.advanceTimersByTime(3_999);
  expect(expired).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(expired).toEqual(["first"]);
  vi.advanceTimersByTime(998);
  expect(expired).toEqual(["first"]);
  vi.advanceTimersByTime(2);
  expect(expired).toEqual(["first", "second"]);
});

test("what is cleared does not expire, wherever it stands, and holds up no other", () => {
  const { set, clear } = deadlines();
  const [first, , last] = ["first", "second", "third"].map(set);
  if (first !== undefined) clear(first);
  if (last !== undefined) clear(last);
  vi.advanceTimersByTime(1_000);
  set("fourth");
  vi.advanceTimersByTime(10_000);
  expect(expired).toEqual(["second", "fourth"]);
});
