/** Generates record batches with many kinds of errors from a seed. */

import { crc32c } from "@node-rs/crc32";

import { compressed, withRecords } from "./compressed-batch.ts";
import { encodeBatch } from "./record-batches.ts";

/** Returns numbers below `end`. The same seed gives the same numbers. */
export type Pick = (end: number) => number;

export function picks(seed: number): Pick {
  let state = seed >>> 0;
  return (end) => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end;
  };
}

const RECORDS_AT = 61;
const BLANKS = Buffer.alloc(6_000_000, " ");

/** A batch that a producer might have written, in most cases with errors. */
export async function fuzzedBatch(pick: Pick, baseOffset: number): Promise<Buffer> {
  const plain = await encodeBatch(records(pick), { baseOffset });
  const kind = pick(8);
  // The batch is transactional, a control batch or stamped, in any combination.
  plain.writeInt16BE(pick(8) << 3, 21);
  if (kind === 1) scatter(plain, RECORDS_AT, pick);
  if (kind === 2) setHeader(plain, pick);
  const codec = pick(5);
  let batch = await compressed(plain, codec);
  if (kind === 3) scatter(batch, RECORDS_AT, pick);
  if (kind === 4) {
    // The codec in the header is wrong.
    batch.writeInt16BE((batch.readInt16BE(21) & ~7) | pick(8), 21);
  }
  if (kind === 5) {
    const cut = RECORDS_AT + pick(Math.max(1, batch.length - RECORDS_AT));
    batch = withRecords(batch, batch.subarray(RECORDS_AT, cut), codec);
  }
  if (kind === 6) {
    const noise = Buffer.from(Array.from({ length: pick(200) }, () => pick(256)));
    batch = withRecords(batch, noise, pick(8));
  }
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17);
  // The checksum is wrong, or the length or the magic byte is invalid.
  if (kind === 7) scatter(batch, pick(2) === 0 ? 8 : 17, pick);
  return batch;
}

function records(pick: Pick) {
  const large = pick(100) === 0 ? pick(20) : -1;
  return Array.from({ length: 1 + pick(20) }, (_, number) => ({
    key: pick(3) === 0 ? null : Buffer.from(`key-${number}`),
    value: number === large ? BLANKS : pick(5) === 0 ? null : BLANKS.subarray(0, pick(300)),
    headers: Array.from({ length: pick(4) }, (_each, at) => [`h${at}`, Buffer.from("x")] as const),
    timestamp: 1_700_000_000_000 + pick(1_000_000),
  }));
}

/** Changes a few bytes from `start` on. */
function scatter(bytes: Buffer, start: number, pick: Pick): void {
  for (let changes = 1 + pick(4); changes > 0; changes -= 1) {
    const at = start + pick(Math.max(1, bytes.length - start));
    if (at < bytes.length) bytes[at] = pick(256);
  }
}

const EXTREMES = [-1, 0, 1, 7, 0x7fffffff, -0x80000000];

/** Sets the last offset delta or the number of records to a wrong value. */
function setHeader(batch: Buffer, pick: Pick): void {
  batch.writeInt32BE(EXTREMES[pick(EXTREMES.length)] ?? 0, pick(2) === 0 ? 23 : 57);
}
