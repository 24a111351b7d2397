/**
 * Attacks of producers: records in `calls` that no client library would write. Each must become a dead letter or a
 * signed webhook. The next honest call of the same partition must arrive, the program must continue, and its memory
 * must stay below 350 MB.
 */

import { DEAD_LETTER_HEADER } from "../../src/domain/dead-letter.ts";
import type { IncomingRecord } from "../../src/domain/record.ts";
import { until as untilHeld } from "../support/kit/until.ts";
import type { AttackOptions, AttackRow } from "./attack-row.ts";
import { type Hostile, hostileRecords } from "./hostile-records.ts";
import type { Product } from "./product.ts";

const LIMIT_MS = 60_000;
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
  const known = product.endpoints.received.length;
  const refusedBefore = product.endpoints.refused.length;
  await product.write(
    "calls",
    records.map(({ value, headers = [] }) => {
      return { key, value: typeof value === "string" ? Buffer.from(value) : value, headers };
    }),
  );
  const startMs = performance.now();
  await product.write("calls", [{ key, value: { ...HONEST, messageId: marker } }]);
  const arrived = () => product.endpoints.received.slice(known);
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
    ...product.endpoints.refused.slice(refusedBefore),
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

/** Finds dead letters by key, because a dead letter has the key of its record. */
export async function deadLettersOf(
  { recordsIn }: Product,
  key: string,
): Promise<readonly IncomingRecord[]> {
  const all = await recordsIn("dead-letters");
  return all.filter((record) => record.key?.toString() === key);
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
export function until(holds: () => boolean | Promise<boolean>): Promise<boolean> {
  return untilHeld(holds, { limitMs: LIMIT_MS });
}
