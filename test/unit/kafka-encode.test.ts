import { expect, test } from "vitest";

import { encodeProduce } from "../../src/kafka/encode-produce.ts";
import type { EncodableMessage } from "../../src/kafka/encode-records.ts";
import { frameRequest } from "../../src/kafka/frame-request.ts";
import { recordOf } from "../../src/kafka/message.ts";
import { decode, encodeBatch, lookupCodec } from "../support/record-batches.ts";

const shared = [
  ["name", Buffer.from("shared")],
  ["null", null],
] as const;

test("shared headers come before a record's own, in every copy", async () => {
  const copies = ["crm", "ads"].map((destination) => ({
    key: Buffer.from("user"),
    value: Buffer.from("call"),
    sharedHeaders: shared,
    headers: [["destination", Buffer.from(destination)] as const],
  }));
  const read = await decode(await encodeBatch(copies));
  expect(read.map(({ headers }) => headers)).toEqual(
    copies.map(({ headers }) => [...shared, ...headers]),
  );
});

test("a change of the shared headers between two requests is seen", async () => {
  const headers = [["name", Buffer.from("before")] as [string, Buffer | null]];
  const message = { key: null, value: null, headers: [], sharedHeaders: headers };
  await encodeBatch([message]);
  headers[0] = ["name", Buffer.from("after")];
  const [read] = await decode(await encodeBatch([message]));
  expect(read?.headers).toEqual(headers);
});

test("kafkajs' own messages are taken: text, lists of header values, no headers", async () => {
  const messages: EncodableMessage[] = [
    {
      key: "größe",
      value: "wert",
      headers: { a: ["1", Buffer.from("2")], b: "3" },
      timestamp: "5",
    },
    { value: null },
  ];
  const [first, second] = await decode(await encodeBatch(messages));
  expect(first).toMatchObject({ key: Buffer.from("größe"), value: Buffer.from("wert") });
  expect(first?.timestampMs).toBe(5);
  expect(first?.headers.map(([name, value]) => [name, `${value}`])).toEqual([
    ["a", "1"],
    ["a", "2"],
    ["b", "3"],
  ]);
  expect(second).toMatchObject({ key: null, value: null, headers: [] });
  // Those without a time get the time of encoding; the batch spans both.
  expect(second?.timestampMs).toBe(1_700_000_000_000);
  expect(second?.batchContext).toMatchObject({
    firstTimestampMs: 5,
    maxTimestampMs: 1_700_000_000_000,
  });
});

test("the batch says how it is compressed and whether it is in a transaction", async () => {
  const attributes = async (options: { compression?: number; transactionalId?: string }) => {
    const messages = [{ key: null, value: null, headers: [] }];
    const topicData = [{ topic: "t", partitions: [{ partition: 0, messages }] }];
    const request = await encodeProduce(
      { acks: -1, timeout: 1, topicData, ...options },
      0,
      lookupCodec,
    );
    // 27 bytes before the batch (without the transactional id), 21 in it.
    return request.readInt16BE(27 + (options.transactionalId?.length ?? 0) + 21);
  };
  expect(await attributes({})).toBe(0);
  expect(await attributes({ compression: 3 })).toBe(3);
  expect(await attributes({ compression: 4, transactionalId: "tx" })).toBe(0x14);
});

test("the frame counts everything behind its length", () => {
  const header = { apiKey: 0, apiVersion: 7, correlationId: 9, clientId: "me" };
  expect(frameRequest(header, Buffer.from("payload")).toString("hex")).toBe(
    `00000013${"0000"}${"0007"}${"00000009"}${"0002"}6d65${Buffer.from("payload").toString("hex")}`,
  );
});

test("a message set of old has no headers", () => {
  const message = { offset: "7", timestamp: "5", key: null, value: Buffer.from("v") };
  expect(recordOf("t", 1, message as never)).toMatchObject({
    topic: "t",
    partition: 1,
    offset: 7,
    timestampMs: 5,
    headers: [],
  });
});
