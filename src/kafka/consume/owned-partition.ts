/**
 * A partition while this consumer owns it: the fetched records that are not passed on yet, the unprocessed
 * records, and the commits.
 *
 *   the fetched offset is           then
 *   where reading stopped           reading continues
 *   above that, because retention   the records in between are skipped
 *   deleted records
 *   below that, because the log     the object is unusable, and `Ownership` replaces it
 *   was truncated
 *
 * `Ownership` drops late responses to earlier fetches.
 *
 * Fetched records are kept here until they are passed on, and the partition is not fetched meanwhile. Records behind
 * one that the handler does not admit yet do not use any of the room that partitions share.
 */

import type { CorruptBatch } from "../../domain/corrupt-batch.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { type FetchedBatch, type FetchedOffset, OUT_OF_RANGE } from "../membership.ts";
import type {
  AssignedPartition,
  ConsumeOptions,
  PartitionHandler,
  PartitionProgress,
  Processed,
} from "../port.ts";
import { Admission } from "./admission.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { Completion } from "./completion.ts";
import {
  type Commit,
  encodeHeld,
  finishedIn,
  withFinished,
  withoutRanges,
} from "./finished-ranges.ts";
import { ProcessedSince } from "./processed-since.ts";

const TAKE_MAX = 1_000;

interface PartitionOptions {
  readonly topic: string;
  readonly partition: number;
  readonly recordsMax: ConsumeOptions["partitionRecordsMax"];
  readonly budget: ByteBudget;
  readonly owner: PartitionOwner;
  readonly onAssigned: (partition: AssignedPartition) => PartitionHandler;
  /** `true` if the partition belongs to a passing topic. */
  readonly passes: boolean;
}

/** What a partition needs from the consumer that owns it. */
export interface PartitionOwner {
  /** Called when a record was processed. */
  finished(): void;
  /** Called when commits may have to be held back, or no longer have to be. */
  held(): void;
  /** Called when a record that had to wait may be passed on. */
  readonly admits: () => void;
  /** Resolves with `true` if no other consumer can own the partition yet. */
  isOurs(owned: OwnedPartition): Promise<boolean>;
}

interface Backlog {
  /** The fetched batch; null for a gap in the log. */
  readonly batch: FetchedBatch | null;
  /** The index of the first record that is not passed on yet. */
  next: number;
  /** The offset after the batch. */
  readonly end: number;
}

const NOTHING_COMMITTED: Commit = { offset: -1, metadata: "" };

/** Records that were processed during an earlier tenure but could not be committed. */
export interface Remembered extends Commit {
  readonly topicId: string;
}

export class OwnedPartition implements AssignedPartition {
  readonly topic: string;
  readonly partition: number;
  readonly handler: PartitionHandler;
  readonly budget: ByteBudget;
  readonly passes: boolean;
  readonly #owner: PartitionOwner;
  readonly #recordsMaxNow: () => number;
  readonly #admission: Admission;
  /** `offer` appends, `handOver` removes, and `dropBacklog` empties it. */
  readonly #backlog: Backlog[] = [];
  /** Created by the first `offer`. */
  #completion: Completion | null = null;
  /** What the group's coordinator has: set by `committedAt`, and after each commit. */
  #committed: Commit | null = null;
  /** The commit whose offset is not in the log any more; null if there is none. Set by `committedAt`. */
  #outOfRange: Commit | null = null;
  /** Created with `#completion`. */
  #processed: ProcessedSince | null = null;
  /** The log end offset and its time, from the latest fetch. */
  #end = 0;
  #endAtMs: number | null = null;
  /** The offset after the last record that was offered. */
  #fetchNext = 0;
  /** Commits stay at or below this offset. Set by the handler, with `hold`. */
  #heldAt: number | null = null;
  /** The offset after the batch that was corrupt at the last read; null if there is none. */
  #corruptBefore: number | null = null;
  #isFenced = false;
  /** Set by `BackPressure`. */
  isPaused = false;
  /** The committed offset, as returned by the group's coordinator. */
  fetched: FetchedOffset | null = null;
  /** `true` if a fetch has received a response since `fetched` was set. */
  hasReadSince = false;

  constructor(options: PartitionOptions) {
    this.topic = options.topic;
    this.partition = options.partition;
    this.#owner = options.owner;
    this.passes = options.passes;
    const { recordsMax } = options;
    this.#recordsMaxNow = typeof recordsMax === "number" ? () => recordsMax : recordsMax;
    this.budget = options.budget;
    this.handler = options.onAssigned(this);
    this.#admission = new Admission(this.handler, options.owner.admits, () => this.#ahead());
  }

  /** Empty if the brokers have no topic IDs. */
  topicId(): string {
    return this.fetched?.topicId ?? "";
  }

  /** `true` if anything was fetched. */
  get hasStarted(): boolean {
    return this.#completion !== null;
  }

  get hasBacklog(): boolean {
    return this.#backlog.length > 0;
  }

  /**
   * `true` if the next record is not admitted yet. The partition need not be fetched then, and does not block others.
   */
  get isWaiting(): boolean {
    return this.#admission.isWaiting;
  }

  get inFlightBytes(): number {
    return this.#completion?.inFlightBytes ?? 0;
  }

  /** `true` if at most half of the limit is in flight. */
  get isHalfEmpty(): boolean {
    const hasHalf = this.#counted <= this.#recordsMaxNow() / 2;
    return hasHalf && this.budget.inFlight <= this.budget.max / 2;
  }

  get isEighthFree(): boolean {
    return this.#counted * 8 <= this.#recordsMaxNow() * 7;
  }

  /** Records in flight that count toward the limit. */
  get #counted(): number {
    return (this.#completion?.inFlight ?? 0) - this.#uncounted;
  }

  get #uncounted(): number {
    const { handler, budget } = this;
    return budget.hasRoomFor(budget.inFlight) ? (handler.followers ?? 0) : 0;
  }

  /** Sets the group's committed offset. Called before the first `offer`, and after an offset was out of range. */
  committedAt(fetched: FetchedOffset): void {
    if (fetched.offset !== OUT_OF_RANGE) this.#outOfRange = null;
    else if (this.#committed?.offset !== OUT_OF_RANGE) this.#outOfRange = this.#committed;
    this.fetched = fetched;
    this.hasReadSince = false;
    this.#committed = fetched;
  }

  /**
   * A batch can be corrupted in transit and be intact at the next attempt, so it is skipped only when it is
   * corrupt for the second time.
   */
  isNewCorruption({ behind }: CorruptBatch): boolean {
    const isNew = this.#corruptBefore !== behind;
    this.#corruptBefore = isNew ? behind : null;
    return isNew;
  }

  /**
   * Adds the records of a fetch. Returns false if the log was truncated below offsets that were already read;
   * this object is then unusable.
   */
  offer(batch: FetchedBatch, remembered: Remembered | null): boolean {
    const { from: start, last } = batch;
    this.hasReadSince = true;
    this.#end = batch.end;
    this.#endAtMs = Date.now();
    if (this.#completion === null) this.#start(start, remembered);
    else if (start < this.#fetchNext) return false;
    else if (start > this.#fetchNext) {
      this.wasNotRead(this.#fetchNext, start);
      this.#backlog.push({ batch: null, next: 0, end: start });
    }
    this.#fetchNext = start;
    if (last === null) return true;
    this.#fetchNext = last + 1;
    this.#backlog.push({ batch, next: 0, end: this.#fetchNext });
    return true;
  }

  #start(start: number, remembered: Remembered | null): void {
    const topicId = this.topicId();
    const committed =
      this.#committed?.offset === start ? this.#committed : { offset: start, metadata: "" };
    // Records that this process has processed but could not commit count as processed if the log is still the one from
    // which they were read. Records that other members have committed also count as processed.
    const isUsable =
      remembered !== null &&
      remembered.topicId === topicId &&
      topicId !== "" &&
      remembered.offset <= this.#end;
    const known = isUsable ? withFinished(committed, remembered, topicId) : committed;
    const { offset, metadata } = this.#withFinishedAbove(known, start);
    const recordsMax = this.#recordsMaxNow();
    const completion = new Completion({ offset, metadata, topicId, recordsMax });
    const before = (this.#committed?.offset ?? -1) < 0 ? null : this.#committed;
    const { topic, partition } = this;
    this.#processed = new ProcessedSince({ topic, partition, topicId }, completion, before);
    this.#committed = committed;
    this.#completion = completion;
  }

  /**
   * If retention deleted the records at the committed offset, the processed records above it are still in the log. If
   * the log was truncated instead, its offsets belong to other records.
   */
  #withFinishedAbove(known: Commit, start: number): Commit {
    const before = this.#outOfRange;
    if (before === null || before.offset >= start) return known;
    const isInLog = finishedIn(before, this.topicId()).every(([, to]) => to <= this.#end);
    return isInLog ? withFinished(known, before, this.topicId()) : known;
  }

  /**
   * Passes on at most 1,000 records, after which the caller should let other work run.
   *
   * @returns `more` if another call would pass on more records, `full` if there is no room or the next record
   *   is not admitted yet.
   */
  handOver(): "more" | "full" | "empty" {
    const completion = this.#completion;
    if (completion === null || this.#isFenced) return "empty";
    if (this.isWaiting) return "full";
    completion.recordsMax = this.#recordsMaxNow() + this.#uncounted;
    const records: IncomingRecord[] = [];
    let isFull = false;
    for (let batch = this.#backlog[0]; batch !== undefined; batch = this.#backlog[0]) {
      isFull = this.#take(batch, records, completion);
      if (isFull || records.length === TAKE_MAX) break;
      completion.passTo(batch.end);
      this.#backlog.shift();
    }
    if (records.length > 0) this.handler.take(records);
    const hasMoreRoom = this.#recordsMaxNow() + this.#uncounted > completion.recordsMax;
    if (isFull && !hasMoreRoom) return "full";
    return this.hasBacklog ? "more" : "empty";
  }

  /** Collects records from the batch; returns true if there is no room for the next record, or it is not admitted. */
  #take(backlog: Backlog, records: IncomingRecord[], completion: Completion): boolean {
    const { batch } = backlog;
    if (batch === null) return false;
    const { count } = batch;
    for (; backlog.next < count && records.length < TAKE_MAX; backlog.next += 1) {
      const record = batch.recordAt(backlog.next);
      const { bytes } = record;
      if (!this.budget.hasRoomFor(bytes)) return true;
      const admitted = completion.skips(record.offset) ? record : this.#admission.admit(record);
      if (admitted === null) return true;
      const taken = completion.take(record.offset, record.timestampMs, bytes);
      if (taken === "full") return true;
      if (taken === "skipped") continue;
      this.budget.add(bytes);
      records.push(admitted);
    }
    return false;
  }

  /** Returns the fetched records after the next one. */
  *#ahead(): Generator<IncomingRecord> {
    const [first] = this.#backlog;
    for (const backlog of [...this.#backlog]) {
      const { batch, next } = backlog;
      const from = backlog === first ? next + 1 : next;
      for (let at = from; batch !== null && at < batch.count; at += 1) yield batch.recordAt(at);
    }
  }

  /** Returns false if nothing has changed. */
  finish(offset: number): boolean {
    if (this.#isFenced || this.#completion === null) return false;
    const bytes = this.#completion.finish(offset);
    if (bytes === null) return false;
    this.budget.remove(bytes);
    this.#owner.finished();
    return true;
  }

  /** Prevents commits of records from `offset` on, even if they are processed. Null ends the hold. */
  hold(offset: number | null): void {
    this.#heldAt = offset;
    this.#owner.held();
  }

  isOurs(): Promise<boolean> {
    return this.#owner.isOurs(this);
  }

  /** The next commit, or null if there is nothing new to commit. */
  toCommit(): Commit | null {
    if (this.#completion === null || this.#isFenced) return null;
    const position = this.#held(this.#completion.position);
    const isHeld = position < this.#completion.position;
    const metadata = isHeld
      ? encodeHeld(position, this.topicId(), this.#completion.position)
      : this.#completion.metadata();
    const { offset, metadata: before } = this.#committed ?? NOTHING_COMMITTED;
    // A topic ID as the only change does not justify a commit.
    const isSame = metadata === before || (before === "" && metadata === withoutRanges(metadata));
    return position === offset && isSame ? null : { offset: position, metadata };
  }

  /** Call when the records from `offset` on, and below `end`, are passed over. */
  wasNotRead(offset: number, end: number): void {
    this.#processed?.wasNotRead(offset, end);
  }

  /** See `ProcessedSince`. Null if nothing was fetched yet. */
  takeProcessed(isLast: boolean): Processed | null {
    return this.#isFenced ? null : (this.#processed?.take(isLast) ?? null);
  }

  wasCommitted(commit: Commit): void {
    this.#committed = commit;
  }

  /** Drops the records that are not passed on yet, when the partition is revoked. */
  dropBacklog(): void {
    this.#backlog.length = 0;
  }

  get isFenced(): boolean {
    return this.#isFenced;
  }

  /** Makes later calls of `finish` have no effect. */
  fence(): void {
    this.dropBacklog();
    if (!this.#isFenced) this.budget.remove(this.inFlightBytes);
    this.#isFenced = true;
  }

  /** See `PartitionProgress`. */
  get position(): number {
    return this.#held(this.#completion?.position ?? Math.max(0, this.#committed?.offset ?? 0));
  }

  progress(): PartitionProgress {
    const { position } = this;
    return {
      topic: this.topic,
      partition: this.partition,
      position,
      next: Math.max(this.#fetchNext, this.#committed?.offset ?? 0, 0),
      end: Math.max(this.#end, position),
      endAtMs: this.#endAtMs,
      inFlight: this.#completion?.inFlight ?? 0,
      oldestUnfinishedMs: this.#completion?.oldestUnfinishedMs ?? this.#oldestOfBacklog(),
    };
  }

  /**
   * Timestamp of the oldest record that is fetched but not passed on, for example because other partitions use all the
   * room.
   */
  #oldestOfBacklog(): number | null {
    const first = this.#backlog.find(({ batch, next }) => batch !== null && next < batch.count);
    return first?.batch?.recordAt(first.next).timestampMs ?? null;
  }

  #held(position: number): number {
    return this.#heldAt === null ? position : Math.min(position, this.#heldAt);
  }
}
