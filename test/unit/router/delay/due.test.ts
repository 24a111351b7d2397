// The tables of due.ts and topic-lookup.ts.

import { expect, test } from "vitest";
import type { Delivery } from "../../../../src/domain/delivery.ts";
import { deliveryHeaders } from "../../../../src/domain/delivery.ts";
import type { DestinationId, EndpointRef } from "../../../../src/domain/ids.ts";
import type { IncomingRecord, RecordHeaders } from "../../../../src/domain/record.ts";
import { topicNames } from "../../../../src/domain/topics.ts";
import {
  type DelayedRecord,
  judgeDue,
  readWaiting,
  takeDue,
} from "../../../../src/router/delay/due.ts";
import { TopicLookup } from "../../../../src/router/delay/topic-lookup.ts";
import { deliveryOf } from "../../../support/build/webhook-destination.ts";

const NOW_MS = 1_800_000_000_000;
const DELAY_MS = 10_000;
const TOPIC = "sw.deliveries.crm";
const everywhere = { exists: () => true, isCertain: () => true };

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

function waiting(given: Partial<Delivery>): DelayedRecord {
  const delivery = deliveryOf({ dueAtMs: NOW_MS, retryTopic: TOPIC, ...given });
  return readWaiting(recordOf(deliveryHeaders(delivery)), topicNames("sw."), DELAY_MS, NOW_MS);
}

const GONE = { ...everywhere, exists: () => false };
const NO_RETRIES = { ...everywhere, exists: (topic: string) => topic === TOPIC };
const NAKED = readWaiting(recordOf([]), topicNames("sw."), DELAY_MS, NOW_MS);
const BACK = { kind: "return", topic: TOPIC };
const RETRIED = { kind: "return", topic: "sw.retries.crm" };
const NO_TIME = { reason: "invalid-call", error: "the header switchyard-due-at is missing" };

test.each<[string, DelayedRecord, object, Parameters<typeof judgeDue>[1]?]>([
  ["due", waiting({}), BACK],
  ["overdue", waiting({ dueAtMs: 1 }), BACK],
  ["due in a millisecond", waiting({ dueAtMs: NOW_MS + 1 }), { kind: "wait", waitMs: 1 }],
  ["with whatever topic to return to", waiting({ retryTopic: "sw.dead-letters" }), BACK],
  ["that was attempted", waiting({ attempt: 1 }), RETRIED],
  ["of one endpoint", waiting({ endpoint: "1" as EndpointRef }), RETRIED],
  ["that was attempted, without a retry topic", waiting({ attempt: 1 }), BACK, NO_RETRIES],
  ["of a topic that is gone", waiting({}), { reason: "unknown-destination" }, GONE],
  ["not due, of a topic that is gone", waiting({ dueAtMs: NOW_MS + 5 }), { kind: "wait" }, GONE],
  ["without due-at", waiting({ dueAtMs: null }), NO_TIME],
  ["without any header", NAKED, { reason: "invalid-call" }],
])("a record %s", (_name, record, verdict, places = everywhere) => {
  expect(judgeDue(record, places, NOW_MS)).toMatchObject(verdict);
});

test.each([
  ["its header's", NOW_MS + 9_000, NOW_MS - 1_000, NOW_MS + 9_000],
  ["the delay after it was read", NOW_MS + DELAY_MS + 1, NOW_MS, NOW_MS + DELAY_MS],
  ["... although the record is of the future", NOW_MS * 2, NOW_MS * 2, NOW_MS + DELAY_MS],
  ["... although the record has no time", NOW_MS * 2, -1, NOW_MS + DELAY_MS],
  ["the delay and a minute after its record", NOW_MS * 2, NOW_MS - 65_000, NOW_MS + 5_000],
  ["long ago, when its record is old", NOW_MS * 2, 1, 70_001],
])("a record is due at the latest at %s", (_name, dueAtMs, timestampMs, expected) => {
  const record = { ...recordOf(deliveryHeaders(deliveryOf({ dueAtMs }))), timestampMs };
  const read = readWaiting(record, topicNames("sw."), DELAY_MS, NOW_MS);
  expect(read).toMatchObject({ kind: "waiting", dueAtMs: expected });
});

test.each([
  ["its time in Kafka", NOW_MS - 5_000, NOW_MS - 5_000],
  ["the time at which it was read, when its own is later", NOW_MS + 90_000, NOW_MS],
  ["the same, when it has none", 0, NOW_MS],
])("a record was scheduled for retry at %s", (_name, timestampMs, scheduledAtMs) => {
  const record = { ...recordOf(deliveryHeaders(deliveryOf({ dueAtMs: NOW_MS }))), timestampMs };
  const names = topicNames("sw.");
  expect(readWaiting(record, names, DELAY_MS, NOW_MS)).toMatchObject({ scheduledAtMs });
  const bare = { ...record, headers: [] };
  expect(readWaiting(bare, names, DELAY_MS, NOW_MS)).toMatchObject({
    kind: "invalid",
    scheduledAtMs,
  });
});

test("a record has its destination and when it was first attempted, if it was", () => {
  expect(waiting({ firstAttemptAtMs: 77 })).toMatchObject({
    destination: "crm",
    firstAttemptAtMs: 77,
  });
  expect(waiting({})).toMatchObject({ firstAttemptAtMs: null });
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

/** A lookup whose list has these topics, and lacks the hidden ones. The time is that of the last call of `at`. */
function lookupOf(
  topics: string[],
  isMade = (_topic: string) => false,
  hidden: ReadonlySet<string> = new Set(),
) {
  let nowMs = NOW_MS;
  let lists = 0;
  let asked = 0;
  const admin = {
    topics: () => {
      lists += 1;
      return Promise.resolve(topics);
    },
    describe: (names: readonly string[]) => {
      asked = names.length;
      const nothing = {
        partitions: 0,
        replicationFactor: 0,
        config: {},
        lacks: "Describe",
      } as const;
      const found = names.filter((name) => hidden.has(name));
      return Promise.resolve(found.map((name) => ({ name, ...nothing })));
    },
  };
  const clock = { nowMs: () => nowMs, sleep: () => Promise.resolve() };
  const lookup = new TopicLookup({ kafka: { admin }, clock, rerouting: { rules: { isMade } } });
  const at = (ms: number) => {
    nowMs = ms;
    return lookup;
  };
  return {
    lookup,
    at,
    renew: () => lookup.renew(new AbortController().signal),
    lists: () => lists,
    asked: () => asked,
  };
}

test("before a topic is said to be missing, the list is looked up", async () => {
  const topics = ["other"];
  const { at, renew, lists } = lookupOf(topics);
  const queue = [waiting({})];
  expect(takeDue(queue, at(NOW_MS), NOW_MS, 10)).toEqual({ kind: "lookup" });
  await renew();
  expect(takeDue([...queue], at(NOW_MS + 999), NOW_MS + 999, 10)).toMatchObject({
    due: [{ verdict: { kind: "dead-letter" } }],
  });
  expect(takeDue(queue, at(NOW_MS + 1_000), NOW_MS + 1_000, 10)).toEqual({ kind: "lookup" });
  topics.push(TOPIC);
  at(NOW_MS);
  await renew();
  expect(takeDue(queue, at(NOW_MS + 1_000), NOW_MS + 1_000, 10)).toMatchObject({
    due: [{ verdict: { kind: "return" } }],
  });
  const before = lists();
  at(NOW_MS + 9_999).exists(TOPIC);
  expect(lists()).toBe(before);
  at(NOW_MS + 10_000).exists(TOPIC);
  expect(lists()).toBe(before + 1);
});

test("a topic that is made again needs no lookup: the record goes there", () => {
  const { lookup } = lookupOf([], (topic) => topic === TOPIC);
  expect(takeDue([waiting({})], lookup, NOW_MS, 10)).toMatchObject({
    due: [{ verdict: { kind: "return", topic: TOPIC } }],
  });
});

test("a topic that is only hidden is not missing: the producer decides what becomes of its records", async () => {
  const hidden = new Set(["sw.retries.crm", TOPIC]);
  const { at, renew } = lookupOf(["other"], () => false, hidden);
  const queue = [waiting({ attempt: 1 }), waiting({})];
  expect(takeDue(queue, at(NOW_MS), NOW_MS, 1)).toEqual({ kind: "lookup" });
  await renew();
  expect(takeDue(queue, at(NOW_MS), NOW_MS, 1)).toMatchObject({ due: [{ verdict: RETRIED }] });
  // The brokers have not been asked about this topic.
  expect(takeDue([...queue], at(NOW_MS), NOW_MS, 1)).toEqual({ kind: "lookup" });
  await renew();
  expect(takeDue([...queue], at(NOW_MS), NOW_MS, 1)).toMatchObject({ due: [{ verdict: BACK }] });
  hidden.clear();
  await renew();
  expect(takeDue(queue, at(NOW_MS), NOW_MS, 1)).toEqual({ kind: "lookup" });
  await renew();
  expect(takeDue(queue, at(NOW_MS), NOW_MS, 1)).toMatchObject({
    due: [{ verdict: { reason: "unknown-destination" } }],
  });
});

test("topics that are missing are asked about together, once for all their records within a second", async () => {
  const { at, renew, lists } = lookupOf(["other"]);
  const destinations = ["a", "b"] as const;
  const queue = Array.from({ length: 100 }, (_, index) =>
    waiting({ destination: (destinations[index % 2] ?? "a") as DestinationId }),
  );
  while (queue.length > 0) {
    const step = takeDue(queue, at(NOW_MS), NOW_MS, 10);
    if (step.kind === "lookup") await renew();
  }
  expect(lists()).toBe(2);
});

test("it does not remember topics that are missing without bound", async () => {
  const { at, renew, asked } = lookupOf([]);
  const ask = (name: string) => at(NOW_MS).isCertain(name, NOW_MS);
  for (let number = 0; number <= 10_000; number += 1) ask(`sw.retries.d${number}`);
  await renew();
  expect([asked(), ask("sw.retries.d0"), ask("sw.retries.x")]).toEqual([10_001, true, false]);
  await renew();
  expect([asked(), ask("sw.retries.x")]).toEqual([1, true]);
});
