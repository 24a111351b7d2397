// The laws about suppressed users: when a request comes too late, what must be sent, and what excuses a violation.

import { expect, test } from "vitest";
import { isCanary } from "../../chaos/canaries.ts";
import { type CanaryEvidence, canaryViolations, isLate } from "../../chaos/canary-laws.ts";

const PERIODS = [{ fromMs: 100_000, toMs: 130_000 }];
const exposed = (fromMs: number, toMs: number) => [{ kind: "freeze", fromMs, toMs }];

test.each([
  ["before the suppression", 99_000, [], false],
  ["within the bound", 110_000, [], false],
  ["after the bound", 110_001, [], true],
  ["after the lift", 130_000, [], false],
  ["while a program was frozen since before", 112_000, exposed(90_000, 105_000), false],
  ["10 s after the end of that", 115_001, exposed(90_000, 105_000), true],
  ["after a fault that began within the bound", 125_000, exposed(109_000, 116_000), false],
  ["a fault that began later excuses nothing", 112_000, exposed(110_500, 116_000), true],
  ["a fault that ended before", 110_001, exposed(50_000, 99_999), true],
])("%s: at %d", (_, atMs, exposures, late) => {
  expect(isLate(atMs, PERIODS, exposures)).toBe(late);
});

test("only calls of these users are theirs", () => {
  expect(["canary-7", "m7", "", null, undefined].map(isCanary)).toEqual([
    ...[true, false, false, false, false],
  ]);
});

const request = (path: string, atMs: number, status: number | null = 400) => {
  return { messageId: "canary-1", attempt: 1, path, atMs, endAtMs: atMs, status, retryAfterMs: 0 };
};
const ACCEPTED = request("/healthy", 90_000, 200);
const REJECTED = request("/flaky", 90_000);
const SENT_AGAIN = request("/flaky", 150_500);
/** The call was rejected before its user was suppressed, and its dead letter is replayed after the user was lifted. */
const REPLAYED: CanaryEvidence = {
  calls: [{ messageId: "canary-1", user: "canary-a", atMs: 89_000 }],
  requests: new Map([["canary-1", [ACCEPTED, REJECTED, SENT_AGAIN]]]),
  deadLetters: new Map([["canary-1", [{ paths: ["/flaky"], failedAtMs: 90_000 }]]]),
  periods: new Map([["canary-a", PERIODS]]),
  lastReplay: { messageIds: ["canary-1"], sinceMs: 80_000, atMs: 150_000 },
};
const UNSENT = ["canary-1 was replayed, and not sent to /flaky"];
const LATE = ["canary-1 was sent to /flaky at 120000, while suppressed"];

const requests = (...all: readonly ReturnType<typeof request>[]) => ({
  requests: new Map([["canary-1", all]]),
});
const replay = (more: Partial<CanaryEvidence["lastReplay"]>) => ({
  lastReplay: { ...REPLAYED.lastReplay, ...more },
});

test.each<[string, Partial<CanaryEvidence>, ReturnType<typeof exposed>, readonly string[]]>([
  ["a dead letter is sent again after the lift", {}, [], []],
  [
    "a replayed dead letter is sent while suppressed",
    requests(ACCEPTED, REJECTED, request("/flaky", 120_000), SENT_AGAIN),
    [],
    LATE,
  ],
  [
    "the same within the bound",
    requests(ACCEPTED, REJECTED, request("/flaky", 109_000), SENT_AGAIN),
    [],
    [],
  ],
  ["a replayed dead letter is not sent", requests(ACCEPTED, REJECTED), [], UNSENT],
  ["it is sent elsewhere", requests(ACCEPTED, REJECTED, request("/sick", 150_500)), [], UNSENT],
  [
    "it was not replayed",
    { ...requests(ACCEPTED, REJECTED), ...replay({ messageIds: [] }) },
    [],
    [],
  ],
  [
    "it failed before the replayed time",
    { ...requests(ACCEPTED, REJECTED), ...replay({ sinceMs: 91_000 }) },
    [],
    [],
  ],
  [
    "it was replayed within 10 s after the lift",
    { ...requests(ACCEPTED, REJECTED), ...replay({ atMs: 139_000 }) },
    [],
    [],
  ],
  [
    "a program was frozen after the lift",
    requests(ACCEPTED, REJECTED),
    exposed(129_000, 141_000),
    [],
  ],
  [
    "it failed so late that the replay may not have read it",
    {
      ...requests(ACCEPTED, REJECTED),
      deadLetters: new Map([["canary-1", [{ paths: ["/flaky"], failedAtMs: 141_000 }]]]),
    },
    [],
    [],
  ],
  [
    "a call after the lift is not accepted",
    {
      ...REPLAYED,
      calls: [{ messageId: "canary-1", user: "canary-a", atMs: 145_000 }],
      ...requests(SENT_AGAIN),
    },
    [],
    ["canary-1 is lost, although its user was lifted"],
  ],
])("%s", (_, evidence, exposures, says) => {
  expect(canaryViolations({ ...REPLAYED, ...evidence }, exposures)).toEqual(says);
});
