// The tables of due.ts, partition-queue.ts and places.ts.

import { expect, test } from "vitest";

import { judgeDue, readWaiting, type Waiting } from "../../src/delay/due.ts";
import { takeDue } from "../../src/delay/partition-queue.ts";
import { createTopicList } from "../../src/delay/places.ts";
import type { Delivery } from "../../src/domain/delivery.ts";
import { deliveryHeaders } from "../../src/domain/delivery.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import type { IncomingRecord, RecordHeaders } from "../../src/domain/record.ts";
import { deliveryOf } from "../support/webhook-destination.ts";

const NOW_MS = 1_800_000_000_000;
const TOPIC = "sw.deliveries.crm";
const everywhere = { isConfigured: () => true, exists: () => true, isCertain: () => true };

function recordOf(headers: RecordHeaders): IncomingRecord {
  return {
    topic: "sw.delays.10s",
    partition: 0,
    offset: 7,
    timestampMs: 0,
    key: null,
    value: null,
    headers,
  };
}

function waiting(given: Partial<Delivery>): Waiting {
  const delivery = deliveryOf({ dueAtMs: NOW_MS, returnTopic: TOPIC, ...given });
  return readWaiting(recordOf(deliveryHeaders(delivery)), (id) => `sw.deliveries.${id}`);
}

test.each([
  ["due", waiting({}), everywhere, { kind: "return", topic: TOPIC }],
  ["overdue", waiting({ dueAtMs: 1 }), everywhere, { kind: "return" }],
  [
    "due in a millisecond",
    waiting({ dueAtMs: NOW_MS + 1 }),
    everywhere,
    { kind: "wait", waitMs: 1 },
  ],
  [
    "without a topic to return to",
    waiting({ returnTopic: null }),
    everywhere,
    { kind: "return", topic: TOPIC },
  ],
  [
    "of a destination that is gone",
    waiting({}),
    { ...everywhere, isConfigured: () => false },
    { reason: "unknown-destination" },
  ],
  [
    "of a topic that is gone",
    waiting({}),
    { ...everywhere, exists: () => false },
    { reason: "unknown-destination" },
  ],
  [
    "not due, of a destination that is gone",
    waiting({ dueAtMs: NOW_MS + 5 }),
    { ...everywhere, isConfigured: () => false },
    { kind: "wait" },
  ],
  [
    "without due-at",
    waiting({ dueAtMs: null }),
    everywhere,
    { reason: "invalid-call", error: "the header switchyard-due-at is missing" },
  ],
  [
    "without any header",
    readWaiting(recordOf([]), () => TOPIC),
    everywhere,
    { reason: "invalid-call" },
  ],
])("a record %s", (_name, record, places, verdict) => {
  expect(judgeDue(record, places, NOW_MS)).toMatchObject(verdict);
});

test("all that is due is taken, up to the first that is not, and no more than asked for", () => {
  const queue = [
    waiting({}),
    waiting({ dueAtMs: 1 }),
    waiting({ dueAtMs: NOW_MS + 9 }),
    waiting({}),
  ];
  expect(takeDue(queue, everywhere, NOW_MS, 1)).toMatchObject({ kind: "due", due: { length: 1 } });
  expect(takeDue(queue, everywhere, NOW_MS, 10)).toMatchObject({ kind: "due", due: { length: 1 } });
  expect(takeDue(queue, everywhere, NOW_MS, 10)).toEqual({ kind: "wait", waitMs: 9 });
  expect(takeDue([], everywhere, NOW_MS, 10)).toEqual({ kind: "empty" });
  expect(queue).toHaveLength(2);
});

test("before a topic is said to be missing, the list is looked up", () => {
  const crm = "crm" as DestinationId;
  const list = createTopicList([crm]);
  const queue = [waiting({})];
  expect(takeDue(queue, list, NOW_MS, 10)).toEqual({ kind: "look-up" });
  list.renew(["other"], NOW_MS);
  expect(takeDue([...queue], list, NOW_MS + 999, 10)).toMatchObject({
    due: [{ verdict: { kind: "dead-letter" } }],
  });
  expect(takeDue(queue, list, NOW_MS + 1_000, 10)).toEqual({ kind: "look-up" });
  list.renew([TOPIC], NOW_MS);
  expect(takeDue(queue, list, NOW_MS + 1_000, 10)).toMatchObject({
    due: [{ verdict: { kind: "return" } }],
  });
  expect([list.isOld(NOW_MS + 9_999), list.isOld(NOW_MS + 10_000)]).toEqual([false, true]);
});

test("a destination that is gone needs no look-up", () => {
  const list = createTopicList([]);
  expect(takeDue([waiting({})], list, NOW_MS, 10)).toMatchObject({
    due: [{ verdict: { reason: "unknown-destination" } }],
  });
});
