/**
 * Encodes requests that ask for the leaders of topics' partitions, and reads the responses: version 6 of Metadata, which brokers
 * of Kafka 2.0 and later accept. A process requests all of its topics every few seconds, so most responses are equal to
 * the previous one.
 */

import { MessageReader, possiblePartition } from "./flexible.ts";

const THROTTLE_BYTES = 4;
const CONTROLLER_BYTES = 4;

/** Encodes a request that does not create missing topics. */
export function encodeLeadersRequest(topics: readonly string[]): Buffer {
  const bytes = topics.reduce((sum, topic) => sum + 2 + Buffer.byteLength(topic), 4 + 1);
  const buffer = Buffer.alloc(bytes);
  let at = buffer.writeInt32BE(topics.length, 0);
  for (const topic of topics) {
    const length = buffer.write(topic, at + 2);
    buffer.writeInt16BE(length, at);
    at += 2 + length;
  }
  return buffer;
}

/**
 * `true` if two responses, each after its correlation ID, are equal except for the controller. With KRaft, each response
 * has the ID of any broker instead.
 */
export function isSameResponse(one: Buffer, other: Buffer): boolean {
  const [start, end] = [controllerAt(one), controllerAt(one) + CONTROLLER_BYTES];
  return (
    one.subarray(THROTTLE_BYTES, start).equals(other.subarray(THROTTLE_BYTES, start)) &&
    one.subarray(end).equals(other.subarray(end))
  );
}

function controllerAt(payload: Buffer): number {
  const afterText = (at: number): number => at + 2 + Math.max(0, payload.readInt16BE(at));
  let at = THROTTLE_BYTES + 4;
  for (let left = payload.readInt32BE(THROTTLE_BYTES); left > 0; left -= 1) {
    const afterHost = afterText(at + 4);
    at = afterText(afterHost + 4); // port, rack
  }
  return afterText(at); // cluster ID
}

export interface Leaders {
  /** Broker addresses by node ID. */
  readonly brokers: ReadonlyMap<number, { readonly host: string; readonly port: number }>;
  readonly topics: ReadonlyMap<string, TopicLeaders>;
}

export interface TopicLeaders {
  /** Kafka's error code; 0 if there is no error. */
  readonly errorCode: number;
  /** The node IDs of the leaders, by partition, from 0 on. Negative if a partition has no leader. */
  readonly nodes: readonly number[];
}

/** @param payload the response after its correlation ID. */
export function readLeaders(payload: Buffer): Leaders {
  const reader = new MessageReader(payload, THROTTLE_BYTES);
  const brokers = reader.plainArray(() => {
    const node = reader.int32();
    const address = { host: reader.plainString() ?? "", port: reader.int32() };
    reader.plainString(); // rack
    return [node, address] as const;
  });
  reader.plainString(); // cluster id
  reader.skip(CONTROLLER_BYTES);
  const topics = reader.plainArray(() => {
    const errorCode = reader.int16();
    const topic = reader.plainString() ?? "";
    reader.skip(1); // internal
    const led = reader.plainArray(() => {
      reader.skip(2); // error code
      const partition = possiblePartition(reader.int32());
      const leader = reader.int32();
      for (let list = 0; list < 3; list += 1) reader.plainArray(() => reader.skip(4)); // replicas
      return [partition, leader] as const;
    });
    const nodes = led.map(() => -1);
    for (const [partition, leader] of led) nodes[partition] = leader;
    return [topic, { errorCode, nodes }] as const;
  });
  return { brokers: new Map(brokers), topics: new Map(topics) };
}
