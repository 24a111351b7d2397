// What an endpoint asks for by Retry-After holds for all its deliveries.

import { expect, test } from "vitest";

import { EndpointGates } from "../../src/deliver/endpoint-gates.ts";
import { endpointKey } from "../../src/domain/destination.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const KEY = endpointKey("http://a.test/");
const WINDOW_MS = 14_400_000;

function gates() {
  const made = new EndpointGates([KEY], { concurrency: 4, windowMs: WINDOW_MS }, () => undefined);
  const asked = (retryAfter: string, atMs: number) => {
    const ticket = made.admit(KEY, atMs, "no") ?? -1;
    const result = { kind: "response", status: 503, retryAfter, durationMs: 1 } as const;
    made.settle(KEY, ticket, result, atMs);
  };
  return { made, asked };
}

test("the longest Retry-After counts: an answer that asks for less takes nothing back", () => {
  const { made, asked } = gates();
  asked("100", NOW_MS);
  expect(made.awayUntilMs(KEY, NOW_MS)).toBe(NOW_MS + 100_000);
  asked("1", NOW_MS + 5_000);
  expect(made.awayUntilMs(KEY, NOW_MS + 5_000)).toBe(NOW_MS + 100_000);
  asked("100", NOW_MS + 5_000);
  expect(made.awayUntilMs(KEY, NOW_MS + 5_000)).toBe(NOW_MS + 105_000);
});

test("nobody is held for longer than the window", () => {
  const { made, asked } = gates();
  asked("9999999999", NOW_MS);
  expect(made.awayUntilMs(KEY, NOW_MS)).toBe(NOW_MS + WINDOW_MS);
});
