/**
 * A partition while this consumer owns it: its fetched records that are not handed over yet, its
 * unfinished ones, its commits.
 *
 *   the fetched offset is           then
 *   where reading stopped           go on
 *   above (retention was faster)    the records between are gone: pass them
 *   below (the log was cut off)     the partition starts again, with a new handler
 *
 * A late answer to an earlier fetch is below, too: `Ownership` leaves those out.
 *
 * A record that the handler does not admit yet stays where it is, and so do those behind it. It takes
 * none of the room that partitions share.
 *
 * Fetched records are kept until they are handed over. Their partition is not fetched meanwhile.
 */

import type { CorruptBatch } from "../../domain/corrupt-batch.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { FetchedBatch, FetchedOffset } from "../membership.ts";
import type { PartitionHandler, PartitionProgress } from "../port.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { Completion } from "./completion.ts";
import { encodeHeld, withFinished, withoutRanges } from "./finished-ranges.ts";

const TAKE_MAX = 1_000;

interface PartitionOptions {
  readonly topic: string;
  readonly partition: number;
  readonly recordsMax: number;
  readonly budget: ByteBudget;
  readonly handler: PartitionHandler;
  /** It is of a passing topic. */
  readonly passes: boolean;
  /** Called when a record may be handed over that had to wait. */
  readonly onAdmits?: () => void;
}

interface Backlog {
  /** Null for a gap in the log. */
  readonly batch: FetchedBatch | null;
  /** The first record that is not handed over. */
  next: number;
  /** The offset after the batch. */
  readonly end: number;
}

export interface Commit {
  readonly offset: number;
  readonly metadata: string;
}

const NOTHING_COMMITTED: Commit = { offset: -1, metadata: "" };

/** Finished in an earlier tenure, and not committed. */
export interface Remembered extends Commit {
  readonly topicId: string;
}

export class OwnedPartition {
  readonly topic: string;
  readonly partition: number;
  readonly handler: PartitionHandler;
  readonly budget: ByteBudget;
  readonly passes: boolean;
  readonly #recordsMax: number;
  readonly #admission: Admission;
  readonly #backlog: Backlog[] = [];
  #completion: Completion | null = null;
  #committed: Commit | null = null;
  #end = 0;
  #endAtMs: number | null = null;
  /** The offset that the next fetch begins at. */
  #fetchNext = 0;
  #heldAt: number | null = null;
  /** Behind the batch that was corrupt when it was read last. */
  #corruptBefore: number | null = null;
  #isFenced = false;
  isPaused = false;
  /** As the group's coordinator told it. */
  fetched: FetchedOffset | null = null;
  /** Whether a fetch was answered since then. */
  hasReadSince = false;

  constructor(options: PartitionOptions) {
    this.topic = options.topic;
    this.partition = options.partition;
    this.handler = options.handler;
    this.passes = options.passes;
    this.#recordsMax = options.recordsMax;
    this.budget = options.budget;
    this.#admission = new Admission(options.handler, options.onAdmits ?? (() => undefined));
  }

  /** Empty when the brokers know no ids. */
  get topicId(): string {
    return this.fetched?.topicId ?? "";
  }

  /** Whether anything was fetched. */
  get hasStarted(): boolean {
    return this.#completion !== null;
  }

  get hasBacklog(): boolean {
    return this.#backlog.length > 0;
  }

  /** Its next record is not to be handed over yet: it has to be fetched no more, and stops no other. */
  get isWaiting(): boolean {
    return this.#admission.isWaiting;
  }

  get inFlightBytes(): number {
    return this.#completion?.inFlightBytes ?? 0;
  }

  /** Whether at most half of what is allowed is in flight. */
  get isHalfEmpty(): boolean {
    const inFlight = this.#completion?.inFlight ?? 0;
    return inFlight <= this.#recordsMax / 2 && this.budget.inFlight <= this.budget.max / 2;
  }

  get isEighthFree(): boolean {
    return (this.#completion?.inFlight ?? 0) * 8 <= this.#recordsMax * 7;
  }

  /** Where the group stands: before the first `offer`, and after an offset was out of range. */
  committedAt(fetched: FetchedOffset): void {
    this.fetched = fetched;
    this.hasReadSince = false;
    this.#committed = { offset: fetched.offset, metadata: fetched.metadata };
  }

  /**
   * A batch can be corrupt on its way, and be whole at the next try. So it is given up when it is
   * corrupt for the second time.
   */
  isNewCorruption({ behind }: CorruptBatch): boolean {
    const isNew = this.#corruptBefore !== behind;
    this.#corruptBefore = isNew ? behind : null;
    return isNew;
  }

  /**
   * Takes over the records of a fetch. False when the log was cut off below what was read before:
   * this object is of no use any more.
   */
  offer(batch: FetchedBatch, remembered: Remembered | null): boolean {
    const { from: start, last } = batch;
    this.hasReadSince = true;
    this.#end = batch.end;
    this.#endAtMs = Date.now();
    if (this.#completion === null) this.#start(start, remembered);
    else if (start < this.#fetchNext) return false;
    else if (start > this.#fetchNext) this.#backlog.push({ batch: null, next: 0, end: start });
    this.#fetchNext = start;
    if (last === null) return true;
    this.#fetchNext = last + 1;
    this.#backlog.push({ batch, next: 0, end: this.#fetchNext });
    return true;
  }

  #start(start: number, remembered: Remembered | null): void {
    const { topicId } = this;
    const committed =
      this.#committed?.offset === start ? this.#committed : { offset: start, metadata: "" };
    // Records that this process has finished count even if that could not be committed, as long as
    // the log is the one that they were read from. Those that others have committed count, too.
    const isUsable =
      remembered !== null &&
      remembered.topicId === topicId &&
      topicId !== "" &&
      remembered.offset <= this.#end;
    const { offset, metadata } = isUsable
      ? withFinished(committed, remembered, topicId)
      : committed;
    this.#committed = committed;
    this.#completion = new Completion({ offset, metadata, topicId, recordsMax: this.#recordsMax });
  }

  /**
   * Hands over at most 1,000 records: so many that the caller should let others run.
   *
   * @returns `more` when another call would hand over more, `full` when there is no room, or when the
   *   next record waits.
   */
  handOver(): "more" | "full" | "empty" {
    const completion = this.#completion;
    if (completion === null || this.#isFenced) return "empty";
    if (this.isWaiting) return "full";
    const records: IncomingRecord[] = [];
    let isFull = false;
    for (let batch = this.#backlog[0]; batch !== undefined; batch = this.#backlog[0]) {
      isFull = this.#take(batch, records, completion);
      if (isFull || records.length === TAKE_MAX) break;
      completion.passTo(batch.end);
      this.#backlog.shift();
    }
    if (records.length > 0) this.handler.take(records);
    if (isFull) return "full";
    return this.hasBacklog ? "more" : "empty";
  }

  /** Adds records of the batch to those to hand over; true when the next has no room, or waits. */
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

  /** False when nothing has changed. */
  finish(offset: number): boolean {
    if (this.#isFenced || this.#completion === null) return false;
    const bytes = this.#completion.finish(offset);
    if (bytes === null) return false;
    this.budget.remove(bytes);
    return true;
  }

  /** Records from `offset` on are not committed, finished or not. Null ends that. */
  hold(offset: number | null): void {
    this.#heldAt = offset;
  }

  /** The next commit, or null when there is nothing new to commit. */
  toCommit(): Commit | null {
    if (this.#completion === null || this.#isFenced) return null;
    const position = this.#held(this.#completion.position);
    const isHeld = position < this.#completion.position;
    const metadata = isHeld
      ? encodeHeld(position, this.topicId, this.#completion.position)
      : this.#completion.metadata();
    const { offset, metadata: before } = this.#committed ?? NOTHING_COMMITTED;
    // An id alone is worth no commit.
    const isSame = metadata === before || (before === "" && metadata === withoutRanges(metadata));
    return position === offset && isSame ? null : { offset: position, metadata };
  }

  wasCommitted(commit: Commit): void {
    this.#committed = commit;
  }

  /** Drops the records that are not handed over. Part of giving the partition up. */
  dropBacklog(): void {
    this.#backlog.length = 0;
  }

  get isFenced(): boolean {
    return this.#isFenced;
  }

  /** From now on `finish` does nothing. */
  fence(): void {
    this.dropBacklog();
    if (!this.#isFenced) this.budget.remove(this.inFlightBytes);
    this.#isFenced = true;
  }

  progress(): PartitionProgress {
    const position = this.#held(
      this.#completion?.position ?? Math.max(0, this.#committed?.offset ?? 0),
    );
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

  /** Fetched, and not handed over: another partition may have used up all room. */
  #oldestOfBacklog(): number | null {
    const first = this.#backlog.find(({ batch, next }) => batch !== null && next < batch.count);
    return first?.batch?.recordAt(first.next).timestampMs ?? null;
  }

  #held(position: number): number {
    return this.#heldAt === null ? position : Math.min(position, this.#heldAt);
  }
}

/**
 * Whether the next record of a partition is to be handed over yet: its handler says.
 *
 *   the handler gives   the record           and its partition
 *   a record            is handed over       goes on
 *   a promise           is not               waits, until the promise resolves; then it is asked again
 */
export class Admission {
  readonly #handler: PartitionHandler;
  readonly #onAdmits: () => void;
  #isWaiting = false;

  /** @param onAdmits called when a record may be handed over that had to wait. */
  constructor(handler: PartitionHandler, onAdmits: () => void) {
    this.#handler = handler;
    this.#onAdmits = onAdmits;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** Null: it waits. */
  admit(record: IncomingRecord): IncomingRecord | null {
    const admitted = this.#handler.admit?.(record) ?? record;
    if (!(admitted instanceof Promise)) return admitted;
    this.#isWaiting = true;
    void admitted.then(() => {
      this.#isWaiting = false;
      this.#onAdmits();
    });
    return null;
  }
}
