// The tables in the header of `reroute.ts`.

import { expect, test } from "vitest";
import { DELIVERY_HEADER } from "../../../src/domain/delivery.ts";
import type { OutgoingRecord } from "../../../src/domain/record.ts";
import { insteadOf, REROUTE_HEADER, type RerouteRules } from "../../../src/domain/reroute.ts";
import { topicNames } from "../../../src/domain/topics.ts";
import { headerTexts } from "../../support/build/calls.ts";

const NOW_MS = 1_800_000_000_000;
const topics = topicNames("sw.");
const rules: RerouteRules = {
  topics,
  retryDelaysMs: [10_000, 30_000, 120_000],
  isMade: () => true,
};

function record(topic: string, headers: Readonly<Record<string, string>> = {}): OutgoingRecord {
  return {
    topic,
    key: Buffer.from("u"),
    value: Buffer.from("{}"),
    sharedHeaders: [["trace", Buffer.from("t")]],
    headers: Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)] as const),
  };
}

function around(given: OutgoingRecord) {
  const instead = insteadOf(given, "unavailable", rules, NOW_MS);
  if (instead.kind !== "rerouted") return expect.unreachable(instead.kind);
  return { topic: instead.outgoing.topic, headers: headerTexts(instead.outgoing), instead };
}

test.each(["sw.dead-letters", "sw.audience-syncs", "sw.delays.10s", "other"])(
  "a record of %s waits: it is no delivery",
  (topic) => {
    expect(insteadOf(record(topic), "missing", rules, NOW_MS)).toEqual({ kind: "wait" });
  },
);

test("a delivery whose topic is missing and made by nobody is gone, with all its headers", () => {
  const nobody = { ...rules, isMade: () => false };
  const given = record("sw.deliveries.crm", { [DELIVERY_HEADER.destination]: "crm" });
  const instead = insteadOf(given, "missing", nobody, NOW_MS);
  expect(instead).toMatchObject({
    kind: "gone",
    error: "the topic sw.deliveries.crm does not exist",
  });
  if (instead.kind !== "gone") return;
  expect(headerTexts(instead.delivery)).toEqual({
    trace: "t",
    [DELIVERY_HEADER.destination]: "crm",
  });
  // The topic may exist, but have no leader at the moment.
  expect(insteadOf(given, "unavailable", nobody, NOW_MS)).toMatchObject({ kind: "rerouted" });
});

test.each([
  [null, "sw.delays.10s", 10_000, "1"],
  ["1", "sw.delays.30s", 30_000, "2"],
  ["2", "sw.delays.2m", 120_000, "3"],
  ["7", "sw.delays.2m", 120_000, "8"],
  ["9999", "sw.delays.2m", 120_000, "10000"],
  ["10000", "sw.delays.10s", 10_000, "1"],
  ["-1", "sw.delays.10s", 10_000, "1"],
  ["often", "sw.delays.10s", 10_000, "1"],
])("one that went around %s times goes to %s", (times, topic, delayMs, next) => {
  const given = record("sw.deliveries.crm", times === null ? {} : { [REROUTE_HEADER]: times });
  const found = around(given);
  expect(found.topic).toBe(topic);
  expect(found.headers).toEqual({
    trace: "t",
    [DELIVERY_HEADER.dueAt]: `${NOW_MS + delayMs}`,
    [REROUTE_HEADER]: next,
  });
  expect(found.instead.outgoing).toMatchObject({ key: given.key, value: given.value });
});

test("one that was attempted keeps its attempts, and its due-at is the new one", () => {
  const given = record("sw.retries.crm", {
    [DELIVERY_HEADER.attempt]: "3",
    [DELIVERY_HEADER.retryCount]: "3",
    [DELIVERY_HEADER.dueAt]: "17",
  });
  const { headers, instead } = around(given);
  expect(instead.destination).toBe("crm");
  expect(headers).toMatchObject({
    [DELIVERY_HEADER.attempt]: "3",
    [DELIVERY_HEADER.retryCount]: "3",
    [DELIVERY_HEADER.dueAt]: `${NOW_MS + 10_000}`,
  });
});
