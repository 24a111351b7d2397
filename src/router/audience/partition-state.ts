/**
 * The state of one partition: audiences in memory, members on disk, and pending writes. The writes of a step are
 * made in this order (ARCHITECTURE.md#invariants, 11):
 *
 *   write                                     if the process crashes after it
 *   1  calls and dead letters, acknowledged   they are written again, with the same message IDs
 *   2  the changelog, acknowledged            the store catches up when it is opened
 *   3  store and checkpoint, in one batch     the records are skipped, or counted again in an open sync
 *   4  the topic `audiences`                  it is written with the audience's next change
 *   5  records finished                       nothing is repeated after the commit
 *
 * Reads include pending writes. If a user enters and leaves within a step, both calls are written, in that order.
 */

import type { DeadLettered } from "../../domain/dead-letter-records.ts";
import type { IncomingRecord, OutgoingRecord, PartitionPlace } from "../../domain/record.ts";
import { type Audience, type Counts, NO_COUNTS, type OpenSync } from "./audience.ts";
import { changelogRecord } from "./changelog.ts";
import type { Checkpoint } from "./checkpoint.ts";
import {
  APPLIED_KEY,
  audienceKey,
  CHECKPOINT_KEY,
  countsKey,
  digestOf,
  ORIGIN_KEY,
  REMEMBERED_MAX,
  rememberedKey,
  slotKey,
} from "./keys.ts";
import type { OpenArrivals } from "./open-arrivals.ts";
import type { OffsetOrigin } from "./own-offsets.ts";
import type { ChangeCounts, Store } from "./ports.ts";
import type { Arrivals } from "./seen-members.ts";
import type { StoreChange } from "./store/ordered-store.ts";

/** The writes, in the order in which they are written. */
export interface Pending {
  readonly calls: ReadonlyMap<OutgoingRecord, IncomingRecord>;
  readonly deadLettered: readonly DeadLettered[];
  readonly changelog: readonly OutgoingRecord[];
  /** The changes in the store. Empty if nothing has changed, not even the position. */
  readonly store: readonly StoreChange[];
  /** IDs of the audiences to write to the topic `audiences`. */
  readonly toReport: readonly string[];
  readonly changeCounts: ChangeCounts;
}

const NO_CHANGES: ChangeCounts = { entered: 0, left: 0, traits: 0 };

export interface PartitionStateOptions {
  readonly at: PartitionPlace;
  readonly store: Store;
  readonly checkpoint: Checkpoint;
  /** All records below this offset are in the changelog. */
  readonly applied: number;
  /** Null if nothing has been applied yet, or if the topic never had an ID. */
  readonly origin: OffsetOrigin | null;
  readonly audiences: ReadonlyMap<string, Audience>;
  readonly counts: ReadonlyMap<number, Counts>;
  readonly arrivals: OpenArrivals;
  readonly nowMs: () => number;
}

/** This many numbers of arrived members count as one write, because they are small and are written together. */
const NUMBERS_PER_THING = 50;

export class PartitionState {
  readonly store: Store;
  readonly #at: PartitionPlace;
  readonly #nowMs: () => number;
  readonly #audiences: Map<string, Audience>;
  readonly #counts: Map<number, Counts>;
  readonly #arrivals: OpenArrivals;
  #checkpoint: Checkpoint;
  #applied: number;
  #origin: OffsetOrigin | null;
  #calls = new Map<OutgoingRecord, IncomingRecord>();
  #changeCounts = NO_CHANGES;
  #deadLettered: DeadLettered[] = [];
  #changelog = new Map<string, string | null>();
  #changes = new Map<string, string | null>();
  readonly #changedCounts = new Set<number>();
  readonly #open = new Map<string, Audience>();
  readonly #toReport = new Set<string>();
  #hasErased = false;

  constructor(options: PartitionStateOptions) {
    this.store = options.store;
    this.#at = options.at;
    this.#nowMs = options.nowMs;
    this.#checkpoint = options.checkpoint;
    this.#applied = options.applied;
    this.#origin = options.origin;
    this.#audiences = new Map(options.audiences);
    this.#counts = new Map(options.counts);
    this.#arrivals = options.arrivals;
    for (const audience of options.audiences.values()) this.#noteOpen(audience);
  }

  /** Records below this offset are in the store, including their marks. */
  get position(): number {
    return this.#checkpoint.position;
  }

  /** Records below this offset have been applied, by this or another process. */
  get applied(): number {
    return this.#applied;
  }

  /** The topic on which own offsets are based (`own-offsets.ts`). */
  get origin(): OffsetOrigin | null {
    return this.#origin;
  }

  setOrigin(origin: OffsetOrigin): void {
    this.#origin = origin;
    this.set(ORIGIN_KEY, JSON.stringify(origin));
  }

  /** Number of writes in the next step. */
  get pendingSize(): number {
    const numbers = Math.ceil(this.#arrivals.unwritten / NUMBERS_PER_THING);
    return this.#calls.size + this.#changes.size + this.#deadLettered.length + numbers;
  }

  audience(id: string): Audience | null {
    return this.#audiences.get(id) ?? null;
  }

  audiences(): Iterable<Audience> {
    return this.#audiences.values();
  }

  counts(first: number): Counts {
    return this.#counts.get(first) ?? NO_COUNTS;
  }

  arrivals(first: number, { begin }: OpenSync): Arrivals {
    return this.#arrivals.of(first, begin);
  }

  openAudiences(): readonly Audience[] {
    return [...this.#open.values()];
  }

  /**
   * The Kafka offset that the committed offset must not pass. Null if there is no open sync, or if the records of
   * all open syncs were in an earlier topic that no longer exists.
   */
  firstOpen(): number | null {
    const base = this.#origin?.base ?? 0;
    const begins = this.openAudiences().map(({ open }) => (open?.begin ?? -1) - base);
    const there = begins.filter((begin) => begin >= 0);
    return there.length === 0 ? null : Math.min(...there);
  }

  /** Returns the values that the keys will have after the next step. */
  async getMany(keys: readonly string[]): Promise<(string | null)[]> {
    if (this.#changes.size === 0) {
      return (await this.store.getMany(keys)).map((value) => value ?? null);
    }
    // The changes are copied, because a write may remove them from the map while the store is being read.
    const changes = keys.map((key) => this.#changes.get(key));
    const missing = keys.filter((_, index) => changes[index] === undefined);
    const stored = missing.length === 0 ? [] : await this.store.getMany(missing);
    let at = 0;
    return changes.map((change) => {
      if (change !== undefined) return change;
      at += 1;
      return stored[at - 1] ?? null;
    });
  }

  /** @param from the record that caused the call. */
  call(kind: keyof ChangeCounts, record: OutgoingRecord, from: IncomingRecord): void {
    this.#calls.set(record, from);
    this.#changeCounts = { ...this.#changeCounts, [kind]: this.#changeCounts[kind] + 1 };
  }

  /** Writes a record in addition to calls. */
  forward(record: OutgoingRecord, from: IncomingRecord): void {
    this.#calls.set(record, from);
  }

  deadLetter(deadLettered: DeadLettered): void {
    this.#deadLettered.push(deadLettered);
  }

  /** Changes a value only in the local store. */
  setLocal(key: string, value: string | null): void {
    this.#changes.set(key, value);
  }

  /** @param durable the value in the changelog, if it differs from `value`. */
  set(key: string, value: string | null, durable: string | null = value): void {
    this.#changes.set(key, value);
    this.#changelog.set(key, durable);
  }

  /** Call after removing values that must also be erased from the disk. */
  noteErased(): void {
    this.#hasErased = true;
  }

  /** Returns true if `noteErased` was called since the last call. */
  takeErased(): boolean {
    const had = this.#hasErased;
    this.#hasErased = false;
    return had;
  }

  setAudience(audience: Audience): void {
    this.#audiences.set(audience.id, audience);
    this.#noteOpen(audience);
    this.set(audienceKey(audience.id), JSON.stringify(audience));
  }

  removeAudience(audience: Audience): void {
    this.#audiences.delete(audience.id);
    this.#open.delete(audience.id);
    this.#counts.delete(audience.first);
    this.#arrivals.settle(audience.first, null);
    this.#changedCounts.delete(audience.first);
    this.set(audienceKey(audience.id), null);
    this.setLocal(countsKey(audience.first), null);
  }

  setCounts(first: number, counts: Counts): void {
    this.#counts.set(first, counts);
    this.#changedCounts.add(first);
  }

  /** Requests that the next step writes the audience to the topic `audiences`. */
  report(audienceId: string): void {
    this.#toReport.add(audienceId);
  }

  async isOver(audience: Audience, syncId: string): Promise<boolean> {
    const [slot] = await this.getMany([rememberedKey(audience.first, digestOf(syncId))]);
    return slot !== null;
  }

  /** Stores that the sync has ended. Returns the changed audience. */
  async remember(audience: Audience, syncId: string): Promise<Audience> {
    const { first, closed } = audience;
    const slot = slotKey(first, closed % REMEMBERED_MAX);
    const [oldest] = await this.getMany([slot]);
    if (oldest !== undefined && oldest !== null) {
      this.setLocal(rememberedKey(first, oldest), null);
    }
    const digest = digestOf(syncId);
    this.set(slot, digest);
    this.setLocal(rememberedKey(first, digest), "");
    return { ...audience, closed: closed + 1 };
  }

  /** Removes and returns the pending writes. All records below `position` must have been applied. */
  take(position: number): Pending {
    const hasOutput =
      this.#calls.size > 0 || this.#deadLettered.length > 0 || this.#changelog.size > 0;
    for (const [key, text] of this.#arrivals.takeEntries()) this.setLocal(key, text);
    const isUnchanged = this.#changes.size === 0 && this.#changedCounts.size === 0;
    if (!hasOutput && isUnchanged && position <= this.position) return this.#reset([], []);
    for (const first of this.#changedCounts) {
      this.#changes.set(countsKey(first), JSON.stringify(this.counts(first)));
    }
    this.#changedCounts.clear();
    if (hasOutput && position > this.#applied) {
      this.#applied = position;
      this.set(APPLIED_KEY, `${position}`);
    }
    const changelog = [...this.#changelog].map(([key, value]) =>
      changelogRecord(this.#at, key, value),
    );
    this.#checkpoint = {
      ...this.#checkpoint,
      position: Math.max(this.#checkpoint.position, position),
      // This is a lower bound. If retries wrote entries twice, some entries are later read again, which is harmless.
      changelog: this.#checkpoint.changelog + changelog.length,
      writtenAtMs: this.#nowMs(),
    };
    return this.#reset(changelog, [
      ...this.#changes,
      [CHECKPOINT_KEY, JSON.stringify(this.#checkpoint)],
    ]);
  }

  #reset(changelog: readonly OutgoingRecord[], store: readonly StoreChange[]): Pending {
    const pending: Pending = {
      calls: this.#calls,
      changeCounts: this.#changeCounts,
      deadLettered: this.#deadLettered,
      changelog,
      store,
      toReport: [...this.#toReport],
    };
    this.#calls = new Map();
    this.#changeCounts = NO_CHANGES;
    this.#deadLettered = [];
    this.#changelog = new Map();
    this.#changes = new Map();
    this.#toReport.clear();
    return pending;
  }

  #noteOpen(audience: Audience): void {
    const { id, first, open } = audience;
    this.#arrivals.settle(first, open?.begin ?? null);
    if (open === null) this.#open.delete(id);
    else this.#open.set(id, audience);
  }
}
