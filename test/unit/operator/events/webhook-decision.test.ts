// The tables of webhook-sender.ts.

import { expect, test } from "vitest";
import { eventText, operatorEvent } from "../../../../src/operator/events/event.ts";
import { taskOf, waitBefore } from "../../../../src/operator/events/webhook-sender.ts";

const T = Date.UTC(2026, 2, 1, 9, 30);
const DAY_MS = 86_400_000;
const EVENT = operatorEvent("/switchyard/sw.", "destination.paused", "crm", T, { until: null });
const VALUE = Buffer.from(eventText(EVENT));

test.each([
  ["no value", null, T, "none"],
  ["none of ours", Buffer.from("{}"), T, "none"],
  ["older than a day", VALUE, T - DAY_MS - 1, "too-old"],
  ["a day old", VALUE, T - DAY_MS, "post"],
  ["of no known time", VALUE, -1, "post"],
])("an event with %s", (_name, value, timestampMs, kind) => {
  expect(taskOf({ value, timestampMs }, T).kind).toBe(kind);
});

test("it is posted as it lies on the topic", () => {
  expect(taskOf({ value: VALUE, timestampMs: T }, T)).toEqual({
    ...{ kind: "post", event: EVENT, text: VALUE.toString() },
  });
});

test.each([
  [1, null, 5_000],
  [2, null, 10_000],
  [3, 1_000, 20_000],
  [3, 60_000, 60_000],
  [3, DAY_MS, 3_600_000],
  [7, null, 300_000],
  [5_000, null, 300_000],
])("after %i posts, and a Retry-After of %s ms, it waits for %i ms", (tries, asked, waitMs) => {
  expect(waitBefore(tries, asked)).toBe(waitMs);
});
