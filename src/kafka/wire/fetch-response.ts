/** The layout of a Fetch response, version 11. */

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
  readonly throttleTimeMs: number;
  /** 0 if the broker has not opened a session. */
  readonly sessionId: number;
  readonly sets: readonly FetchedSet[];
}

/** The part of a reader that is needed here. It throws past the end of the response. */
interface FieldReader {
  readInt16(): number;
  readInt32(): number;
  readInt64(): bigint;
  readString(isCompact: boolean): string;
  readBytes(isCompact: boolean): Buffer;
  skip(bytes: number): unknown;
}

/** Reads a response of version 11. Records stay encoded, as views of the response. */
export function readFetchResponse(reader: FieldReader): FetchResponse {
  const throttleTimeMs = reader.readInt32();
  const errorCode = reader.readInt16();
  const sessionId = reader.readInt32();
  const sets: FetchedSet[] = [];
  for (let topics = reader.readInt32(); topics > 0; topics -= 1) {
    const topic = reader.readString(false);
    for (let left = reader.readInt32(); left > 0; left -= 1) sets.push(readSet(reader, topic));
  }
  return { throttleTimeMs, errorCode, sessionId, sets };
}

function readSet(reader: FieldReader, topic: string): FetchedSet {
  const partition = reader.readInt32();
  const errorCode = reader.readInt16();
  const end = Number(reader.readInt64());
  reader.skip(8 + 8); // last stable offset, log start offset
  const aborted: AbortedTransaction[] = [];
  for (let left = reader.readInt32(); left > 0; left -= 1)
    aborted.push({
      producerId: `${reader.readInt64()}`,
      firstOffset: `${reader.readInt64()}`,
    });
  reader.skip(4); // preferred read replica
  return { topic, partition, errorCode, end, aborted, records: reader.readBytes(false) };
}
