/**
 * Owns a partition of the queue of a destination with `order: strict`. It stands between the consumer and the dispatcher:
 * the dispatcher gets a delivery when it is its turn (`../../order/key-order.ts`), and this file writes what follows.
 *
 * Each step ends with the acknowledgment of its write, and only then the next one starts. The record counts as processed,
 * so that its offset may be committed, at *finish*.
 *
 *   action   step                              if the process crashes after it
 *   aside    1 fact `wait`                     it is read again, and its fact shows that it waits
 *            2 finish                          the next owner begins with its fact
 *   attempt  1 read it back, if it has a       nothing
 *              fact
 *            2 request                         it is attempted again: by the fact `wait`, or because it is read again
 *   divert   1 copy to a delay topic, with     it is attempted again here, and its copy there: the one that ends later
 *              its place in the queue          is a repeat, which `settled` drops or an endpoint gets twice
 *            2 fact `retry`                    its copy is retried, and the key waits
 *            3 finish, or forget               the same
 *   bury     1 dead letter                     it is attempted again
 *            2 fact `settled`                  the next one follows
 *            3 finish, or forget               the same
 *   hold     1 dead letter                     it is attempted again
 *            2 fact `retry`                    the key waits for an operator, who replays the dead letter
 *            3 finish, or forget               the same
 *   forget   1 tombstone of `wait`             nothing is repeated
 *
 * The first step of divert, bury and hold is that of every delivery (`../completions.ts`). Before it decides anything, the
 * owner reads the facts up to their end. The committed offset was fetched before that, so each fact on which a commit
 * relies is read. Facts of one process are written in order, so a fact `wait` is never in the topic without those that
 * were written before it.
 *
 *   a delivery                               then
 *   has no key                               is passed on at once
 *   is a copy that was returned to the       is attempted as on the retry topic (`copies.ts`)
 *   queue
 *   of a free key, and the bound of blocked  waits in memory until a key is free; nothing is fetched meanwhile
 *   keys is reached
 *   that waits is not in the queue any more  is lost: an error is logged, and the next one follows
 *   has waited for longer than `waitMaxMs`   becomes a dead letter before it is deleted from the queue
 *
 *   the destination is loose now             then
 *   a delivery of a free key                 is passed on at once
 *   of a blocked key                         waits
 *   a delivery with a key that is blocked    gets a copy without a place, and the fact `settled`: the next one follows
 *   fails
 */

import type { IncomingRecord } from "../../../domain/record.ts";
import type { PartitionHandler } from "../../../kafka/port.ts";
import type { BookedPartition } from "../../ledger/stage-ledger.ts";
import { type TalliedDelivery, talliedDelivery } from "../../ledger/tallies.ts";
import { type Fact, type FactKind, orderKey, UNKNOWN } from "../../order/facts.ts";
import {
  type Action,
  begun,
  ended,
  hasFact,
  isBlocked,
  isFree,
  type KeyState,
  type Result,
  read,
  restored,
  settled,
  written,
} from "../../order/key-order.ts";
import { type Ended, type FinishingPartition, tally } from "../in-flight.ts";
import { Copies } from "./copies.ts";
import { InProgress } from "./in-progress.ts";
import type { OrderHost } from "./order-host.ts";
import type { ReadBack } from "./read-back.ts";

/** Maximum number of deliveries that were read back and are in memory. */
const READ_BACK_MAX = 64;
const SWEEP_EVERY_MS = 600_000;
/** Tombstones that are written at a time. */
const SWEEP_PIECE = 1_000;

/** A delivery that is not processed, or that was read back. */
interface Item {
  readonly key: string;
  readonly isAside: boolean;
  readonly delivery: TalliedDelivery;
  /** Null from the time when the dispatcher has it. */
  record: IncomingRecord | null;
  /** What became of it; null before that. */
  ended: readonly Ended[] | null;
}

interface Ready {
  readonly key: string;
  readonly action: Action;
}

type Decide = (state: KeyState) => readonly Action[];

export class OrderedPartition implements PartitionHandler {
  readonly #host: OrderHost;
  readonly #assigned: BookedPartition;
  readonly #inner: PartitionHandler;
  /** Copies that were returned to the queue. */
  readonly copies: Copies;
  readonly #work = new InProgress();
  /** The keys that are not free, and those whose restored states are still needed. */
  readonly #states = new Map<string, KeyState>();
  /** Free keys whose states are needed until the partition has been read up to their facts. */
  readonly #lingering = new Set<string>();
  /** By offset. */
  readonly #items = new Map<number, Item>();
  /** Facts that this owner did not know, of deliveries that are not processed. */
  #unsure: Fact[] = [];
  /** Attempts that may start. */
  #ready: Ready[] = [];
  /** The offset after the last record that was taken. */
  #next = 0;
  #readBack = 0;
  #blocked = 0;
  #waiting = 0;
  /** Records that arrived before the facts were read; null afterwards. */
  #early: IncomingRecord[] | null = [];
  readonly #draining = new AbortController();
  readonly #waitingRecords: ReadBack;
  readonly #endListening: () => void;

  /** @param open opens the dispatcher's part of the partition. */
  constructor(
    host: OrderHost,
    assigned: BookedPartition,
    open: (partition: FinishingPartition) => PartitionHandler,
  ) {
    this.#host = host;
    this.#assigned = assigned;
    this.#inner = open({ finish: (...args) => this.#ended(...args) });
    this.#waitingRecords = host.readBack(assigned.partition, this.#draining.signal);
    this.copies = new Copies(host, assigned, "in", (records) => this.#inner.take(records));
    this.#endListening = host.facts.onFact((partition, fact) => {
      if (partition === assigned.partition) this.#known(fact);
    });
    void host.facts.caughtUp().then(() => this.#open());
    this.#sweepLater();
  }

  /** The number of keys with deliveries that are retried or wait. */
  get blocked(): number {
    return this.#blocked;
  }

  /** The number of deliveries that wait in the queue. */
  get waiting(): number {
    return this.#waiting;
  }

  /** True if deliveries of free keys must not start. */
  get isFull(): boolean {
    return this.#host.isStrict && this.#blocked >= this.#host.blockedMax;
  }

  take(records: readonly IncomingRecord[]): void {
    if (this.#early !== null) {
      this.#early.push(...records);
      return;
    }
    for (const record of records) if (!this.copies.take(record)) this.#read(record);
    this.#next = Math.max(this.#next, (records.at(-1)?.offset ?? -1) + 1);
    this.#dropStates();
    this.#removeLate();
    this.#pump();
    this.copies.pump();
  }

  async drain(): Promise<void> {
    this.#draining.abort();
    this.#endListening();
    await this.copies.drain(() => this.#inner.drain());
    await this.#work.ended();
    this.#host.left(this);
  }

  get #isDraining(): boolean {
    return this.#draining.signal.aborted;
  }

  #open(): void {
    const early = this.#early ?? [];
    this.#early = null;
    if (this.#isDraining) return;
    const facts = this.#host.facts.of(this.#assigned.partition);
    const keys = [...facts.keys()];
    for (const key of keys) {
      const state = restored(facts.known(key));
      this.#states.set(key, state);
      this.#count(state, 1);
    }
    for (const key of keys) this.#decide(key, begun);
    this.take(early);
  }

  #read(record: IncomingRecord): void {
    const key = orderKey(record);
    this.#next = record.offset + 1;
    if (key === null || !(this.#host.isStrict || this.#states.has(key))) {
      this.#inner.take([record]);
      return;
    }
    const delivery = talliedDelivery(record);
    this.#items.set(record.offset, { key, isAside: false, delivery, record, ended: null });
    this.#decide(key, (state) => read(state, record.offset));
  }

  /** The dispatcher has ended a delivery: it is accepted, or what replaces it is written. */
  #ended(offset: number, delivery: TalliedDelivery, endings: readonly Ended[]): void {
    if (this.copies.ended(offset, delivery, endings)) return;
    const item = this.#items.get(offset);
    if (item === undefined) {
      const { book } = this.#assigned;
      if (book !== undefined) tally(book, delivery, "in", endings);
      this.#assigned.finish(offset);
      return;
    }
    item.ended = endings;
    this.#decide(item.key, (state) => ended(state, this.#resultOf(endings)));
    this.#pump();
  }

  #resultOf(endings: readonly Ended[]): Result {
    const { isStrict, holds } = this.#host;
    if (endings.some(({ outcome }) => outcome === "retry")) return isStrict ? "failed" : "rejected";
    if (!endings.some(({ outcome }) => outcome.startsWith("dead:"))) return "accepted";
    return holds && !endings.some(({ outcome }) => outcome === "dead:cancelled")
      ? "held"
      : "rejected";
  }

  #known(fact: Fact): void {
    if (this.#early !== null || this.#isDraining) return;
    const { kind, key, offset } = fact;
    if (kind !== "settled") {
      this.#unsure.push(fact);
      this.#removeLate();
      return;
    }
    // Most facts are those that this owner has written.
    if (this.#states.has(key)) this.#decide(key, (state) => settled(state, offset));
    else if (offset >= this.#next) this.#decide(key, (state) => settled(state, offset));
    this.#pump();
  }

  #decide(key: string, decide: Decide): void {
    const state = this.#states.get(key) ?? restored(UNKNOWN);
    this.#states.set(key, state);
    this.#count(state, -1);
    const actions = decide(state);
    this.#count(state, 1);
    for (const action of actions) {
      if (action.kind === "attempt") this.#ready.push({ key, action });
      else this.#act(key, action);
    }
    if (isFree(state) && !this.#drop(key, state)) this.#lingering.add(key);
  }

  #count(state: KeyState, by: 1 | -1): void {
    if (isBlocked(state)) this.#blocked += by;
    this.#waiting += by * state.waiting.length;
  }

  /** A free key needs a state only while deliveries may be read again that it knows to be settled. */
  #drop(key: string, { last, settledTo }: KeyState): boolean {
    return Math.max(last, settledTo) < this.#next && this.#states.delete(key);
  }

  #dropStates(): void {
    for (const key of this.#lingering) {
      const state = this.#states.get(key);
      const isNeeded = state !== undefined && isFree(state) && !this.#drop(key, state);
      if (!isNeeded) this.#lingering.delete(key);
    }
  }

  /** Removes facts of former owners that arrived late: their deliveries are settled. */
  #removeLate(): void {
    const unsure = this.#unsure;
    if (unsure.length === 0) return;
    this.#unsure = [];
    for (const fact of unsure) {
      const { key, offset } = fact;
      const state = this.#states.get(key);
      if (state !== undefined && hasFact(state, offset)) continue;
      if (offset >= this.#next || this.#items.has(offset)) this.#unsure.push(fact);
      else this.#work.run(() => this.#host.write(this.#assigned.partition, fact, null));
    }
  }

  /** Starts what may start. */
  #pump(): void {
    if (this.#isDraining || this.#ready.length === 0) return;
    const ready = this.#ready;
    this.#ready = [];
    const records: IncomingRecord[] = [];
    for (const each of ready) {
      const { offset, isAside } = each.action;
      const item = this.#items.get(offset);
      if (!this.#mayStart(each)) this.#ready.push(each);
      else if (isAside) this.#startAside(each.key, offset);
      else if (item?.record != null) {
        records.push(item.record);
        item.record = null;
      }
    }
    if (records.length > 0) this.#inner.take(records);
    this.#dropStates();
  }

  #mayStart({ key, action }: Ready): boolean {
    if (action.isAside) return this.#readBack < READ_BACK_MAX;
    const state = this.#states.get(key);
    return !this.isFull || (state !== undefined && isBlocked(state));
  }

  #startAside(key: string, offset: number): void {
    this.#readBack += 1;
    this.#work.run(async () => {
      const record = await this.#waitingRecords.read(offset, this.#next);
      if (this.#isDraining) return;
      if (record === null || this.#host.isTooOld(record)) {
        const endings = record === null ? null : await this.#host.expire(record);
        const delivery = talliedDelivery(record ?? { headers: [] });
        this.#items.set(offset, { key, isAside: true, delivery, record: null, ended: endings });
        this.#decide(key, (state) => ended(state, "rejected"));
      } else {
        const delivery = talliedDelivery(record);
        this.#items.set(offset, { key, isAside: true, delivery, record: null, ended: null });
        this.#inner.take([record]);
      }
      this.#pump();
    });
  }

  /** Carries out an action, step by step. */
  #act(key: string, { kind, offset, isAside }: Action): void {
    const fact = (factKind: FactKind): Fact => ({ kind: factKind, key, offset });
    const { partition } = this.#assigned;
    const item = this.#items.get(offset);
    const messageId = item?.delivery.messageId ?? "";
    const forget = () => this.#host.write(partition, fact("wait"), null);
    if (kind === "finish") this.#finish(offset, item);
    else if (kind === "forget") {
      this.#finish(offset, item);
      this.#work.run(forget);
    } else if (kind === "aside") {
      this.#work.run(async () => {
        if (!(await this.#host.write(partition, fact("wait"), messageId))) return;
        if (item !== undefined) item.ended = [{ outcome: "wait", of: item.delivery }];
        this.#finish(offset, item);
        this.#removeLate();
      });
    } else {
      this.#work.run(async () => {
        const second = fact(kind === "bury" ? "settled" : "retry");
        if (!(await this.#host.write(partition, second, messageId))) return;
        this.#finish(offset, item);
        this.#decide(key, written);
        this.#pump();
        if (isAside) await forget();
      });
    }
  }

  /** Also counts it. A delivery that was read back is processed already. */
  #finish(offset: number, item: Item | undefined): void {
    if (item === undefined) return;
    const { book } = this.#assigned;
    const { isAside, delivery, ended: endings } = item;
    const settledBefore = [{ outcome: "skipped:settled", of: delivery }] as const;
    if (book !== undefined)
      tally(book, delivery, isAside ? "in:wait" : "in", endings ?? settledBefore);
    this.#items.delete(offset);
    if (isAside) this.#readBack -= 1;
    else this.#assigned.finish(offset);
  }

  #sweepLater(): void {
    this.#host.timer.after(SWEEP_EVERY_MS, () => {
      if (this.#isDraining) return;
      this.#work.run(() => this.#sweep());
      this.#sweepLater();
    });
  }

  /** Removes the facts to which nothing can refer any more. */
  async #sweep(): Promise<void> {
    const { partition } = this.#assigned;
    const beforeMs = this.#host.timer.nowMs() - this.#host.keepSettledMs;
    const facts = [...this.#host.facts.of(partition).settledBefore(beforeMs)];
    for (let at = 0; at < facts.length && !this.#isDraining; at += SWEEP_PIECE) {
      const piece = facts.slice(at, at + SWEEP_PIECE);
      await Promise.all(piece.map((fact) => this.#host.write(partition, fact, null)));
    }
  }
}
