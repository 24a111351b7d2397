/** The layout of a Fetch response, versions 4 to 11, as far as it takes to find its partitions. */

export interface RecordSet {
  readonly topic: string;
  readonly partition: number;
  /** Kafka's; 0: none. */
  readonly errorCode: number;
  /** The partition's end. */
  readonly end: number;
}

/** The partitions of a response, by where their records begin: at the length in front of them. */
export function recordSets(payload: Buffer, version: number): ReadonlyMap<number, RecordSet> {
  const sets = new Map<number, RecordSet>();
  let at = version < 7 ? 4 : 10; // throttle time; then error code and session id
  const topics = payload.readInt32BE(at);
  at += 4;
  for (let index = 0; index < topics; index += 1) {
    const nameBytes = payload.readInt16BE(at);
    const topic = payload.toString("utf8", at + 2, at + 2 + nameBytes);
    const partitions = payload.readInt32BE(at + 2 + nameBytes);
    at += 2 + nameBytes + 4;
    for (let entry = 0; entry < partitions; entry += 1) {
      const partition = payload.readInt32BE(at);
      const errorCode = payload.readInt16BE(at + 4);
      const end = Number(payload.readBigInt64BE(at + 6));
      at += 4 + 2 + 8 + 8 + (version < 5 ? 0 : 8); // error, watermarks, log start
      at += 4 + Math.max(0, payload.readInt32BE(at)) * 16; // aborted transactions
      at += version < 11 ? 0 : 4; // preferred replica
      sets.set(at, { topic, partition, errorCode, end });
      at += 4 + Math.max(0, payload.readInt32BE(at));
    }
  }
  return sets;
}
