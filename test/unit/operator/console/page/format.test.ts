import { expect, test } from "vitest";

import {
  agoText,
  countText,
  deliveredTone,
  dueText,
  durationText,
  instantAfter,
  millisecondsText,
  outcomeText,
  percentText,
  stateOf,
  utcTime,
} from "../../../../../src/operator/console/page/format.ts";
import { destinationRow } from "../../../../support/build/console-poll.ts";

const NOW = Date.parse("2026-03-01T09:00:00Z");

test.each([
  [null, "–"],
  [0, "0"],
  [0.4, "0.4"],
  [3, "3"],
  [9_999, "9,999"],
  [12_500, "12.5K"],
  [3_200_000, "3.2M"],
])("the count %s is %s", (count, text) => {
  expect(countText(count)).toBe(text);
});

test.each([
  [null, "–"],
  [1, "100 %"],
  [0, "0 %"],
  [0.9999, ">99.9 %"],
  [0.5, "50.0 %"],
])("the share %s is %s", (share, text) => {
  expect(percentText(share)).toBe(text);
});

test.each([
  [5_000, "2026-03-01T09:00:05.500Z"],
  [-5_000, "2026-03-01T08:59:55.500Z"],
])("%i ms after another instant, past or not", (ms, at) => {
  expect(instantAfter("2026-03-01T09:00:00.500Z", ms)).toBe(at);
});

test.each([
  [0, "0s"],
  [59_000, "59s"],
  [61_000, "1m 1s"],
  [7_200_000, "2h"],
  [90_000_000, "1d 1h"],
])("%i ms are %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test("times before and after now", () => {
  expect(agoText("2026-03-01T08:58:00Z", NOW)).toBe("2m ago");
  expect(agoText("2026-03-01T09:00:00Z", NOW)).toBe("now");
  expect(dueText("2026-03-01T09:00:30Z", NOW)).toBe("in 30s");
  expect(dueText("2026-03-01T08:59:30Z", NOW)).toBe("overdue by 30s");
  expect(utcTime("2026-03-01T10:00:00+01:00")).toBe("2026-03-01 09:00:00 UTC");
  expect([millisecondsText(null), millisecondsText(12), millisecondsText(1_500)]).toEqual([
    "–",
    "12 ms",
    "1.5 s",
  ]);
});

const HOLD = { reason: "circuit-open", since: null, until: null } as const;
const LAST = { at: "2026-03-01T08:59:00Z", endpoint: "a[1] a.test" } as const;
const SINCE = "2026-03-01T08:00:00Z";

test.each([
  ["good", "Delivering", {}],
  ["good", "Delivering", { last: { ...LAST, outcome: "accepted", cause: "200" } }],
  ["warn", "Last attempt rejected", { last: { ...LAST, outcome: "rejected", cause: "401" } }],
  ["warn", "Last attempt failed", { last: { ...LAST, outcome: "retry", cause: "503" } }],
  ["bad", "Failing", { state: "failing", failingSince: SINCE, severity: 1 }],
  ["bad", "Failing, on hold", { state: "on-hold", hold: HOLD, failingSince: SINCE, severity: 1 }],
  ["bad", "On hold", { state: "on-hold", hold: HOLD, severity: 1 }],
  ["bad", "Halted", { severity: 0 }],
  ["quiet", "Paused", { state: "on-hold", hold: { ...HOLD, reason: "paused" }, severity: 3 }],
  ["warn", "Partly failing", { severity: 2 }],
  ["quiet", "Idle", { state: "idle" }],
  ["quiet", "On other processes", { state: "not-owned" }],
  ["quiet", "Unknown", { state: null }],
  ["quiet", "Topic", { state: null, kind: "topic", isAttempted: false }],
] as const)("%s: %s", (tone, text, over) => {
  expect(stateOf(destinationRow("a", over))).toEqual({ tone, text });
});

test.each([
  ["good", { delivering: 2 }, null],
  ["bad", { delivering: 2, failing: 1 }, null],
  ["bad", { "on-hold": 1 }, "no broker responds"],
  ["quiet", { delivering: 2 }, "no broker responds"],
  ["quiet", {}, null],
] as const)("what was delivered is %s: %j, %s", (tone, states, kafkaError) => {
  expect(deliveredTone({ failing: 0, "on-hold": 0, delivering: 0, ...states }, kafkaError)).toBe(
    tone,
  );
});

test.each([
  [{ outcome: "accepted", cause: "200" }, "200"],
  [{ outcome: "retry", cause: "503" }, "503, will be retried"],
  [{ outcome: "retry", cause: "connect-timeout" }, "connect timeout, will be retried"],
  [{ outcome: "rejected", cause: "404" }, "404, rejected"],
])("%o is %s", (last, text) => {
  expect(outcomeText(last)).toBe(text);
});
