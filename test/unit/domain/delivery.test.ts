// Parsing the headers of a delivery, and the headers that are rejected.

import { expect, test } from "vitest";

import {
  callNames,
  DELIVERY_HEADER,
  deliveryHeaders,
  foreignHeaders,
  isOwnHeader,
  readDelivery,
} from "../../../src/domain/delivery.ts";
import type { EndpointKey } from "../../../src/domain/ids.ts";
import type { RecordHeader } from "../../../src/domain/record.ts";
import { deliveryOf } from "../../support/build/webhook-destination.ts";

/** Parses the headers of a delivery, with one more: the last of repeated headers applies. */
function read(name: string, value: string) {
  const others = deliveryHeaders(deliveryOf({}));
  const header: RecordHeader = [name, Buffer.from(value)];
  return readDelivery({ headers: [...others, header] });
}

test("what is written is read again", () => {
  const delivery = deliveryOf({
    timestampMs: -62_167_219_200_000,
    attempt: 3,
    firstAttemptAtMs: 1_772_357_415_250,
    retryCount: 12,
    notBeforeMs: 0,
    rejected: ["e1", "e2"] as EndpointKey[],
    lastOutcome: "e1=503,e2=timeout",
  });
  expect(readDelivery({ headers: deliveryHeaders(delivery) })).toEqual({
    kind: "delivery",
    delivery,
  });
});

test.each([
  ["0", 0],
  ["007", 7],
  ["1772357415250", 1_772_357_415_250],
  ["-1", -1],
  ["999999999999999", 999_999_999_999_999],
])("the time %s is read", (text, expected) => {
  const parsed = read(DELIVERY_HEADER.timestamp, text);
  expect(parsed.kind === "delivery" && parsed.delivery.timestampMs).toBe(expected);
});

test.each(["-", "1.5", "1e3", " 1", "1 ", "+1", "--1", "1-", "0x1", "1000000000000000", "١"])(
  "the time %j is not an integer",
  (text) => {
    expect(read(DELIVERY_HEADER.timestamp, text)).toEqual({
      kind: "invalid",
      header: DELIVERY_HEADER.timestamp,
      error: "the header switchyard-timestamp is not an integer",
    });
  },
);

test("counters and lists are read no further than stages write them", () => {
  const keys = Array.from({ length: 1_000 }, () => "0123456789abcdef").join(",");
  const count = "999999999999999";
  expect(read(DELIVERY_HEADER.attempt, count)).toMatchObject({ delivery: { attempt: 100_000 } });
  expect(read(DELIVERY_HEADER.retryCount, count)).toMatchObject({
    delivery: { retryCount: 100_000 },
  });
  const many = read(DELIVERY_HEADER.rejected, keys);
  expect(many.kind === "delivery" && many.delivery.rejected.length).toBe(100);
  const long = read(DELIVERY_HEADER.lastOutcome, "x".repeat(100_000));
  expect(long.kind === "delivery" && long.delivery.lastOutcome?.length).toBe(2_000);
});

test("an empty count is not an integer, an empty time is missing", () => {
  expect(read(DELIVERY_HEADER.retryCount, "")).toMatchObject({
    error: "the header switchyard-retry-count is not an integer",
  });
  expect(read(DELIVERY_HEADER.timestamp, "")).toMatchObject({
    error: "the header switchyard-timestamp is missing",
  });
});

test("a header of a later version is ignored, and omitted of what is written next", () => {
  expect(read("switchyard-later", "x")).toEqual({ kind: "delivery", delivery: deliveryOf({}) });
  expect(foreignHeaders({ headers: [["switchyard-later", Buffer.from("x")]] })).toEqual([]);
});

test.each([
  ["switchyard-attempt", true],
  ["Switchyard-Attempt", true],
  ["SWITCHYARD-", true],
  ["switchYard-anything", true],
  ["switchyard", false],
  ["switchyards-", false],
  ["x-switchyard-attempt", false],
  ["ſwitchyard-attempt", false],
  ["", false],
])("the header %j is one of ours: %s", (name, isOurs) => {
  expect(isOwnHeader(name)).toBe(isOurs);
  const kept = foreignHeaders({ headers: [[name, Buffer.from("x")]] });
  expect(kept).toHaveLength(isOurs ? 0 : 1);
});

const bytes = (text: string) => Buffer.from(text);

test.each([
  { headers: [], names: {} },
  { headers: [["switchyard-message-id", bytes("m1")]], names: { messageId: "m1" } },
  {
    headers: [
      ["switchyard-source", bytes("web")],
      ["switchyard-message-id", bytes("m1")],
      ["other", bytes("x")],
    ],
    names: { messageId: "m1", source: "web" },
  },
  {
    headers: [
      ["switchyard-message-id", bytes("first")],
      ["switchyard-message-id", bytes("last")],
    ],
    names: { messageId: "last" },
  },
  { headers: [["switchyard-source", null]], names: {} },
  {
    headers: [["switchyard-message-id", bytes("m".repeat(1_000))]],
    names: { messageId: "m".repeat(100) },
  },
] as const)("the headers $headers name $names", ({ headers, names }) => {
  expect(callNames(headers)).toEqual(names);
});
