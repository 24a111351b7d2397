// Compares our heartbeats and commits with kafkajs' own encoder, and our parsing of responses with its decoder.

import { expect, test } from "vitest";

import { Encoder } from "../../../../src/kafka/kafkajs/internals.ts";
import { loadInternal } from "../../../../src/kafka/kafkajs/kafkajs.ts";
import {
  encodeCommit,
  encodeHeartbeat,
  readCommitResponse,
  readHeartbeatResponse,
} from "../../../../src/kafka/wire/group-requests.ts";

const MEMBER = { groupId: "grüppe", generationId: 2 ** 31 - 1, memberId: "m-1" };
const THEIRS = { ...MEMBER, groupGenerationId: MEMBER.generationId };

async function theirs(path: string, request: object): Promise<Buffer> {
  const create = loadInternal(`src/protocol/requests/${path}/request.js`) as (request: object) => {
    encode(): Promise<{ readonly buffer: Buffer }>;
  };
  const { buffer } = await create(request).encode();
  return buffer;
}

test.each([0, 30])("a heartbeat with %i bytes of room in front is kafkajs'", async (roomBytes) => {
  const encoded = encodeHeartbeat(MEMBER, roomBytes).subarray(roomBytes);
  expect(encoded).toEqual(await theirs("heartbeat/v3", THEIRS));
});

test.each([
  ["of two topics", ["ünï", "b"], "ranges: ü", 0],
  ["without metadata", ["b"], "", 0],
  ["with room in front", ["b"], "x", 30],
])("a commit %s is kafkajs'", async (_, names, metadata, roomBytes) => {
  const topics = names.map((topic) => ({
    topic,
    partitions: [
      { partition: 0, offset: 2 ** 40 + 5, metadata },
      { partition: 70_000, offset: 0, metadata: "" },
    ],
  }));
  const encoded = encodeCommit(MEMBER, topics, roomBytes).subarray(roomBytes);
  expect(encoded).toEqual(await theirs("offsetCommit/v5", { ...THEIRS, topics }));
});

test("the response to a heartbeat has its error and the pause that is asked for", () => {
  const payload = new Encoder().writeInt32(250).writeInt8(0).writeInt8(27).buffer;
  expect(readHeartbeatResponse(payload)).toEqual({ errorCode: 27 });
});

const partition = (number: number, errorCode: number) =>
  new Encoder().writeInt32(number).writeInt8(0).writeInt8(errorCode);
const topic = (name: string, errorCodes: readonly number[]) =>
  new Encoder()
    .writeString(name)
    .writeArray(errorCodes.map((errorCode, number) => partition(number, errorCode)));

test.each([
  ["none", [[0, 0], [0]], 0],
  ["the first of two", [[0, 25], [16]], 25],
  [
    "of a later topic",
    [
      [0, 0],
      [0, 16],
    ],
    16,
  ],
  ["of nothing", [], 0],
])("the response to a commit has its first error: %s", (_, errors, errorCode) => {
  const topics = errors.map((errorCodes, at) => topic(`tôpic-${at}`, errorCodes));
  const payload = new Encoder().writeInt32(7).writeArray(topics).buffer;
  expect(readCommitResponse(payload)).toEqual({ errorCode });
});
