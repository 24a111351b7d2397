// A bundle is encoded to the same batch as its individual records.

import { expect, test } from "vitest";

import type { OutgoingRecord } from "../../../../src/domain/record.ts";
import { encodeProduce } from "../../../../src/kafka/wire/encode-produce.ts";
import { RecordBundle } from "../../../../src/kafka/wire/record-bundle.ts";

const NOW_MS = Date.UTC(2026, 2, 1);

type Texts = readonly (readonly [key: string, value: string])[];

function fill(bundle: RecordBundle, texts: Texts): void {
  for (const [key, value] of texts) {
    const bytes = Buffer.from(`${key}behind it`);
    bundle.open(bytes, Buffer.byteLength(key)).text(value);
    bundle.end();
  }
}

function plain([key, value]: readonly [string, string]): OutgoingRecord {
  return { topic: "t", key: Buffer.from(key), value: Buffer.from(value), headers: [] };
}

function request(messages: readonly OutgoingRecord[]): Buffer {
  const ids = { producerId: "7", producerEpoch: 1, firstSequence: 5 };
  const batch = { partition: 2, ...ids, messages, nowMs: NOW_MS };
  const topicData = [{ topic: "t", partitions: [batch] }];
  return encodeProduce({ acks: -1, timeout: 1_000, topicData });
}

const SIZES = [0, 1, 50, 63, 64, 65, 8_150, 8_191, 8_192, 70_000, 1_100_000];
const ALL: [string, Texts][] = [
  ["one record", [["m-1", "{}"]]],
  ["keys of all lengths", [0, 1, 63, 64, 9_000].map((size) => ["k".repeat(size), "v"] as const)],
  ["values of all lengths", SIZES.map((size) => ["m", "v".repeat(size)] as const)],
  ["texts that are not ASCII", [["é", "\u{1f600}".repeat(30)]]],
  ["many", Array.from({ length: 9_000 }, (_, at) => [`m-${at}`, "v".repeat(at % 150)] as const)],
];

test.each(ALL)("%s", (_name, texts) => {
  const bundle = new RecordBundle("t");
  bundle.begin(2);
  fill(bundle, texts);
  const records = texts.map(plain);
  expect(bundle.count).toBe(texts.length);
  expect(request([bundle]).equals(request(records))).toBe(true);
  expect(request(bundle.records()).equals(request(records))).toBe(true);
});

test("it says how many bytes a record has, and has all of them", () => {
  const bundle = new RecordBundle("t");
  bundle.begin(0);
  let sum = 0;
  for (const size of SIZES) {
    bundle.open(Buffer.from("k"), 1).text("v".repeat(size));
    sum += bundle.end();
  }
  expect(bundle.encoded).toHaveLength(sum);
});

test("a record that is not ended is written over, and the next use begins again", () => {
  const bundle = new RecordBundle("t");
  bundle.begin(0);
  bundle.open(Buffer.from("half"), 4).text("x".repeat(40_000));
  fill(bundle, [["a", "1"]]);
  expect(bundle.records()).toMatchObject([{ key: Buffer.from("a"), value: Buffer.from("1") }]);
  bundle.begin(null);
  fill(bundle, [["b", "2"]]);
  expect(bundle.count).toBe(1);
  expect(bundle.partition).toBeUndefined();
  expect(bundle.records()).toMatchObject([{ key: Buffer.from("b"), value: Buffer.from("2") }]);
});
