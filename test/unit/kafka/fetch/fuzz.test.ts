/**
 * Any bytes of a batch are either decoded or reported as corrupt with their position. `npm run fuzz:batches` decodes
 * 10,000 responses and checks memory.
 */

import { crc32c } from "@node-rs/crc32";
import { expect, test } from "vitest";
import { CorruptBatchError } from "../../../../src/domain/corrupt-batch.ts";
import { DecodedBatch } from "../../../../src/kafka/fetch/fetched-batch.ts";
import { decodePartition } from "../../../../src/kafka/wire/decode-partition.ts";
import { readFetchResponse } from "../../../../src/kafka/wire/fetch-response.ts";
import { compressed, withRecords } from "../../../support/build/compressed-batch.ts";
import { encodeBatch } from "../../../support/build/record-batches.ts";
import { fetchResponse, readerOf } from "../../../support/kafka-client/fetch-response.ts";

/** Returns numbers below `end`. The same seed gives the same numbers. */
type Pick = (end: number) => number;

function picks(seed: number): Pick {
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
async function fuzzedBatch(pick: Pick, baseOffset: number): Promise<Buffer> {
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

const BATCHES = Number(process.env.SWITCHYARD_FUZZ_BATCHES ?? 400);
const SEED = Number(process.env.SWITCHYARD_FUZZ_SEED ?? 7);
const MEBI = 1024 * 1024;

/** Decodes in the same way as a consumer, and reads every field of every record. Returns the number of records. */
async function readAll(payload: Buffer, from: number): Promise<number> {
  const wanted = { from, recordMaxBytes: MEBI, skipsCorrupt: false };
  const inflated = { bytes: 0 };
  let records = 0;
  for (const set of readFetchResponse(readerOf(payload)).sets) {
    const decoded = await decodePartition(set.records, set, wanted, inflated);
    const batch = new DecodedBatch(set, from, decoded);
    expect(batch.last === null || Number.isSafeInteger(batch.last)).toBe(true);
    for (let index = 0; index < batch.count; index += 1) {
      const { key, value, headers, offset, timestampMs } = batch.recordAt(index);
      expect([key, value].every((field) => field === null || Buffer.isBuffer(field))).toBe(true);
      expect(headers.every(([name]) => typeof name === "string")).toBe(true);
      expect([offset, timestampMs].every((each) => !Number.isNaN(each))).toBe(true);
      records += 1;
    }
  }
  return records;
}

async function decodeOne(pick: Pick): Promise<"read" | "corrupt"> {
  const batches = [await fuzzedBatch(pick, 0)];
  if (pick(3) === 0) batches.push(await fuzzedBatch(pick, 20));
  const payload = fetchResponse(Buffer.concat(batches));
  try {
    await readAll(payload, pick(4) === 0 ? pick(30) : 0);
    return "read";
  } catch (error) {
    // For an old message set, which kafkajs decodes, the error has the words of kafkajs.
    const isOld = batches.some((batch) => batch[16] !== 2);
    if (error instanceof CorruptBatchError) expect(error.topic).toBe("second");
    else if (!isOld) throw error;
    return "corrupt";
  }
}

test(`no crash and no strange error in ${BATCHES} responses`, { timeout: 1_800_000 }, async () => {
  const pick = picks(SEED);
  const seen = { read: 0, corrupt: 0 };
  let afterTenthBytes = 0;
  for (let index = 0; index < BATCHES; index += 1) {
    try {
      seen[await decodeOne(pick)] += 1;
    } catch (error) {
      throw new Error(`response ${index} of seed ${SEED}`, { cause: error });
    }
    if (index === Math.floor(BATCHES / 10)) afterTenthBytes = heldBytes();
  }
  expect(seen.read).toBeGreaterThan(BATCHES / 10);
  expect(seen.corrupt).toBeGreaterThan(BATCHES / 10);
  if (globalThis.gc !== undefined) {
    expect(heldBytes() - afterTenthBytes).toBeLessThan(16 * MEBI);
  }
});

function heldBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}
