// Compares our Fetch requests with kafkajs' own encoder, and our parsing of responses with its decoder.

import { expect, test } from "vitest";

import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import { encodeFetch } from "../../../../src/kafka/wire/fetch-request.ts";
import { readFetchResponse } from "../../../../src/kafka/wire/fetch-response.ts";
import { encodeBatch } from "../../../support/build/record-batches.ts";
import { fetchResponse } from "../../../support/kafkajs/fetch-response.ts";

const kafkajsRequest = loadInternal("src/protocol/requests/fetch/v11/request.js") as (
  fetch: object,
) => { encode(): Promise<{ readonly buffer: Buffer }> };

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
  ["whole", ASKED, [], 0],
  ["with what is forgotten", ASKED.slice(2), FORGOTTEN, 0],
  ["with room in front", ASKED, FORGOTTEN, 30],
  ["without anything new", [], [], 0],
])("a request %s is kafkajs'", async (_, requested, forgotten, roomBytes) => {
  const session = { sessionId: 123_456, sessionEpoch: 7 };
  const fetch = { ...session, maxWaitMs: 500, maxBytes: 4_096, requested, forgotten };
  const encoded = encodeFetch(fetch, roomBytes);
  const topics = [...Map.groupBy(requested, ({ topic }) => topic)].map(([topic, partitions]) => ({
    topic,
    partitions: partitions.map((each) => ({ ...each, fetchOffset: each.offset })),
  }));
  const forgottenTopics = [...Map.groupBy(forgotten, ({ topic }) => topic)].map(
    ([topic, partitions]) => ({ topic, partitions: partitions.map(({ partition }) => partition) }),
  );
  const { buffer } = await kafkajsRequest({
    ...{ replicaId: -1, maxWaitTime: 500, minBytes: 1, maxBytes: 4_096, topics, forgottenTopics },
    ...session,
  }).encode();
  expect(encoded.subarray(roomBytes).equals(buffer)).toBe(true);
});

test("a response is read whole", async () => {
  const records = await encodeBatch([{ key: null, value: Buffer.from("a"), headers: [] }]);
  const payload = fetchResponse(records, Buffer.alloc(0), 6);
  payload.writeInt32BE(250, 0);
  payload.writeInt16BE(71, 4);
  payload.writeInt32BE(99, 6);
  const { sets, ...head } = readFetchResponse(payload);
  expect(head).toEqual({ errorCode: 71, sessionId: 99 });
  expect(sets).toHaveLength(4);
  expect(sets[3]).toMatchObject({ topic: "second", partition: 6, errorCode: 6, end: 4_096 });
  expect(sets[3]?.records.equals(records)).toBe(true);
  expect(sets[3]?.aborted).toEqual([{ producerId: "0", firstOffset: "0" }]);
  expect(sets[0]).toMatchObject({ topic: "first", partition: 5, errorCode: 0 });
  expect(sets[0]?.records).toHaveLength(0);
});
