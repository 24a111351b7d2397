/**
 * Encodes requests that ask for the leaders of topics' partitions, and reads the responses: version 6 of Metadata, which brokers
 * of Kafka 2.0 and later accept. A process requests all of its topics every few seconds, so most responses are equal to
 * the previous one.
 */

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
  const brokers = new Map<number, { readonly host: string; readonly port: number }>();
  const topics = new Map<string, TopicLeaders>();
  let at = THROTTLE_BYTES;
  const int32 = (): number => {
    at += 4;
    return payload.readInt32BE(at - 4);
  };
  const text = (): string => {
    // A negative length means null.
    const bytes = Math.max(0, payload.readInt16BE(at));
    at += 2 + bytes;
    return payload.toString("utf8", at - bytes, at);
  };
  for (let count = int32(); count > 0; count -= 1) {
    brokers.set(int32(), { host: text(), port: int32() });
    text(); // rack
  }
  text(); // cluster id
  at += CONTROLLER_BYTES;
  for (let count = int32(); count > 0; count -= 1) {
    const errorCode = payload.readInt16BE(at);
    at += 2;
    const topic = text();
    at += 1; // internal
    const partitions = int32();
    const nodes = Array.from({ length: partitions }, () => -1);
    for (let left = partitions; left > 0; left -= 1) {
      at += 2; // error code
      const partition = int32();
      nodes[partition] = int32();
      for (let list = 0; list < 3; list += 1) {
        const replicas = int32();
        at += 4 * replicas;
      }
    }
    topics.set(topic, { errorCode, nodes });
  }
  return { brokers, topics };
}
