/**
 * Encodes requests for topic IDs, and reads the responses. An ID distinguishes a topic from a deleted topic that had
 * the same name.
 *
 * Version 10 of Metadata (Kafka 2.8 and later) contains topic IDs. It uses Kafka's flexible encoding (`flexible.ts`).
 */

import { compact, MessageReader, uvarint } from "./flexible.ts";

const ABSENT_ID = "00000000-0000-0000-0000-000000000000";

/** Starts with the tagged fields that end the request header. */
export function encodeTopicIdRequest(topics: readonly string[]): Buffer {
  const parts: Buffer[] = [Buffer.from([0]), uvarint(topics.length + 1)];
  for (const topic of topics) {
    // A zero ID means that the topic is requested by name.
    parts.push(Buffer.alloc(16), compact(topic), Buffer.from([0]));
  }
  // Topics are not created automatically, authorized operations are not returned, and there are no tagged fields.
  parts.push(Buffer.from([0, 0, 0, 0]));
  return Buffer.concat(parts);
}

/** @param payload the part of the response that follows the correlation ID */
export function decodeTopicIds(payload: Buffer): ReadonlyMap<string, string> {
  const reader = new MessageReader(payload);
  reader.taggedFields();
  reader.skip(4); // throttle time
  reader.array(() => {
    reader.skip(4); // node id
    reader.string(); // host
    reader.skip(4); // port
    reader.string(); // rack
    reader.taggedFields();
  });
  reader.string(); // cluster id
  reader.skip(4); // controller
  const ids = new Map<string, string>();
  reader.array(() => {
    const errorCode = reader.int16();
    const name = reader.string();
    const id = reader.uuid();
    reader.skip(1); // internal
    reader.array(() => {
      reader.skip(2 + 4 + 4 + 4); // error, partition, leader, leader epoch
      for (let list = 0; list < 3; list += 1) reader.array(() => reader.skip(4)); // replicas
      reader.taggedFields();
    });
    reader.skip(4); // authorized operations
    reader.taggedFields();
    if (errorCode === 0 && name !== null && id !== ABSENT_ID) ids.set(name, id);
  });
  return ids;
}
