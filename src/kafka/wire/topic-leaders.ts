/**
 * Encodes requests for the leaders of topics' partitions, and reads the responses: version 6 of Metadata, which brokers
 * of Kafka 2.0 and later accept. A process requests all of its topics every few seconds, so most responses are equal to
 * the previous one.
 */

const THROTTLE_BYTES = 4;

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

/** `true` if two responses, each after its correlation ID, are equal. */
export function isSameResponse(one: Buffer, other: Buffer): boolean {
  return one.subarray(THROTTLE_BYTES).equals(other.subarray(THROTTLE_BYTES));
}

/**
 * For each topic, the leaders of its partitions, from 0 on. Topics with an error, or with a leaderless
 * partition, are omitted.
 *
 * @param payload the part of the response that follows the correlation ID.
 */
export function readLeaders(payload: Buffer): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, readonly number[]>();
  let at = THROTTLE_BYTES;
  const int32 = (): number => {
    at += 4;
    return payload.readInt32BE(at - 4);
  };
  const skipText = (): void => {
    // A negative length means null.
    at += 2 + Math.max(0, payload.readInt16BE(at));
  };
  for (let brokers = int32(); brokers > 0; brokers -= 1) {
    at += 4; // node id
    skipText(); // host
    at += 4; // port
    skipText(); // rack
  }
  skipText(); // cluster id
  at += 4; // controller
  for (let topics = int32(); topics > 0; topics -= 1) {
    let isWhole = payload.readInt16BE(at) === 0;
    const length = payload.readInt16BE(at + 2);
    const topic = payload.toString("utf8", at + 4, at + 4 + length);
    at += 4 + length + 1; // internal
    const leaders: number[] = [];
    for (let partitions = int32(); partitions > 0; partitions -= 1) {
      at += 2; // error: of its replicas, or that it has no leader
      const partition = int32();
      leaders[partition] = int32();
      if (leaders[partition] < 0) isWhole = false;
      for (let list = 0; list < 3; list += 1) {
        const replicas = int32();
        at += 4 * replicas;
      }
    }
    if (isWhole) found.set(topic, leaders);
  }
  return found;
}
