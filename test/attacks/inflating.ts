/**
 * Attacks by batches of a few kilobytes that decompress to hundreds of megabytes. Each record must become a dead letter
 * with the reason `too-large`, the next call must arrive, and memory must stay bounded.
 */

import { Producer } from "@platformatic/kafka";

import type { AttackRow } from "./attack-row.ts";
import { deadLettersOf, until } from "./producers.ts";
import type { Product } from "./product.ts";

const MEGABYTE = 2 ** 20;
const MEGABYTES_MAX = 350;
/** The size of the spaces in one batch. The compressed batch is below the topic's limit. */
const MEGABYTES = { gzip: 300, zstd: 300, lz4: 150, snappy: 15 } as const;
type Codec = keyof typeof MEGABYTES;
const CODECS: readonly Codec[] = ["gzip", "zstd", "lz4", "snappy"];
const BATCHES = 4;

export async function inflatingAttacks(product: Product): Promise<AttackRow[]> {
  const rows: AttackRow[] = [];
  for (const codec of CODECS) rows.push(await inflate(product, codec));
  return rows;
}

async function inflate(product: Product, codec: Codec): Promise<AttackRow> {
  const bytes = MEGABYTES[codec] * MEGABYTE;
  const { brokers, metric, endpoints, topics } = product;
  const key = `attack ${codec}`;
  const marker = `next after ${codec}`;
  const producer = new Producer({ clientId: "attack", bootstrapBrokers: [...brokers] });
  const value = Buffer.alloc(bytes, " ");
  for (let sent = 0; sent < BATCHES; sent += 1) {
    const messages = [{ topic: topics.calls, key: Buffer.from(key), value }];
    await producer.send({ messages, compression: codec });
  }
  await producer.close();
  const next = { type: "track", userId: "u", event: "Honest", messageId: marker };
  await product.write("calls", [{ key, value: next }]);
  let megabytes = 0;
  let deadLetters = 0;
  const isNextThere = await until(async () => {
    if (!product.isAlive()) return true;
    megabytes = Math.max(megabytes, await metric("process_resident_memory_bytes").catch(() => 0));
    return endpoints.received.some(({ messageId }) => messageId === marker);
  });
  await until(async () => {
    deadLetters = (await deadLettersOf(product, key)).length;
    return deadLetters >= BATCHES;
  });
  const most = Math.round(megabytes / MEGABYTE);
  const isAlive = product.isAlive();
  return {
    name: `${BATCHES} batches of ${codec} that inflate to ${bytes / MEGABYTE} MiB each`,
    expected: `too-large ${BATCHES}, next call arrives, at most ${MEGABYTES_MAX} MB`,
    seen: `${deadLetters} dead letters, next call ${isNextThere ? "there" : "missing"}, ${isAlive ? `${most} MB` : "the program ended"}`,
    ok: isAlive && isNextThere && deadLetters === BATCHES && most <= MEGABYTES_MAX,
  };
}
