import { expect, test } from "vitest";

import { recordOf } from "../../../../src/kafka/wire/fetched-record.ts";
import { decode, encodeBatch } from "../../../support/build/record-batches.ts";

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

test("a record without a time gets the time of encoding; the batch spans all times", async () => {
  const record = { key: null, value: null, headers: [] };
  const read = await decode(await encodeBatch([{ ...record, timestamp: 5 }, record]));
  expect(read.map(({ timestampMs }) => timestampMs)).toEqual([5, 1_700_000_000_000]);
  expect(read[0]?.batchContext).toMatchObject({
    firstTimestampMs: 5,
    maxTimestampMs: 1_700_000_000_000,
  });
});

test("a message set of old has no headers", () => {
  const message = { offset: "7", timestamp: "5", key: null, value: Buffer.from("v") };
  expect(recordOf("t", 1, message)).toMatchObject({
    topic: "t",
    partition: 1,
    offset: 7,
    timestampMs: 5,
    headers: [],
  });
});
