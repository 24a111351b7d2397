/**
 * Reads from which records the writer of a hop made deliveries (its input), and what its ledger records say about the
 * deliveries of one bin and one destination.
 */

import {
  type IncomingRecord,
  partitionKey,
  placeOf,
  type RecordPlace,
} from "../../domain/record.ts";
import type { OffsetRange, Processed } from "../../kafka/port.ts";
import type { LedgerRecord } from "../../router/ledger/ledger-record.ts";
import { type Outcome, Sum } from "../../router/ledger/tallies.ts";
import { eachInParallel } from "../connect/partition-ranges.ts";
import { writerOf } from "./books.ts";
import { Coverage } from "./coverage.ts";
import { type Hash, keyOf } from "./find-subset.ts";
import type { Balance } from "./hops.ts";
import { identified } from "./identities.ts";
import type { Contained, Content } from "./read-content.ts";
import { type AuditSource, readLedger, readRanges, type Window } from "./read-window.ts";

/** What a ledger record of the writer says about the bin and the destination. */
export interface Entry {
  /** When the process wrote the ledger record before this one. If this is the first one, the same as `atMs`. */
  readonly fromMs: number;
  readonly atMs: number;
  readonly read: LedgerRecord["read"];
  readonly sum: Sum;
  /** True if deliveries began or ended to wait in the queue: they are in the input of one entry, and in the sum of another. */
  readonly hasWaiting: boolean;
}

/** Records of the input from which the same delivery is made. */
export interface Input extends Hash {
  /** The place of the first of them that was read. */
  readonly place: RecordPlace;
  /** Those that cover the records. If they were processed again, there are several. */
  readonly entries: Entry[];
  readonly content: Contained;
}

export async function readEntries(
  source: AuditSource,
  { ledger }: Window,
  balance: Balance,
): Promise<{ entries: readonly Entry[]; others: Sum }> {
  const { hop, bin, destination } = balance;
  const entries: Entry[] = [];
  const others = new Sum();
  // Nothing about the deliveries is in the ledger.
  if (!Number.isFinite(balance.fromMs)) return { entries, others };
  const last = new Map<string, number>();
  const period = { fromMs: balance.fromMs, toMs: balance.toMs + 1 };
  await readLedger(source, ledger, period, (record, atMs) => {
    const owner = `${record.group}/${record.process}`;
    const fromMs = last.get(owner) ?? atMs;
    last.set(owner, atMs);
    const sumOf = (outcome: Outcome) => record.tallies.find(bin, destination, outcome);
    const sum = sumOf(hop.written);
    const hasWaiting = hop.name === "delay" && (sumOf("wait") ?? sumOf("in:wait")) !== null;
    if (sum === null && !hasWaiting) return;
    const isOfWriter = writerOf(record.group, source.groups) === hop.writer;
    if (!isOfWriter) return others.addAll(sum ?? new Sum());
    entries.push({ fromMs, atMs, read: record.read, sum: sum ?? new Sum(), hasWaiting });
  });
  entries.sort((one, other) => one.atMs - other.atMs);
  return { entries, others };
}

/** A range of one partition that is in the ledger record of an entry. */
interface InputRange {
  readonly entry: Entry;
  readonly place: Processed;
  readonly range: OffsetRange;
}

/**
 * Reads the input of all entries, by its keys. Their ranges are read together, because those of a second are small, and
 * there are thousands of them.
 */
export async function readInput(
  source: AuditSource,
  window: Window,
  balance: Balance,
  entries: readonly Entry[],
  { byKey }: Content,
): Promise<Iterable<Input>> {
  const found = new Map<number, Input>();
  const all = entries.flatMap((entry): readonly InputRange[] =>
    entry.read.flatMap((place) => place.ranges.map((range) => ({ entry, place, range }))),
  );
  const byPartition = Map.groupBy(all, ({ place }) => partitionKey(place));
  await eachInParallel(window.partitions, async (partition) => {
    const { end, booked } = partition;
    const own = byPartition.get(partitionKey(partition)) ?? [];
    // A topic that was recreated has other records at the same offsets. Without an ID, it cannot be told.
    const existing = own.filter(({ place: { topicId }, range }) => {
      return range[1] <= end && (topicId === "" || topicId === booked?.topicId);
    });
    const sorted = existing.toSorted((one, other) => one.range[0] - other.range[0]);
    const coverage = new Coverage();
    for (const { range } of sorted) coverage.add(range);
    let next = 0;
    let covering: InputRange[] = [];
    await readRanges(source, partition, coverage.ranges, (record) => {
      const { offset } = record;
      for (let each = sorted[next]; each !== undefined && each.range[0] <= offset; ) {
        covering = covering.filter(({ range }) => range[1] > offset);
        covering.push(each);
        next += 1;
        each = sorted[next];
      }
      const hash = hashIn(record, balance);
      if (hash === null) return;
      const key = keyOf(hash.high, hash.low);
      const input = found.get(key) ?? {
        ...hash,
        place: placeOf(record),
        entries: [],
        content: byKey.get(key) ?? { times: [], taken: 0 },
      };
      found.set(key, input);
      for (const { entry, range } of covering) if (offset < range[1]) input.entries.push(entry);
    });
  });
  return found.values();
}

/** Null if the input is not about the bin and the destination. */
function hashIn(record: IncomingRecord, balance: Balance): Hash | null {
  const isCall = balance.hop.name === "queue";
  const more = balance.hop.name === "delay" ? 1 : 0;
  const found = identified(record, isCall, more);
  const { bin, high, low } = found.identity;
  if (bin !== balance.bin || !(isCall || found.destination === balance.destination)) return null;
  return { high, low };
}
