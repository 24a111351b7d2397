// Actions as text.

import { expect, test } from "vitest";

import type { Action } from "../../../../../src/operator/console/action-view.ts";
import {
  actionText,
  destinationOf,
  fieldTime,
  instantOf,
  isCount,
  jobState,
  jobText,
} from "../../../../../src/operator/console/page/action-text.ts";

const CANCEL: Action = { action: "cancel", destination: "crm", before: "", dryRun: true };

test.each<[Action, string]>([
  [{ action: "pause", destination: "crm", pauseForMs: null }, "Pause"],
  [{ action: "pause", destination: "crm", pauseForMs: 5_400_000 }, "Pause for 1h 30m"],
  [{ action: "retry", destination: "crm" }, "Retry now"],
  [
    { action: "resume-replay", kind: "calls", replay: "r-1", destination: null },
    "Replay r-1, resumed",
  ],
  [{ action: "approve", audience: "vip", syncId: "s" }, "Approval of vip"],
])("%j is called %s", (action, text) => {
  expect(actionText(action)).toBe(text);
});

test("the state of a job has a tone and a text", () => {
  const words = (["running", "done", "failed", "stopped"] as const).map((state) => {
    const { tone, text } = jobState({ state });
    return `${tone} ${text}`;
  });
  expect(words).toEqual(["warn In progress", "good Done", "bad Failed", "quiet Stopped"]);
});

test("a job's words come before its progress", () => {
  expect(jobText({ messages: ["Replay r-1 begins."], progress: "3 of 9" })).toBe(
    "Replay r-1 begins. 3 of 9 …",
  );
  expect(jobText({ messages: [], progress: "" })).toBe("");
});

test("a count is no change, and an approval is of no destination", () => {
  expect([isCount(CANCEL), isCount({ ...CANCEL, dryRun: false })]).toEqual([true, false]);
  expect(isCount({ action: "wait", destination: "crm" })).toBe(false);
  expect(destinationOf(CANCEL)).toBe("crm");
  expect(destinationOf({ action: "approve", audience: "vip", syncId: "s" })).toBeNull();
});

test("a field's time is read as it was written, to the minute; an empty one means now", () => {
  const atMs = Date.parse("2026-03-01T09:30:00Z");
  expect(instantOf(fieldTime(atMs + 25_000))).toBe("2026-03-01T09:30:00.000Z");
  expect(instantOf("")).toBe(0);
});
