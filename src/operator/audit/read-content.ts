/**
 * Reads what the topics behind a hop contain of the deliveries of one bin and one destination, up to the ends that the
 * audit has seen.
 */

import type { DestinationId } from "../../domain/ids.ts";
import { placeOf, type RecordPlace } from "../../domain/record.ts";
import { BIN_MS, Sum } from "../../router/ledger/tallies.ts";
import { eachInParallel } from "../connect/partition-ranges.ts";
import { type Hash, keyOf } from "./find-subset.ts";
import type { Balance } from "./hops.ts";
import { identified } from "./identities.ts";
import { type AuditSource, partsIn, readRanges, type Window } from "./read-window.ts";

/**
 * Records are written up to this time before their ledger record, and after it if clocks differ. An owner that crashed
 * may have written them at any time since their calls were received.
 */
const MARGIN_MS = 60_000;
/** The start of the value of a delivery that notifies a destination of a deletion (`router/deletion/deletion.ts`). */
const DELETION = Buffer.from('{"type":"delete",');

/** How often the topic contains a delivery. */
export interface Contained {
  /** When each of them was written. */
  readonly times: number[];
  /** For how many of them the writer's input accounts (`settle.ts`). */
  taken: number;
}

export interface Content {
  /** By key (`keyOf`). */
  readonly byKey: ReadonlyMap<number, Contained>;
  readonly sum: Sum;
}

export async function readContent(
  source: AuditSource,
  window: Window,
  balance: Balance,
): Promise<Content> {
  const byKey = new Map<number, Contained>();
  const sum = new Sum();
  await eachCopy(source, window, balance, (copy) => {
    sum.add(copy);
    const known = byKey.get(copy.key);
    if (known === undefined) byKey.set(copy.key, { times: [copy.atMs], taken: 0 });
    else known.times.push(copy.atMs);
  });
  return { byKey, sum };
}

/** A delivery, one of the times that the topic contains it. */
export interface Copy extends Hash {
  readonly key: number;
  /** True if it was written since the audit began to read the ledger. */
  readonly isNew: boolean;
  /** True if the offset that its reader has committed is not above it. */
  readonly isWaiting: boolean;
  /** True if it notifies a destination of a deletion. */
  readonly isDeletion: boolean;
  readonly messageId: string | null;
  readonly place: RecordPlace;
  readonly atMs: number;
}

/** Visits the deliveries of the bin and the destination in the topics behind the hop. */
export async function eachCopy(
  source: AuditSource,
  { partitions }: Window,
  balance: Balance,
  visit: (copy: Copy) => void,
): Promise<void> {
  const { kafka, topics } = source;
  const { hop, fromMs, toMs } = balance;
  const id = balance.destination as DestinationId;
  const own = [topics.deliveries(id), topics.retries(id)];
  const behind = partitions.filter(
    (each) => each.hop === hop.name && (hop.name === "delay" || own.includes(each.topic)),
  );
  await eachInParallel([...Map.groupBy(behind, ({ topic }) => topic)], async ([topic, some]) => {
    const beganMs = Number.isFinite(fromMs) ? Math.min(fromMs, balance.bin * BIN_MS) : 0;
    const period = { fromMs: Math.max(0, beganMs - MARGIN_MS), toMs: toMs + MARGIN_MS };
    const parts = await partsIn(kafka.admin, topic, some, period);
    for (const { partition, before, from, to, committed } of parts) {
      await readRanges(source, { topic, partition }, [[from, to]], (record) => {
        const found = identified(record, false);
        const { messageId, identity } = found;
        const { bin, high, low } = identity;
        if (bin !== balance.bin || found.destination !== balance.destination) return;
        const key = keyOf(high, low);
        const { offset, value, timestampMs: atMs } = record;
        const isDeletion = value?.subarray(0, DELETION.length).equals(DELETION) === true;
        const at = { isNew: offset >= before, isWaiting: offset >= committed, isDeletion };
        visit({ high, low, key, messageId, place: placeOf(record), atMs, ...at });
      });
    }
  });
}
