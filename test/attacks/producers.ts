/**
 * Attacks of producers: records in `calls` that no client library would write. Each must become a dead letter or a
 * signed webhook. The next honest call of the same partition must arrive, the program must continue, and its memory
 * must stay below 350 MB.
 */

import { setTimeout as pause } from "node:timers/promises";

import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import type { IncomingRecord, RecordHeaders } from "../../src/domain/record.ts";
import type { AttackOptions, AttackRow } from "./attack-row.ts";
import { type Hostile, hostileRecords } from "./hostile-records.ts";
import type { Product } from "./product.ts";

const LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 100;
/** The number of records in the flood. */
const FLOOD = 20_000;
const FLOOD_BRIEF = 500;
const MEGABYTES_MAX = 350;

export async function producerAttacks(
  product: Product,
  { isBrief }: AttackOptions,
): Promise<AttackRow[]> {
  const rows: AttackRow[] = [];
  for (const attack of hostileRecords(isBrief ? FLOOD_BRIEF : FLOOD))
    rows.push(await carryOut(product, attack));
  return rows;
}

async function carryOut(product: Product, attack: Hostile): Promise<AttackRow> {
  const { name, records, deadLetters: wanted, calls } = attack;
  const key = `attack ${name}`;
  const marker = `next after ${name}`;
  const known = product.receiver.received.length;
  const refusedBefore = product.receiver.refused.length;
  await send(product, key, records);
  const startMs = performance.now();
  await send(product, key, [{ value: JSON.stringify({ ...HONEST, messageId: marker }) }]);
  const arrived = () => product.receiver.received.slice(known);
  const isNextThere = await until(() => arrived().some(({ messageId }) => messageId === marker));
  const tookMs = Math.round(performance.now() - startMs);
  const deadLettersWanted = wanted.reduce((sum, [, count]) => sum + count, 0);
  let deadLetters: readonly IncomingRecord[] = [];
  await until(async () => {
    deadLetters = await deadLettersOf(product, key);
    return deadLetters.length >= deadLettersWanted && arrived().length >= calls + 1;
  });
  const delivered = arrived().filter(({ messageId }) => messageId !== marker);
  const problems = [
    ...(attack.judge?.(delivered) ?? []),
    ...product.receiver.refused.slice(refusedBefore),
    ...arrived().flatMap(({ destination }) =>
      destination === "honest" ? [] : [`a call reached ${destination}`],
    ),
  ];
  const megabytes = product.isAlive() ? await megabytesOf(product) : Number.NaN;
  const said = [
    counted(deadLetters),
    `${delivered.length} delivered`,
    isNextThere ? `next call after ${tookMs} ms` : "the next call did not arrive",
    product.isAlive() ? `${megabytes} MB` : "the program ended",
    ...problems,
  ];
  const expected = [...wanted.map(([reason, count]) => `${reason} ${count}`), `${calls} delivered`];
  const ok =
    isNextThere &&
    counted(deadLetters) === countsText(new Map(wanted)) &&
    delivered.length === calls &&
    problems.length === 0 &&
    megabytes < MEGABYTES_MAX;
  return { name, expected: expected.join(", "), seen: said.join(", "), ok };
}

const HONEST = { type: "track", userId: "u", event: "Honest" };

async function send(
  { producer, topics }: Product,
  key: string,
  records: readonly { readonly value: string | Buffer | null; readonly headers?: RecordHeaders }[],
): Promise<void> {
  const refused = await producer.send(
    records.map(({ value, headers = [] }) => ({
      topic: topics.calls,
      key: Buffer.from(key),
      value: typeof value === "string" ? Buffer.from(value) : value,
      headers,
    })),
  );
  if (refused.length > 0) throw new Error(`the broker refuses ${refused[0]?.error}`);
}

/** Finds dead letters by key, because a dead letter has the key of its record. */
export async function deadLettersOf(
  { kafka, topics }: Product,
  key: string,
): Promise<readonly IncomingRecord[]> {
  const found: IncomingRecord[] = [];
  const topic = topics.deadLetters;
  for (const { partition, first, end } of await kafka.admin.offsets(topic)) {
    if (first >= end) continue;
    const signal = AbortSignal.timeout(LIMIT_MS);
    const range = { topic, partition, from: first, to: end, maxBytes: 4_194_304, signal };
    for await (const records of kafka.read(range)) {
      found.push(...records.filter((record) => record.key?.toString() === key));
    }
  }
  return found;
}

function counted(deadLetters: readonly IncomingRecord[]): string {
  const counts = new Map<string, number>();
  for (const { headers } of deadLetters) {
    const [, value] = headers.findLast(([name]) => name === DEAD_LETTER_HEADER.reason) ?? [];
    const reason = value?.toString() ?? "no reason";
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return countsText(counts);
}

function countsText(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].toSorted(([one], [other]) => one.localeCompare(other));
  return sorted.map(([reason, count]) => `${reason} ${count}`).join(", ") || "no dead letter";
}

async function megabytesOf({ metric }: Product): Promise<number> {
  return Math.round((await metric("process_resident_memory_bytes")) / 2 ** 20);
}

/** Returns whether the condition became true in time. */
export async function until(look: () => boolean | Promise<boolean>): Promise<boolean> {
  for (const endAtMs = performance.now() + LIMIT_MS; performance.now() < endAtMs; ) {
    if (await look()) return true;
    await pause(LOOK_EVERY_MS);
  }
  return false;
}
