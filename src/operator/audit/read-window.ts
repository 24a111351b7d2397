/**
 * Reads what an audit compares: the committed offsets, then the ledger, and then the records that are not in it.
 *
 *   the order of reading               because
 *   1  committed offsets               a ledger record is written before its offsets are committed, so an offset
 *                                      below a committed one must be in the ledger
 *   2  the ends of all topics          records from these offsets on may have been written by a stage or a replay whose
 *                                      ledger record is not read any more
 *   3  the ledger, to its end          what is written to a topic later is only found as a record
 *   4  the ends of all topics          a topic then contains everything that is in the ledger
 *   5  these ends once more            what is below the first ends may have been made from records that were written
 *                                      between the two: they are input in progress, and are not compared
 *   6  records whose offsets are not   they wait, are being processed, or were never processed
 *      in the ledger
 */

import type { CorruptBatch } from "../../domain/corrupt-batch.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { IncomingRecord, PartitionPlace } from "../../domain/record.ts";
import { delayOfTopic, type GroupNames, type TopicNames } from "../../domain/topics.ts";
import type { Kafka, OffsetRange, PartitionOffsets } from "../../kafka/port.ts";
import { type LedgerRecord, parseLedgerRecord } from "../../router/ledger/ledger-record.ts";
import { CLOCK_MARGIN_MS, eachInParallel, READ_MAX_BYTES } from "../connect/partition-ranges.ts";
import { type Bins, type BookedPartition, Books, type Interval } from "./books.ts";
import type { HopName } from "./hops.ts";

/** How far the clocks of producers may be ahead. */
const AHEAD_MS = 3_600_000;

export interface AuditSource {
  readonly kafka: Pick<Kafka, "admin" | "read">;
  readonly topics: TopicNames;
  readonly groups: GroupNames;
  /** The destinations to which requests are sent. */
  readonly destinations: readonly DestinationId[];
  readonly signal: AbortSignal;
  /** Called with the number of records that were read. */
  readonly onRead: (records: number) => void;
}

/** A topic whose records are compared, and the group that reads it. */
export interface AuditedTopic {
  readonly topic: string;
  readonly group: string;
  /** Null for `calls`. */
  readonly hop: HopName | null;
}

export interface Window {
  readonly books: Books;
  /** True if the ledger has records of the time before the window. */
  readonly reachesBack: boolean;
  readonly partitions: readonly WindowPartition[];
  /** True if notifications of deletions may be in the ledger later, because their requests are not in it. */
  readonly hasOpenDeletions: boolean;
  /** The ends of the ledger's partitions. What is written later is not compared. */
  readonly ledger: readonly PartitionOffsets[];
}

/** A partition, from its first record of the window to its end. */
export interface WindowPartition extends PartitionPlace {
  readonly audited: AuditedTopic;
  /** Null if the ledger has nothing about the partition. */
  readonly booked: BookedPartition | null;
  /** The first offset that still exists, and the end. */
  readonly first: number;
  readonly end: number;
  /** The end before the ledger was read. */
  readonly before: number;
  /** Offsets that are not in the ledger. From `end` on, they are only input in progress. */
  readonly holes: readonly OffsetRange[];
  readonly committed: number;
}

function auditedTopics(
  { topics, groups, destinations }: AuditSource,
  existing: readonly string[],
): readonly AuditedTopic[] {
  const all: AuditedTopic[] = [{ topic: topics.calls, group: groups.route, hop: null }];
  for (const id of destinations) {
    const group = groups.deliver(id);
    all.push({ topic: topics.deliveries(id), group, hop: "queue" });
    all.push({ topic: topics.retries(id), group, hop: "retry" });
  }
  for (const topic of existing) {
    const delay = delayOfTopic(topic, topics);
    if (delay !== null) all.push({ topic, group: groups.delay(delay), hop: "delay" });
  }
  return all.filter(({ topic }) => existing.includes(topic));
}

/** @param fromMs the start of the first bin. */
export async function readWindow(source: AuditSource, bins: Bins, fromMs: number): Promise<Window> {
  const { admin } = source.kafka;
  const existing = await admin.topics();
  const topics = auditedTopics(source, existing);
  const names = topics.map(({ topic }) => topic);
  const asked = Map.groupBy(topics, ({ group }) => group);
  const committed = await admin.committedOf(
    new Map([...asked].map(([group, own]) => [group, own.map(({ topic }) => topic)])),
  );
  const starting = await admin.offsetsOf(names);
  const books = new Books(source.groups, bins);
  const sinceMs = Math.max(0, fromMs - CLOCK_MARGIN_MS);
  const ledger = await admin.offsets(source.topics.ledger);
  // Producers may be ahead of the stages, which then process calls before the time at which they were received.
  const whole = { fromMs: Math.max(0, sinceMs - AHEAD_MS), toMs: Number.POSITIVE_INFINITY };
  const add = (record: LedgerRecord, atMs: number) => books.add(record, atMs);
  const hasEarlier = await readLedger(source, ledger, whole, add);
  const reachesBack = hasEarlier || (books.written?.fromMs ?? fromMs) < fromMs;
  const ids = await admin.topicIds(names);
  const offsets = await admin.offsetsOf(names);
  const laterOffsets = await admin.offsetsOf(names);
  const partitions: WindowPartition[] = [];
  await eachInParallel(topics, async (audited) => {
    const { topic, group } = audited;
    const starts = await admin.offsetsAt(topic, sinceMs);
    const own = committed.get(group)?.get(topic) ?? [];
    const later = laterOffsets.get(topic) ?? [];
    for (const each of offsets.get(topic) ?? []) {
      const { partition, first, end } = each;
      const { end: laterEnd } = later.find((other) => other.partition === partition) ?? each;
      const at = (all: readonly { partition: number; offset: number }[]) =>
        all.find((other) => other.partition === partition)?.offset ?? 0;
      const before = starting.get(topic)?.find((other) => other.partition === partition)?.end ?? 0;
      const booked = books.partitionOf({ topic, partition }, ids.get(topic) ?? "");
      const holes = holesOf(laterEnd, at(starts), booked);
      const offsets = { first, before, end, holes, committed: at(own) };
      partitions.push({ topic, partition, audited, booked, ...offsets });
    }
  });
  const hasOpenDeletions =
    existing.includes(source.topics.deletionRequests) &&
    (await hasOpenRequests(source, books, sinceMs));
  return { books, reachesBack, partitions, hasOpenDeletions, ledger };
}

async function hasOpenRequests(
  { kafka: { admin }, topics: { deletionRequests: topic } }: AuditSource,
  books: Books,
  sinceMs: number,
): Promise<boolean> {
  const id = (await admin.topicIds([topic])).get(topic) ?? "";
  const starts = await admin.offsetsAt(topic, sinceMs);
  return (await admin.offsets(topic)).some(({ partition, first, end }) => {
    const start = starts.find((other) => other.partition === partition)?.offset ?? first;
    return holesOf(end, start, books.partitionOf({ topic, partition }, id)).length > 0;
  });
}

/** Offsets below the first one in the ledger belong to earlier calls, unless they are in the window. */
function holesOf(
  end: number,
  start: number,
  booked: BookedPartition | null,
): readonly OffsetRange[] {
  if (booked === null) return start < end ? [[start, end]] : [];
  const from = Math.min(start, booked.coverage.first ?? start);
  return booked.coverage.holes([from, end]);
}

/** Returns true if the ledger has, or had, records of the time before `fromMs`. */
export async function readLedger(
  { kafka, topics, signal, onRead }: AuditSource,
  ends: readonly PartitionOffsets[],
  { fromMs, toMs }: Interval,
  take: (record: LedgerRecord, atMs: number) => void,
): Promise<boolean> {
  const starts = await kafka.admin.offsetsAt(topics.ledger, fromMs);
  const stops =
    toMs === Number.POSITIVE_INFINITY ? [] : await kafka.admin.offsetsAt(topics.ledger, toMs);
  const isNew = onlyOnce();
  await eachInParallel(ends, async ({ partition, first, end }) => {
    const from = starts.find((each) => each.partition === partition)?.offset ?? first;
    const stop = stops.find((each) => each.partition === partition)?.offset ?? end;
    const to = Math.min(stop, end);
    const range = { topic: topics.ledger, partition, from, to, maxBytes: READ_MAX_BYTES, signal };
    for await (const records of kafka.read(range)) {
      for (const { value, timestampMs } of records) {
        const parsed = parseLedgerRecord(value);
        if (parsed !== null && isNew(parsed)) take(parsed, timestampMs);
      }
      onRead(records.length);
    }
  });
  return starts.some(({ offset }) => offset > 0);
}

/** Returns a function that recognizes ledger records that exist twice: they are written again in the same order. */
function onlyOnce(): (record: LedgerRecord) => boolean {
  const last = new Map<string, number>();
  return ({ group, process, number }) => {
    const key = `${group}/${process}`;
    if (number <= (last.get(key) ?? -1)) return false;
    last.set(key, number);
    return true;
  };
}

/**
 * Reads ranges of one partition. Records that no longer exist are not passed on, nor are those of corrupt batches.
 *
 * @param onCorrupt called with each corrupt batch.
 */
export async function readRanges(
  { kafka, signal, onRead }: Pick<AuditSource, "kafka" | "signal" | "onRead">,
  { topic, partition }: PartitionPlace,
  ranges: readonly OffsetRange[],
  take: (record: IncomingRecord) => void,
  onCorrupt: (batch: CorruptBatch) => void = () => undefined,
): Promise<void> {
  for (const [from, to] of ranges) {
    const place = { topic, partition, from, to };
    const range = { ...place, maxBytes: READ_MAX_BYTES, signal, onSkipped: onCorrupt };
    for await (const records of kafka.read(range)) {
      for (const record of records) take(record);
      onRead(records.length);
    }
  }
}
