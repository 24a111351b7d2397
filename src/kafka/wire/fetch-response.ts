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
  /** 0 if the broker has not opened a session. */
  readonly sessionId: number;
  readonly sets: readonly FetchedSet[];
}

/** Reads a response of version 11. Records stay encoded, as views of the response. */
export function readFetchResponse(payload: Buffer): FetchResponse {
  const sets: FetchedSet[] = [];
  let at = 10;
  const topics = payload.readInt32BE(at);
  at += 4;
  for (let index = 0; index < topics; index += 1) {
    const nameBytes = payload.readInt16BE(at);
    const topic = payload.toString("utf8", at + 2, at + 2 + nameBytes);
    const partitions = payload.readInt32BE(at + 2 + nameBytes);
    at += 2 + nameBytes + 4;
    for (let entry = 0; entry < partitions; entry += 1) {
      const abortedAt = at + 4 + 2 + 8 + 8 + 8;
      const aborted = abortedTransactions(payload, abortedAt);
      const recordsAt = abortedAt + 4 + aborted.length * 16 + 4;
      const bytes = Math.max(0, payload.readInt32BE(recordsAt));
      sets.push({
        topic,
        partition: payload.readInt32BE(at),
        errorCode: payload.readInt16BE(at + 4),
        end: Number(payload.readBigInt64BE(at + 6)),
        aborted,
        records: payload.subarray(recordsAt + 4, recordsAt + 4 + bytes),
      });
      at = recordsAt + 4 + bytes;
    }
  }
  return {
    errorCode: payload.readInt16BE(4),
    sessionId: payload.readInt32BE(6),
    sets,
  };
}

function abortedTransactions(payload: Buffer, start: number): AbortedTransaction[] {
  const count = Math.max(0, payload.readInt32BE(start));
  return Array.from({ length: count }, (_, index) => ({
    producerId: `${payload.readBigInt64BE(start + 4 + index * 16)}`,
    firstOffset: `${payload.readBigInt64BE(start + 12 + index * 16)}`,
  }));
}
