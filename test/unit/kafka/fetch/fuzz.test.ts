/**
 * Any bytes of a batch are either decoded or reported as corrupt with their position. `npm run fuzz:batches` decodes
 * 10,000 responses and checks memory.
 */

import { expect, test } from "vitest";
import { CorruptBatchError } from "../../../../src/domain/corrupt-batch.ts";
import { DecodedBatch } from "../../../../src/kafka/fetch/fetched-batch.ts";
import { messageSet } from "../../../../src/kafka/kafkajs/message-set.ts";
import { decodePartition } from "../../../../src/kafka/wire/decode-partition.ts";
import { readFetchResponse } from "../../../../src/kafka/wire/fetch-response.ts";
import { fuzzedBatch, type Pick, picks } from "../../../support/build/fuzzed-batches.ts";
import { fetchResponse } from "../../../support/kafkajs/fetch-response.ts";

const BATCHES = Number(process.env.SWITCHYARD_FUZZ_BATCHES ?? 400);
const SEED = Number(process.env.SWITCHYARD_FUZZ_SEED ?? 7);
const MEBI = 1024 * 1024;

/** Decodes in the same way as a consumer, and reads every field of every record. Returns the number of records. */
async function readAll(payload: Buffer, from: number): Promise<number> {
  const wanted = { from, recordMaxBytes: MEBI, skipsCorrupt: false };
  const inflated = { bytes: 0 };
  let records = 0;
  for (const set of readFetchResponse(payload).sets) {
    const decoded = await decodePartition(set.records, set, wanted, { inflated, messageSet });
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
