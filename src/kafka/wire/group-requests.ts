/**
 * Encodes the two requests that group members send most often, and reads their responses: Heartbeat version 3 and
 * OffsetCommit version 5. Brokers of Kafka 2.3 and later accept both.
 */

import { writeName } from "./fetch-request.ts";
import { MessageReader } from "./flexible.ts";

const NULL_TEXT = -1;
/** Bytes of a request's fields without the strings themselves: the strings' lengths and the generation. */
const MEMBER_BYTES = 2 + 4 + 2;
const PARTITION_BYTES = 4 + 8 + 2;

/** A group member with the IDs from its latest join. */
interface MemberOfGroup {
  readonly groupId: string;
  readonly generationId: number;
  readonly memberId: string;
}

interface OffsetsOfTopic {
  readonly topic: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly offset: number;
    readonly metadata: string;
  }[];
}

const THROTTLE_BYTES = 4;

export interface GroupResponse {
  /** Kafka's error code; 0 if there is no error. For a commit, the code of the first partition that has an error. */
  readonly errorCode: number;
}

/** @param roomBytes bytes left free in front of the request. */
export function encodeHeartbeat(member: MemberOfGroup, roomBytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(roomBytes + memberBytes(member) + 2);
  // The group instance is not set.
  buffer.writeInt16BE(NULL_TEXT, writeMember(buffer, roomBytes, member));
  return buffer;
}

/** @param roomBytes bytes left free in front of the request. */
export function encodeCommit(
  member: MemberOfGroup,
  topics: readonly OffsetsOfTopic[],
  roomBytes: number,
): Buffer {
  let bytes = roomBytes + memberBytes(member) + 4;
  for (const { topic, partitions } of topics) {
    bytes += 2 + Buffer.byteLength(topic) + 4;
    for (const { metadata } of partitions) bytes += PARTITION_BYTES + Buffer.byteLength(metadata);
  }
  const buffer = Buffer.allocUnsafe(bytes);
  let at = writeMember(buffer, roomBytes, member);
  at = buffer.writeInt32BE(topics.length, at);
  for (const { topic, partitions } of topics) {
    at = writeName(buffer, at, topic);
    at = buffer.writeInt32BE(partitions.length, at);
    for (const { partition, offset, metadata } of partitions) {
      at = buffer.writeInt32BE(partition, at);
      at = buffer.writeBigInt64BE(BigInt(offset), at);
      at = writeName(buffer, at, metadata);
    }
  }
  return buffer;
}

export function readHeartbeatResponse(payload: Buffer): GroupResponse {
  return { errorCode: payload.readInt16BE(THROTTLE_BYTES) };
}

export function readCommitResponse(payload: Buffer): GroupResponse {
  const reader = new MessageReader(payload, THROTTLE_BYTES);
  let errorCode = 0;
  reader.plainArray(() => {
    reader.plainString(); // topic
    reader.plainArray(() => {
      reader.skip(4); // partition
      const each = reader.int16();
      errorCode ||= each;
    });
  });
  return { errorCode };
}

function memberBytes({ groupId, memberId }: MemberOfGroup): number {
  return MEMBER_BYTES + Buffer.byteLength(groupId) + Buffer.byteLength(memberId);
}

function writeMember(buffer: Buffer, start: number, member: MemberOfGroup): number {
  let at = writeName(buffer, start, member.groupId);
  at = buffer.writeInt32BE(member.generationId, at);
  return writeName(buffer, at, member.memberId);
}
