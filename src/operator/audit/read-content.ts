/**
 * Reads what the topics behind a hop contain of the deliveries of one bin and one destination, up to the ends that the
 * audit has seen.
 */

import type { DestinationId } from "../../domain/ids.ts";
import { placeOf, type RecordPlace } from "../../domain/record.ts";
import type { OffsetRange } from "../../kafka/port.ts";
import { BIN_MS } from "../../router/ledger/tallies.ts";
import { eachInParallel } from "../connect/partition-ranges.ts";
import { type Hash, keyOf } from "./find-subset.ts";
import type { Balance } from "./hops.ts";
import { type Identified, identifiedDelivery } from "./identities.ts";
import { type AuditSource, readRanges, type Window } from "./read-window.ts";

/**
 * Records are written up to this time before their ledger record, and after it if clocks differ. An owner that crashed
 * may have written them at any time since their calls were received.
 */
const MARGIN_MS = 60_000;
/** The start of the value of a delivery that notifies a destination of a deletion (`router/deletion/deletion.ts`). */
const DELETION = Buffer.from('{"type":"delete",');

export interface Contained {
  /** How often the topic contains the delivery, and the writer's input has accounted for. */
  count: number;
  taken: number;
}

function isOf({ bin, destination }: Balance, found: Identified): boolean {
  return found.identity.bin === bin && found.destination === destination;
}

export async function readContent(
  source: AuditSource,
  window: Window,
  balance: Balance,
): Promise<Map<number, Contained>> {
  const content = new Map<number, Contained>();
  await eachContent(source, window, balance, ({ key }) => {
    const known = content.get(key);
    if (known === undefined) content.set(key, { count: 1, taken: 0 });
    else known.count += 1;
  });
  return content;
}

/** A delivery that the topic contains. */
export interface Content extends Hash {
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
export async function eachContent(
  source: AuditSource,
  { partitions }: Window,
  balance: Balance,
  visit: (content: Content) => void,
): Promise<void> {
  const { kafka, topics } = source;
  const { hop, fromMs, toMs } = balance;
  const id = balance.destination as DestinationId;
  const own = [topics.deliveries(id), topics.retries(id)];
  const behind = partitions.filter(
    ({ topic, audited }) =>
      audited.hop === hop.name && (hop.name === "delay" || own.includes(topic)),
  );
  await eachInParallel([...Map.groupBy(behind, ({ topic }) => topic)], async ([topic, some]) => {
    const beganMs = Number.isFinite(fromMs) ? Math.min(fromMs, balance.bin * BIN_MS) : 0;
    const sinceMs = Math.max(0, beganMs - MARGIN_MS);
    const starts = await kafka.admin.offsetsAt(topic, sinceMs);
    const stops = Number.isFinite(toMs) ? await kafka.admin.offsetsAt(topic, toMs + MARGIN_MS) : [];
    for (const { partition, first, before, end, committed } of some) {
      const offsetIn = (all: typeof starts) => all.find((each) => each.partition === partition);
      const from = offsetIn(starts)?.offset ?? first;
      const to = Math.min(offsetIn(stops)?.offset ?? end, end);
      const ranges: OffsetRange[] = from < to ? [[from, to]] : [];
      await readRanges(source, { topic, partition }, ranges, (record) => {
        const found = identifiedDelivery(record);
        if (!isOf(balance, found)) return;
        const { high, low } = found.identity;
        const { messageId } = found;
        const key = keyOf(high, low);
        const { offset, value, timestampMs: atMs } = record;
        const isDeletion = value?.subarray(0, DELETION.length).equals(DELETION) === true;
        const at = { isNew: offset >= before, isWaiting: offset >= committed, isDeletion };
        visit({ high, low, key, messageId, place: placeOf(record), atMs, ...at });
      });
    }
  });
}

/** A delivery for which the writer's input does not account. */
export interface Spare extends Content {
  /** True if the writer's input has its message ID. */
  readonly isKnown: boolean;
  /** The delivery, each time that the topic contains it. */
  readonly all: readonly Content[];
}

/** If some of the same deliveries are too many, they are those that were written last. */
export async function readSpare(
  source: AuditSource,
  window: Window,
  balance: Balance,
  content: ReadonlyMap<number, Contained>,
): Promise<readonly Spare[]> {
  if ([...content.values()].every(({ count, taken }) => count === taken)) return [];
  const found = new Map<number, Content[]>();
  await eachContent(source, window, balance, (each) => {
    const { count = 0, taken = 0 } = content.get(each.key) ?? {};
    if (count > taken) found.set(each.key, [...(found.get(each.key) ?? []), each]);
  });
  return [...found].flatMap(([key, all]) => {
    const { taken = 0 } = content.get(key) ?? {};
    const sorted = all.toSorted((one, other) => one.atMs - other.atMs);
    return sorted.slice(taken).map((each) => ({ ...each, isKnown: taken > 0, all: sorted }));
  });
}
