// The table of hold-cause.ts.

import { describe, expect, test } from "vitest";
import type { DestinationId } from "../../../../src/domain/ids.ts";
import type { Pause } from "../../../../src/router/control/operator-actions.ts";
import {
  controlled,
  type HoldCause,
  stillnessOf,
} from "../../../../src/router/deliver/hold-cause.ts";
import { webhookDestination } from "../../../support/build/webhook-destination.ts";

const NOW_MS = 1_000;
const pause: Pause = {
  destination: "crm" as DestinationId,
  ...{ sinceMs: 400, by: "command", untilMs: 5_000 },
};
const paused = { enabled: true, paused: true };
const neither = { enabled: true, paused: false };
const byFile: HoldCause = { reason: "paused", sinceMs: 7, untilMs: null, by: "configuration" };
const disabled: HoldCause = { reason: "disabled", sinceMs: 7, untilMs: null };

describe("configuration and command count together", () => {
  test.each([
    [{ enabled: false, paused: true }, pause, null, { ...disabled, sinceMs: NOW_MS }],
    [{ enabled: false, paused: false }, null, disabled, disabled],
    [paused, null, null, { ...byFile, sinceMs: NOW_MS }],
    [paused, null, byFile, byFile],
    [paused, null, disabled, { ...byFile, sinceMs: NOW_MS }],
    [paused, pause, null, { ...byFile, sinceMs: 400, by: "configuration and command" }],
    [neither, pause, null, { reason: "paused", sinceMs: 400, untilMs: 5_000, by: "command" }],
    [neither, null, byFile, null],
  ])("%j, %j", (configured, command, before, expected) => {
    expect(stillnessOf(configured, command, before, NOW_MS)).toEqual(expected);
  });
});

test("the work goes by a pause of either", () => {
  const configured = webhookDestination();
  expect(controlled(configured, null)).toBe(configured);
  expect(controlled(configured, pause)).toEqual({ ...configured, paused: true });
});
