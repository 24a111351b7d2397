/** The layout of a Fetch response, version 11. */

import { MessageReader } from "./flexible.ts";

const THROTTLE_BYTES = 4;

export interface RecordSet {
  readonly topic: string;
  readonly partition: number;
  /** Kafka's error code; 0 if there is no error. */
  readonly errorCode: number;
  /** The log end offset. */
  readonly end: number;
}

export interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

/** One partition of a response. */
export interface FetchedSet extends RecordSet {
  readonly aborted: readonly AbortedTransaction[];
  readonly records: Buffer;
}

export interface FetchResponse {
  /** Kafka's error code; 0 if there is no error. */
  readonly errorCode: number;
  /** 0 if the broker has not opened a session. */
  readonly sessionId: number;
  readonly sets: readonly FetchedSet[];
}

/** Reads a response of version 11. Records stay encoded, as views of the response. */
export function readFetchResponse(payload: Buffer): FetchResponse {
  const reader = new MessageReader(payload, THROTTLE_BYTES);
  const errorCode = reader.int16();
  const sessionId = reader.int32();
  const sets = reader.plainArray(() => {
    const topic = reader.plainString() ?? "";
    return reader.plainArray(() => readSet(reader, topic, payload));
  });
  return { errorCode, sessionId, sets: sets.flat() };
}

function readSet(reader: MessageReader, topic: string, payload: Buffer): FetchedSet {
  const partition = reader.int32();
  const errorCode = reader.int16();
  const end = reader.int64();
  reader.skip(8 + 8); // last stable offset, log start offset
  const aborted = reader.plainArray(() => {
    const producerId = `${payload.readBigInt64BE(reader.skip(8))}`;
    return { producerId, firstOffset: `${payload.readBigInt64BE(reader.skip(8))}` };
  });
  reader.skip(4); // preferred read replica
  const bytes = Math.max(0, reader.int32());
  const records = payload.subarray(reader.skip(bytes), reader.at);
  return { topic, partition, errorCode, end, aborted, records };
}
