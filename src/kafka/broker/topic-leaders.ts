/**
 * Requests for the leaders of topics' partitions, and their responses: version 6 of Metadata. A process requests all of its
 * topics every few seconds, and most responses are equal to the previous one, so their bytes are compared first.
 */

import { metadataV6 } from "@platformatic/kafka";

import { BoundedReader } from "./bounded-reader.ts";
import { encodedRequest, type Request } from "./request.ts";
import { LEADERS, readResponse } from "./requests.ts";

const THROTTLE_BYTES = 4;
const CONTROLLER_BYTES = 4;

/** The request, which does not create missing topics. */
export function leadersRequest(topics: readonly string[]): Request<LeadersResponse> {
  return encodedRequest(
    LEADERS,
    topics,
    (names) => metadataV6.createRequest([...names], false).buffer,
    (reader) => ({ throttleTimeMs: reader.peekInt32(), payload: reader.rest }),
  );
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

export interface LeadersResponse {
  /** The response after its correlation ID. */
  readonly payload: Buffer;
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
  const { brokers, topics } = readResponse(metadataV6, BoundedReader.of(payload));
  return {
    brokers: new Map(brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }])),
    topics: new Map(
      topics.map(({ name, errorCode, partitions }) => {
        const nodes = partitions.map(() => -1);
        for (const { partitionIndex, leaderId } of partitions)
          nodes[possiblePartition(partitionIndex)] = leaderId;
        return [name ?? "", { errorCode, nodes }];
      }),
    ),
  };
}

/** More than any topic has. */
const PARTITIONS_MAX = 1_000_000;

/** @throws RangeError if no topic has such a partition. A list that has it would be as long as its number. */
export function possiblePartition(partition: number): number {
  if (partition >= 0 && partition < PARTITIONS_MAX) return partition;
  throw new RangeError(`there is no partition ${partition}`);
}
