// Record batches that brokers accept and Java's consumer reads, although no client library writes them.

import { altered, encodeBatch, withDeltas } from "./record-batches.ts";

/** By what is odd about it: a batch of one record with this value. */
export async function foreignBatches(value: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const plain = altered(await encodeBatch([{ key: null, value, headers: [] }]), (copy) => {
    for (const timeAt of [27, 35]) copy.writeBigInt64BE(BigInt(Date.now()), timeAt);
  });
  return new Map([
    ["an offset delta of 1,000,000", withDeltas(plain, [1_000_000])],
    ["an offset delta of -7", withDeltas(plain, [-7])],
  ]);
}
