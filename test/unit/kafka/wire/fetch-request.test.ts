// Compares our Fetch requests with the encoder of @platformatic/kafka.

import { fetchV11 } from "@platformatic/kafka";
import { expect, test } from "vitest";
import { encodeFetch } from "../../../../src/kafka/wire/fetch-request.ts";
import { readFetchResponse } from "../../../../src/kafka/wire/fetch-response.ts";
import { encodeBatch } from "../../../support/build/record-batches.ts";
import { fetchResponse, readerOf } from "../../../support/kafka-client/fetch-response.ts";

const READ_COMMITTED = 1;
const ASKED = [
  { topic: "ünï", partition: 3, offset: 2 ** 40 + 5, maxBytes: 65_536 },
  { topic: "ünï", partition: 0, offset: 0, maxBytes: 1 },
  { topic: "b", partition: 70_000, offset: 7, maxBytes: 9 },
];
const FORGOTTEN = [
  { topic: "c", partition: 1 },
  { topic: "c", partition: 2 },
];

test.each([
  ["whole", ASKED, []],
  ["with what is forgotten", ASKED.slice(2), FORGOTTEN],
  ["without anything new", [], []],
])("a request %s has the same bytes", (_, requested, forgotten) => {
  const session = { sessionId: 123_456, sessionEpoch: 7 };
  const fetch = { ...session, maxWaitMs: 500, maxBytes: 4_096, requested, forgotten };
  const noEpoch = { currentLeaderEpoch: -1, lastFetchedEpoch: -1, logStartOffset: -1n };
  const topics = [...Map.groupBy(requested, ({ topic }) => topic)].map(([topic, partitions]) => ({
    topic,
    // In this version, the encoder takes the name from here.
    topicId: topic,
    partitions: partitions.map(({ partition, offset, maxBytes }) => ({
      ...noEpoch,
      ...{ partition, fetchOffset: BigInt(offset), partitionMaxBytes: maxBytes },
    })),
  }));
  const forgottenTopics = [...Map.groupBy(forgotten, ({ topic }) => topic)].map(
    ([topic, partitions]) => ({
      ...{ topic, topicId: topic },
      partitions: partitions.map(({ partition }) => partition),
    }),
  );
  const { buffer } = fetchV11.createRequest(
    ...[500, 1, 4_096, READ_COMMITTED, 123_456, 7, topics, forgottenTopics, ""],
  );
  expect(encodeFetch(fetch).equals(buffer)).toBe(true);
});

test("a response is read whole", async () => {
  const records = await encodeBatch([{ key: null, value: Buffer.from("a"), headers: [] }]);
  const payload = fetchResponse(records, Buffer.alloc(0), 6);
  payload.writeInt32BE(250, 0);
  payload.writeInt16BE(71, 4);
  payload.writeInt32BE(99, 6);
  const { sets, ...head } = readFetchResponse(readerOf(payload));
  expect(head).toEqual({ throttleTimeMs: 250, errorCode: 71, sessionId: 99 });
  expect(sets).toHaveLength(4);
  expect(sets[3]).toMatchObject({ topic: "second", partition: 6, errorCode: 6, end: 4_096 });
  expect(sets[3]?.records.equals(records)).toBe(true);
  expect(sets[3]?.aborted).toEqual([{ producerId: "0", firstOffset: "0" }]);
  expect(sets[0]).toMatchObject({ topic: "first", partition: 5, errorCode: 0 });
  expect(sets[0]?.records).toHaveLength(0);
});
