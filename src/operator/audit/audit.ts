/**
 * Adds up what became of the calls that were received in a period (docs/guarantees.md#audit), from Kafka alone, and
 * without a consumer group.
 *
 *   what is found                                             means
 *   all balances are zero (`hops.ts`)                         nothing is missing
 *   a balance differs                                         the deliveries are named (`locate.ts`)
 *   an offset that is not in the ledger, at or above the      the record waits, or is being processed
 *     committed one
 *   ... below it, where another program moved the offset      the record was skipped
 *   ... below it, otherwise                                   unknown: processed without a ledger
 *   ... and the record no longer exists, or is corrupt        nobody has read it. For topics behind a hop, the
 *                                                             balance names the deliveries
 *   an offset that is in two ledger records                   the record was processed twice
 *   `wait` exceeds `in:wait`                                  deliveries wait behind an earlier one of their user
 *   `skipped:settled`                                         a copy of a delivery that had ended was dropped
 */

import { counted } from "../../base/words/count.ts";
import { type IncomingRecord, placeOf } from "../../domain/record.ts";
import { BIN_MS } from "../../router/ledger/tallies.ts";
import { eachInParallel } from "../connect/partition-ranges.ts";
import { type Bins, type BookedSum, isIn } from "./books.ts";
import { keyOf } from "./find-subset.ts";
import { type Balance, Balances, HOPS, type HopName, isWrittenBy } from "./hops.ts";
import { type Identified, identified } from "./identities.ts";
import { type Finding, type Located, locate } from "./locate.ts";
import { type AuditSource, readRanges, readWindow, type WindowPartition } from "./read-window.ts";

/** What became of the deliveries for a destination. */
export class DestinationSums {
  /** False if other programs read the destination's topic, or it is not configured any more. */
  readonly isAudited: boolean;
  /** Routed by the route stage, and written by the deletion stage and by replays. */
  routed = 0;
  notified = 0;
  replayed = 0;
  /** Additional parts of deliveries that must be accepted by several endpoints. */
  parts = 0;
  delivered = 0;
  suppressed = 0;
  queued = 0;
  /** Set aside behind an earlier delivery of their user, and not read back yet. */
  waiting = 0;
  awaitingRetry = 0;
  /** Copies of deliveries that had ended, which were not sent. */
  dropped = 0;
  /** Deliveries that may have been sent twice. */
  repeated = 0;
  missing = 0;
  tooMany = 0;
  /** Deliveries that are missing or too many, and cannot be told from others. */
  unnamed = 0;
  /** By reason. */
  readonly deadLettered = new Map<string, number>();
  readonly skipped = new Map<string, number>();

  constructor(isAudited: boolean) {
    this.isAudited = isAudited;
  }
}

export interface AuditReport {
  /** The first time that is audited, and the end. Both are multiples of ten minutes. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly calls: {
    routed: number;
    /** Calls that were routed twice, and therefore written twice for each of their destinations. */
    repeated: number;
    readonly deadLettered: Map<string, number>;
    waiting: number;
  };
  readonly destinations: ReadonlyMap<string, DestinationSums>;
  readonly findings: readonly Finding[];
  /** Sentences about deliveries that are missing or too many, and cannot be told from others. */
  readonly unnamed: readonly string[];
  /** Sentences about what cannot be known. */
  readonly unknown: readonly string[];
  /** When owners of partitions crashed. */
  readonly crashes: readonly { readonly group: string; readonly atMs: number }[];
}

/** The number of records of a partition, from the committed offset on, that may be in progress. */
const OPEN_MAX = 10_000;
/** Maximum number of keys that are kept for a hop: more would not fit into memory. */
const KEYS_MAX = 5_000_000;

export async function audit(
  source: AuditSource,
  asked: { readonly fromMs: number; readonly toMs: number },
): Promise<AuditReport> {
  const bins = { first: Math.ceil(asked.fromMs / BIN_MS), end: Math.floor(asked.toMs / BIN_MS) };
  return await new Auditor(source, bins).run();
}

class Auditor {
  readonly #source: AuditSource;
  readonly #bins: Bins;
  readonly #audited: ReadonlySet<string>;
  readonly #balances: Balances;
  readonly #findings: Finding[] = [];
  readonly #unknown: string[] = [];
  readonly #unnamed: string[] = [];
  readonly #open = new Map<HopName, Set<number>>();
  /** Records that were processed without a ledger, by partition. */
  readonly #unledgered = new Map<string, number>();
  readonly #calls = {
    routed: 0,
    repeated: 0,
    deadLettered: new Map<string, number>(),
    waiting: 0,
  };
  readonly #destinations = new Map<string, DestinationSums>();

  constructor(source: AuditSource, bins: Bins) {
    this.#source = source;
    this.#audited = new Set(source.destinations);
    this.#bins = bins;
    this.#balances = new Balances(bins);
  }

  async run(): Promise<AuditReport> {
    const { first, end } = this.#bins;
    const window = await readWindow(this.#source, this.#bins, (booked) => this.#add(booked));
    if (!window.reachesBack) this.#unknown.push(beginning(window.books.firstMs));
    await eachInParallel(window.partitions, (partition) => this.#readHoles(partition));
    await eachInParallel(window.partitions, (partition) => this.#readRepeats(partition));
    for (const [place, count] of this.#unledgered) {
      this.#unknown.push(`${counted(count, "record")} of ${place}: processed without a ledger`);
    }
    for (const { group, fromMs } of window.books.openReplays()) {
      const at = new Date(fromMs).toISOString();
      this.#unknown.push(`${group} has not ended: what it wrote after ${at} is not in the ledger`);
    }
    for (const balance of this.#balances.open()) {
      // Other programs read the topics of other destinations.
      if (!this.#audited.has(balance.destination)) continue;
      this.#addLocated(balance, await locate(this.#source, window, balance, this.#open));
    }
    for (const sums of this.#destinations.values()) settleWaiting(sums);
    return {
      fromMs: first * BIN_MS,
      toMs: end * BIN_MS,
      calls: this.#calls,
      destinations: this.#destinations,
      findings: this.#findings,
      unnamed: this.#unnamed,
      unknown: this.#unknown,
      crashes: window.books
        .changes()
        .flatMap(({ group, toMs, isCrash }) => (isCrash ? [{ group, atMs: toMs }] : [])),
    };
  }

  #add(booked: BookedSum): void {
    const { writer, destination, outcome, sum } = booked;
    const { count } = sum;
    this.#balances.addBooked(booked);
    const [kind, reason = ""] = outcome.split(":");
    if (writer === "route" && destination === "") {
      if (kind === "in") this.#calls.routed += count;
      if (kind === "dead") addTo(this.#calls.deadLettered, reason, count);
      return;
    }
    if (destination === "") return;
    const sums = this.#of(destination);
    // A call for a destination may be dead-lettered by the route stage already.
    if (["queued", "retry", "dead"].includes(kind ?? "")) {
      if (writer === "route") sums.routed += count;
      if (writer === "deletion") sums.notified += count;
      if (writer === "replay") sums.replayed += count;
    }
    // A dead letter for which its user waits is replayed to the retry topic.
    if (writer === "replay" && kind === "returned") sums.replayed += count;
    if (kind === "delivered") sums.delivered += count;
    if (kind === "suppressed") sums.suppressed += count;
    if (kind === "dead") addTo(sums.deadLettered, reason, count);
    if (outcome === "wait") sums.waiting += count;
    if (outcome === "in:wait") sums.waiting -= count;
    if (outcome === "skipped:settled") sums.dropped += count;
    else if (kind === "skipped") addTo(sums.skipped, reason, count);
    if (writer === "deliver") sums.parts += kind === "in" ? -count : count;
  }

  async #readHoles(partition: WindowPartition): Promise<void> {
    const { hop, holes, first, end, committed } = partition;
    let left = OPEN_MAX;
    const take = (record: IncomingRecord) => {
      const found = identified(record, hop === null);
      const isInBins = isIn(this.#bins, found.identity.bin);
      if (isInBins && (left > 0 || record.offset < committed)) this.#keepOpen(hop, record);
      if (record.offset >= committed) left -= 1;
      if (record.offset >= end) return;
      if (hop !== null) this.#balances.addRecord(hop, found.destination, found.identity, 1);
      if (!isInBins) return;
      if (hop !== null && !this.#audited.has(found.destination)) return;
      if (record.offset >= committed) this.#addWaiting(hop, found.destination, 1);
      else this.#notProcessed(partition, record, found);
    };
    await readRanges(this.#source, partition, holes, take, ({ offset, behind }) => {
      if (offset < committed) this.#passedOver(partition, offset, behind, "are corrupt");
    });
    if (hop !== null) return;
    for (const [from, to] of holes) {
      const until = Math.min(to, first);
      if (from < until)
        this.#passedOver(partition, from, until, "were deleted before they were read");
    }
  }

  /** The reader of the topic may have written deliveries of the record to these hops. */
  #keepOpen(hop: HopName | null, record: IncomingRecord): void {
    const more = hop === "queue" || hop === "retry" ? 1 : 0;
    const { identity } = identified(record, hop === null, more);
    const key = keyOf(identity.high, identity.low);
    const reader = hop === null ? "route" : HOPS[hop].reader;
    for (const next of Object.values(HOPS)) {
      if (!isWrittenBy(next, reader)) continue;
      const keys = this.#open.get(next.name) ?? new Set();
      if (keys.size < KEYS_MAX) this.#open.set(next.name, keys.add(key));
    }
  }

  #addWaiting(hop: HopName | null, destination: string, count: number): void {
    if (hop === null) this.#calls.waiting += count;
    else if (hop === "queue") this.#of(destination).queued += count;
    else this.#of(destination).awaitingRetry += count;
  }

  #notProcessed(
    { topic, partition, booked }: WindowPartition,
    record: IncomingRecord,
    { messageId, destination }: Identified,
  ): void {
    const { offset, timestampMs: atMs } = record;
    const isMoved = booked?.moved.some(([from, to]) => from <= offset && offset < to) === true;
    if (!isMoved) {
      addTo(this.#unledgered, `${topic}/${partition}`, 1);
      return;
    }
    const last = `not processed, because another program moved the offset of the group ${booked.group}`;
    const place = placeOf(record);
    const forWhom = destination === "" ? null : destination;
    this.#findings.push({ kind: "skipped", messageId, destination: forWhom, place, atMs, last });
    if (destination !== "") this.#of(destination).missing += 1;
  }

  /** Their message IDs are unknown. */
  #passedOver({ topic, partition }: WindowPartition, from: number, end: number, why: string): void {
    const last = `the offsets from ${from} to ${end - 1} ${why}`;
    const place = { topic, partition, offset: from };
    const nobody = { messageId: null, destination: null };
    this.#findings.push({ kind: "unread", ...nobody, place, atMs: null, last });
  }

  async #readRepeats(partition: WindowPartition): Promise<void> {
    const { hop, booked } = partition;
    for (const range of booked?.repeats ?? []) {
      if (range[1] > partition.end) continue;
      await readRanges(this.#source, partition, [range], (record) => {
        const { destination, identity } = identified(record, hop === null);
        const isInBins = isIn(this.#bins, identity.bin);
        if (hop !== null) {
          this.#balances.addRecord(hop, destination, identity, -1);
          if (isInBins) this.#of(destination).repeated += 1;
        } else if (isInBins) {
          this.#calls.routed -= 1;
          this.#calls.repeated += 1;
        }
      });
    }
  }

  #addLocated({ hop, destination, bin }: Balance, located: Located): void {
    const { findings, repeated, inProgress, unsure, unnamed } = located;
    const sums = this.#of(destination);
    for (const finding of findings) {
      this.#findings.push(finding);
      if (finding.kind === "missing") sums.missing += 1;
      else sums.tooMany += 1;
    }
    sums.repeated += repeated;
    sums.unnamed += unnamed;
    // It is counted where it was read, and not where it was written.
    this.#addWaiting(hop.name, destination, -inProgress);
    const from = new Date(bin * BIN_MS).toISOString();
    if (unsure > 0) {
      const what = `${counted(unsure, "delivery", "deliveries")} of the ten minutes from ${from}`;
      this.#unknown.push(
        `${destination}: ${what} differ after a crash or a change of the owner, and whether others are missing cannot be known`,
      );
    }
    if (unnamed > 0) {
      const what = `${counted(unnamed, "delivery", "deliveries")} missing or too many`;
      this.#unnamed.push(
        `${destination}: ${what}, which cannot be told from others, among those received in the ten minutes from ${from}`,
      );
    }
  }

  #of(destination: string): DestinationSums {
    const known = this.#destinations.get(destination);
    if (known !== undefined) return known;
    const sums = new DestinationSums(this.#audited.has(destination));
    this.#destinations.set(destination, sums);
    return sums;
  }
}

/**
 * If an owner crashes after it has set a delivery aside, and before its ledger record, the next owner drops the record when
 * it is read again. The delivery is still read back, once more than it was set aside.
 */
function settleWaiting(sums: DestinationSums): void {
  if (sums.waiting >= 0) return;
  sums.dropped += sums.waiting;
  sums.waiting = 0;
}

function beginning(firstMs: number): string {
  if (!Number.isFinite(firstMs)) return "the ledger is empty";
  const at = new Date(firstMs).toISOString();
  return `the ledger begins at ${at}: calls that were processed before are not in the sums`;
}

function addTo(counts: Map<string, number>, key: string, number: number): void {
  counts.set(key, (counts.get(key) ?? 0) + number);
}
