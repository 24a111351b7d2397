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
import { BIN_MS } from "../../router/ledger/tallies.ts";
import { CLOCK_MARGIN_MS, eachInParallel, READ_MAX_BYTES } from "../connect/partition-ranges.ts";
import { type Bins, type BookedPartition, type BookedSum, Books, type Interval } from "./books.ts";
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
interface AuditedTopic {
  readonly topic: string;
  readonly group: string;
  /** Null for `calls` and `deletion-requests`. */
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
  readonly hop: AuditedTopic["hop"];
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
  const all: AuditedTopic[] = [
    { topic: topics.calls, group: groups.route, hop: null },
    { topic: topics.deletionRequests, group: groups.deletion, hop: null },
  ];
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

/** @param onSum see `Books`. */
export async function readWindow(
  source: AuditSource,
  bins: Bins,
  onSum: (sum: BookedSum) => void,
): Promise<Window> {
  const { admin } = source.kafka;
  const existing = await admin.topics();
  const topics = auditedTopics(source, existing);
  const names = topics.map(({ topic }) => topic);
  const asked = Map.groupBy(topics, ({ group }) => group);
  const committed = await admin.committedOf(
    new Map([...asked].map(([group, own]) => [group, own.map(({ topic }) => topic)])),
  );
  const starting = await admin.offsetsOf(names);
  const books = new Books(source.groups, bins, onSum);
  const fromMs = bins.first * BIN_MS;
  const sinceMs = Math.max(0, fromMs - CLOCK_MARGIN_MS);
  const ledger = await admin.offsets(source.topics.ledger);
  // Producers may be ahead of the stages, which then process calls before the time at which they were received.
  const whole = { fromMs: Math.max(0, sinceMs - AHEAD_MS), toMs: Number.POSITIVE_INFINITY };
  const add = (record: LedgerRecord, atMs: number) => books.add(record, atMs);
  const hasEarlier = await readLedger(source, ledger, whole, add);
  const reachesBack = hasEarlier || books.firstMs < fromMs;
  const ids = await admin.topicIds(names);
  const offsets = await admin.offsetsOf(names);
  const laterOffsets = await admin.offsetsOf(names);
  const all: WindowPartition[] = [];
  await eachInParallel(topics, async ({ topic, group, hop }) => {
    const own = committed.get(group)?.get(topic) ?? [];
    const earlier = starting.get(topic) ?? [];
    const later = laterOffsets.get(topic) ?? [];
    const period = { fromMs: sinceMs, toMs: Number.POSITIVE_INFINITY };
    const parts = await partsIn(admin, topic, offsets.get(topic) ?? [], period);
    for (const { partition, first, end, from } of parts) {
      const isSame = (other: { readonly partition: number }) => other.partition === partition;
      const booked = books.partitionOf({ topic, partition }, ids.get(topic) ?? "");
      const holes = holesOf(later.find(isSame)?.end ?? end, from, booked);
      const before = earlier.find(isSame)?.end ?? 0;
      const offsets = { first, before, end, holes, committed: own.find(isSame)?.offset ?? 0 };
      all.push({ topic, partition, hop, booked, ...offsets });
    }
  });
  const isRequests = ({ topic }: PartitionPlace) => topic === source.topics.deletionRequests;
  const partitions = all.filter((each) => !isRequests(each));
  const hasOpenDeletions = all.some((each) => isRequests(each) && each.holes.length > 0);
  return { books, reachesBack, partitions, hasOpenDeletions, ledger };
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

/** Returns true if the ledger has, or had, records of the time before the period. */
export async function readLedger(
  source: AuditSource,
  ends: readonly PartitionOffsets[],
  period: Interval,
  take: (record: LedgerRecord, atMs: number) => void,
): Promise<boolean> {
  const topic = source.topics.ledger;
  const parts = await partsIn(source.kafka.admin, topic, ends, period);
  const isNew = onlyOnce();
  await eachInParallel(parts, ({ partition, from, to }) =>
    readRanges(source, { topic, partition }, [[from, to]], ({ value, timestampMs }) => {
      const parsed = parseLedgerRecord(value);
      if (parsed !== null && isNew(parsed)) take(parsed, timestampMs);
    }),
  );
  return parts.some(({ from }) => from > 0);
}

/** Adds the offsets between which the records of a period are to the partitions of a topic. Its end may be infinite. */
export async function partsIn<Part extends PartitionOffsets>(
  admin: Kafka["admin"],
  topic: string,
  parts: readonly Part[],
  { fromMs, toMs }: Interval,
): Promise<readonly (Part & { readonly from: number; readonly to: number })[]> {
  const starts = await admin.offsetsAt(topic, fromMs);
  const stops = Number.isFinite(toMs) ? await admin.offsetsAt(topic, toMs) : [];
  return parts.map((part) => {
    const { partition, first, end } = part;
    const offsetIn = (all: typeof starts) => all.find((each) => each.partition === partition);
    const to = Math.min(offsetIn(stops)?.offset ?? end, end);
    return { ...part, from: offsetIn(starts)?.offset ?? first, to };
  });
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
