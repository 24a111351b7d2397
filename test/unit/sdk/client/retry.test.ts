import { expect, test } from "vitest";

import { decide, retryAfterMs, type SendOutcome } from "../../../../src/sdk/client/retry.ts";

const NOW_MS = Date.parse("2026-11-21T08:00:00Z");
const NO_RESPONSE: SendOutcome = { kind: "no-response", cause: new Error("fetch failed") };

function responseOf(status: number, retryAfter: string | null = null): SendOutcome {
  return { kind: "response", status, retryAfter, explanation: null };
}

test.each([200, 201, 204])("%i is acknowledged", (status) => {
  expect(decide(responseOf(status), 1, 3, NOW_MS, 0).kind).toBe("acknowledged");
});

test.each([301, 307, 400, 401, 403, 404, 409, 413, 425, 600])("%i is not repeated", (status) => {
  const decision = decide(responseOf(status), 1, 3, NOW_MS, 0);
  expect(decision).toMatchObject({ kind: "give-up", loss: { reason: "rejected", status } });
});

test.each([
  responseOf(408),
  responseOf(429),
  responseOf(500),
  responseOf(503),
  responseOf(599),
  NO_RESPONSE,
])("%j is tried again while attempts are left", (outcome) => {
  expect(decide(outcome, 2, 3, NOW_MS, 0.5).kind).toBe("retry");
  expect(decide(outcome, 3, 3, NOW_MS, 0.5)).toMatchObject({
    kind: "give-up",
    loss: { reason: "attempts-exhausted", attempts: 3 },
  });
});

test("the delay is drawn from the whole range, which doubles up to 30 s", () => {
  const delay = (attempt: number, random: number) => {
    const decision = decide(NO_RESPONSE, attempt, 100, NOW_MS, random);
    return decision.kind === "retry" ? decision.delayMs : null;
  };
  expect([1, 2, 3, 7, 50].map((attempt) => delay(attempt, 0))).toEqual([0, 0, 0, 0, 0]);
  expect([1, 2, 3, 7, 50].map((attempt) => delay(attempt, 0.999_999))).toEqual([
    500, 1_000, 2_000, 30_000, 30_000,
  ]);
});

test.each([
  ["2", 0, 2_000],
  ["1", 0.999_999, 1_000],
  ["0", 0.5, 250],
  ["Sat, 21 Nov 2026 08:00:07 GMT", 0, 7_000],
  ["Sat, 21 Nov 2026 07:00:00 GMT", 0, 0],
  ["Saturday, 21-Nov-26 08:00:07 GMT", 0, 7_000],
  ["Sat Nov 21 08:00:07 2026", 0, 7_000],
  ["Sat, 21 Nov 2026 09:00:07 +0100", 0, 7_000],
  ["Sat, 21 Nov 2026 08:00:07 UTC", 0, 7_000],
  ["3, Saturday, 21-Nov-26 08:00:07 GMT, 2", 0, 7_000],
  ["soon", 0, 0],
  ["86400", 0, 3_600_000],
  ["5.7", 0, 6_000],
  ["2, 5, 3", 0, 5_000],
  ["2, Sat, 21 Nov 2026 08:00:07 GMT", 0, 7_000],
  ["86401, 4", 0, 4_000],
  ["12345678901", 0, 0],
])("Retry-After %s with a draw of %d waits %d ms", (retryAfter, random, delayMs) => {
  expect(decide(responseOf(503, retryAfter), 1, 3, NOW_MS, random)).toMatchObject({ delayMs });
});

test("a short Retry-After does not shorten the delay", () => {
  expect(decide(responseOf(503, "1"), 4, 9, NOW_MS, 0.5)).toMatchObject({ delayMs: 2_000 });
});

test.each([null, "", "-1", "86401", "99999999999", "soon 5", "2026-11-21"])(
  "%j asks for nothing",
  (header) => {
    expect(retryAfterMs(header, NOW_MS)).toBeNull();
  },
);

test("the sentence says what happened, from the innermost cause", () => {
  const refused = new Error("connect ECONNREFUSED 127.0.0.1:8080");
  const cause = new TypeError("fetch failed", { cause: refused });
  expect(decide({ kind: "no-response", cause }, 1, 1, NOW_MS, 0)).toMatchObject({
    loss: { message: expect.stringContaining("ECONNREFUSED"), cause },
  });
});
