/**
 * Owns a partition of the queue of a destination with `order: strict`. It stands between the consumer and the dispatcher:
 * the dispatcher gets a delivery when it is its turn (`../../order/key-order.ts`), and this file writes what follows.
 * Each step ends with the acknowledgment of its write, and only then the next one starts. The record is processed at *finish*.
 *
 *   action   step                              if the process crashes after it
 *   aside    1 fact `wait`                     it is read again, and its fact shows that it waits
 *            2 finish                          the next owner starts with its fact
 *   attempt  1 read it back, if it has a       nothing
 *              fact
 *            2 request                         it is attempted again: by the fact `wait`, or because it is read again
 *   divert   1 copy to a delay topic, with     it is attempted again here, and its copy there: the one that ends later
 *              its place in the queue          is a repeat, which `settled` drops or an endpoint gets twice
 *            2 fact `retry`                    its copy is retried, and the key waits
 *            3 finish, or forget               the same
 *   bury     1 dead letter                     it is attempted again
 *            2 fact `settled`                  the next one follows
 *   hold     1 dead letter                     it is attempted again
 *            2 fact `retry`                    the key waits for an operator, who replays the dead letter
 *   ...      3 finish, or forget               the same
 *   forget   1 tombstone of `wait`             nothing is repeated
 *
 * The first step of divert, bury and hold is that of every delivery (`../completions.ts`). Before it decides anything, the
 * owner reads the facts up to their end. The committed offset was fetched before that, so each fact on which a commit
 * relies is read. Facts of one process are written in order: a fact `wait` is never there without those before it.
 *
 *   a delivery                               then
 *   has no key                               is passed on at once
 *   is read again, with a fact or settled    is processed
 *   arrives when a bound is reached          waits unread in memory until fewer users and deliveries wait; a few hundred do
 *   that waits is not in the queue any more  is lost: an error is logged, and the next one follows
 *   has waited longer than `WAIT_MAX_MS`     becomes a dead letter when it is its turn, unless its user is suppressed. A dead letter
 *                                            holds its key no longer than that, because the records that wait would be deleted
 *
 *   the destination is loose now             then
 *   a delivery of a free key                 is passed on at once; one of a blocked key waits
 *   a delivery of a blocked key fails        gets a copy without a place, and the fact `settled`: the next one follows
 */

import { InFlightCount } from "../../../base/runtime/in-flight-set.ts";
import type { IncomingRecord } from "../../../domain/record.ts";
import type { PartitionHandler } from "../../../kafka/port.ts";
import type { BookedPartition } from "../../ledger/stage-ledger.ts";
import {
  type Outcome,
  type TalliedDelivery,
  Tallies,
  talliedDelivery,
} from "../../ledger/tallies.ts";
import { type Fact, type FactKind, orderKey, UNKNOWN } from "../../order/facts.ts";
import {
  type Action,
  begun,
  ended,
  hasFact,
  isBlocked,
  isFree,
  type KeyState,
  read,
  restored,
  settled,
  written,
} from "../../order/key-order.ts";
import { type Ended, type FinishingPartition, tally } from "../in-flight.ts";
import { type OrderHost, resultOf, WAIT_MAX_MS, WAITING_MAX } from "./order-host.ts";
import type { ReadBack } from "./read-back.ts";

/** Maximum number of deliveries that were read back and are in memory. */
const READ_BACK_MAX = 64;
/** Tombstones that are written at a time. */
const SWEEP_PIECE = 1_000;
const REPORT_AFTER_MS = 1_000;

/** A delivery that is not processed, or that was read back. */
interface Item {
  readonly key: string;
  readonly isReadBack: boolean;
  readonly delivery: TalliedDelivery;
  /** Null if it was not in the queue any more. */
  readonly record: IncomingRecord | null;
  /** What became of it; null before that. */
  ended: readonly Ended[] | null;
  /** True when its offset is processed or, if it was read back, when it has ended. */
  isOver: boolean;
}

export class OrderedPartition implements PartitionHandler {
  /** See `lineOf`; empty before `open`. */
  line = "";
  /** The number of keys with deliveries that are retried or wait. Only this class changes it. */
  blocked = 0;
  /** Deliveries that wait in the queue, and those in memory that follow others. Only this class changes the numbers. */
  waiting = 0;
  followers = 0;
  readonly #host: OrderHost;
  readonly #assigned: BookedPartition;
  readonly #inner: PartitionHandler;
  readonly #draining = new AbortController();
  readonly #readBack: ReadBack;
  readonly #work = new InFlightCount();
  /** The keys that are not free, and those whose states are needed until what they know is read. */
  readonly #states = new Map<string, KeyState>();
  /** By offset. */
  readonly #items = new Map<number, Item>();
  /** Records that were not read, because a bound is reached. */
  #unread: IncomingRecord[] = [];
  /** Facts to look at again. */
  #unsure: Fact[] = [];
  /** The outcomes of deliveries that were read back, until they are reported. */
  readonly #lateOutcomes = new Tallies();
  /** Deliveries whose turn it is: those to read back, with their keys, and those in memory. */
  readonly #asides = new Map<number, string>();
  readonly #ready: IncomingRecord[] = [];
  /** The offset after the last record that was read. */
  #next = 0;
  #inMemory = 0;
  /** True while `#pump` passes deliveries on: thousands that end at once must not be as many frames of the stack. */
  #isPassing = false;
  #endListening: () => void = () => undefined;

  /** @param open opens the dispatcher's part of the partition. */
  constructor(
    host: OrderHost,
    assigned: BookedPartition,
    open: (partition: FinishingPartition) => PartitionHandler,
  ) {
    this.#host = host;
    this.#assigned = assigned;
    this.#readBack = host.readBack(assigned.partition, this.#draining.signal);
    this.#inner = open({
      finish: (...args) => this.#ended(...args),
      confirm: () => assigned.isOurs(),
    });
  }

  /** True if no more deliveries are read. */
  get isFull(): boolean {
    const { isStrict, blockedMax } = this.#host;
    return (isStrict && this.blocked >= blockedMax) || this.waiting >= WAITING_MAX;
  }

  /** Call once, before `take`, when the facts that exist now have been read. @param line see `lineOf`. */
  open(line: string): void {
    if (this.#isDraining) return;
    this.line = line;
    const facts = this.#host.facts.of(line);
    const keys = [...facts.keys()];
    for (const key of keys) {
      const state = restored(facts.known(key));
      this.#states.set(key, state);
      this.#count(state, 1);
    }
    this.#endListening = this.#host.facts.onFact(line, {
      fact: (fact) => this.#known(fact),
      lost: () => this.#writeAgain(),
    });
    for (const key of keys) this.#decide(key, begun);
    this.#pump();
  }

  take(records: readonly IncomingRecord[]): void {
    this.#unread.push(...records);
    this.#pump();
  }

  async drain(): Promise<void> {
    this.#draining.abort();
    this.#endListening();
    await this.#inner.drain();
    await this.#work.ended();
    await this.#report();
  }

  /** Removes the facts and states to which nothing can refer any more, and ends holds that last too long. */
  async sweep(): Promise<void> {
    const facts = this.#host.facts.of(this.line);
    const nowMs = this.#host.timer.nowMs();
    this.#lookAgain();
    const old = [...facts.settledBefore(nowMs - this.#host.keepSettledMs)];
    for (let at = 0; at < old.length && !this.#isDraining; at += SWEEP_PIECE) {
      const piece = old.slice(at, at + SWEEP_PIECE);
      await Promise.all(piece.map((fact) => this.#host.write(this.line, fact, null)));
    }
    // The fact of a delivery that is retried is younger; that of a replay is written again (`ordered-retries.ts`).
    const tooLongMs = Math.max(WAIT_MAX_MS, this.#host.keepSettledMs);
    for (const [key, state] of this.#states) {
      this.#drop(key, state);
      const { head } = state;
      const heldSinceMs = (head !== null && facts.of(key)?.retry.get(head)) || nowMs;
      if (head === null || nowMs - heldSinceMs <= tooLongMs || this.#isDraining) continue;
      await this.#host.write(this.line, { kind: "settled", key, offset: head }, "");
    }
  }

  get #isDraining(): boolean {
    return this.#draining.signal.aborted;
  }

  #read(record: IncomingRecord): void {
    const { offset } = record;
    const key = orderKey(record);
    this.#next = offset + 1;
    const readBefore = this.#items.get(offset)?.delivery;
    if (readBefore !== undefined) {
      this.#tally(readBefore, "in", [{ outcome: "wait", of: readBefore }]);
      this.#assigned.finish(offset);
    } else if (key === null || !(this.#host.isStrict || this.#states.has(key))) {
      this.#ready.push(record);
    } else {
      const delivery = talliedDelivery(record);
      const item = { key, isReadBack: false, delivery, record, ended: null, isOver: false };
      this.#items.set(offset, item);
      this.#decide(key, (state) => read(state, offset));
    }
  }

  /** The dispatcher has ended a delivery: it is accepted, or what replaces it is written. */
  #ended(offset: number, delivery: TalliedDelivery, endings: readonly Ended[]): void {
    const item = this.#items.get(offset);
    if (item === undefined) {
      this.#tally(delivery, "in", endings);
      this.#assigned.finish(offset);
      return;
    }
    item.ended = endings;
    this.#decide(item.key, (state) => ended(state, resultOf(endings, this.#host)));
    this.#pump();
  }

  #known(fact: Fact): void {
    if (this.#isDraining) return;
    const { kind, key, offset } = fact;
    if (kind !== "settled") {
      const isSettled = this.#host.facts.of(this.line).isSettled(key, offset);
      if (!isSettled && this.#isUnsure(fact)) this.#unsure.push(fact);
    } else if (this.#states.has(key) || offset >= this.#next) {
      this.#decide(key, (state) => settled(state, offset));
      this.#pump();
    }
  }

  #decide(key: string, decide: (state: KeyState) => readonly Action[]): void {
    const state = this.#states.get(key) ?? restored(UNKNOWN);
    this.#states.set(key, state);
    this.#count(state, -1);
    const actions = decide(state);
    this.#count(state, 1);
    for (const action of actions) this.#act(key, state, action);
    this.#drop(key, state);
  }

  #count(state: KeyState, by: 1 | -1): void {
    if (isBlocked(state)) this.blocked += by;
    this.waiting += by * state.waiting.length;
    this.followers += by * state.behind.length;
  }

  /** A free key needs a state only while deliveries may be read again that it knows to be settled. */
  #drop(key: string, state: KeyState): void {
    const isNeeded = Math.max(state.last, state.settledTo) >= this.#next;
    if (isFree(state) && !isNeeded) this.#states.delete(key);
  }

  /** Looks at a fact that this owner did not know. Returns true if it has to be looked at again. */
  #isUnsure(fact: Fact): boolean {
    const { key, offset } = fact;
    const state = this.#states.get(key);
    if (state !== undefined && hasFact(state, offset)) return false;
    if (offset >= this.#next || this.#items.has(offset)) return true;
    this.#run(() => this.#host.write(this.line, fact, null));
    return false;
  }

  #lookAgain(): void {
    if (this.#unsure.length > 0) this.#unsure = this.#unsure.filter((fact) => this.#isUnsure(fact));
  }

  /** Reads what may be read, and starts what may start. */
  #pump(): void {
    if (this.#isDraining) return;
    if (this.#unread.length > 0) {
      let count = 0;
      for (const record of this.#unread) {
        if (this.isFull) break;
        this.#read(record);
        count += 1;
      }
      this.#unread = this.#unread.slice(count);
      this.#lookAgain();
    }
    for (const [offset, key] of this.#asides) {
      if (this.#inMemory >= READ_BACK_MAX) break;
      this.#asides.delete(offset);
      this.#startAside(key, offset);
    }
    if (this.#isPassing) return;
    for (this.#isPassing = true; this.#ready.length > 0; ) this.#inner.take(this.#ready.splice(0));
    this.#isPassing = false;
  }

  #startAside(key: string, offset: number): void {
    this.#inMemory += 1;
    this.#run(async () => {
      const last = this.#states.get(key)?.waiting.at(-1) ?? offset;
      const record = await this.#readBack.read(offset, Math.max(this.#next, last + 1), key);
      if (this.#isDraining) return;
      const delivery = talliedDelivery(record ?? { headers: [] });
      const item: Item = { key, isReadBack: true, delivery, record, ended: null, isOver: false };
      this.#items.set(offset, item);
      const isSettled = offset <= (this.#states.get(key)?.settledTo ?? -1);
      const expiring = isSettled || record === null ? null : this.#host.expire(record);
      if (isSettled || record === null) {
        this.#decide(key, (state) => ended(state, isSettled ? "accepted" : "rejected"));
      } else if (expiring === null) this.#ready.push(record);
      else {
        item.ended = await expiring;
        if (item.ended !== null) this.#decide(key, (state) => ended(state, "rejected"));
      }
      this.#pump();
    });
  }

  /** Carries out an action, step by step. */
  #act(key: string, state: KeyState, { kind, offset, isAside }: Action): void {
    const fact = (factKind: FactKind): Fact => ({ kind: factKind, key, offset });
    const item = this.#items.get(offset);
    const messageId = item?.delivery.messageId ?? "";
    const forget = () => this.#host.write(this.line, fact("wait"), null);
    switch (kind) {
      case "attempt":
        if (isAside) this.#asides.set(offset, key);
        else if (item !== undefined && item.record !== null) this.#ready.push(item.record);
        return;
      case "finish":
        this.#finish(offset, item, hasFact(state, offset) ? "wait" : "skipped:settled");
        return;
      case "forget":
        this.#finish(offset, item);
        this.#run(forget);
        return;
      case "aside":
        this.#run(async () => {
          if (!(await this.#host.write(this.line, fact("wait"), messageId))) return;
          this.#finish(offset, item, "wait");
        });
        return;
      case "divert":
      case "bury":
      case "hold":
        this.#run(async () => {
          const second = fact(kind === "bury" ? "settled" : "retry");
          if (!(await this.#host.write(this.line, second, messageId))) return;
          this.#finish(offset, item);
          this.#decide(key, written);
          this.#pump();
          if (isAside) await forget();
        });
    }
  }

  /** Also counts it, once. @param otherwise what became of it, if it was not attempted. */
  #finish(offset: number, item?: Item, otherwise: Outcome = "skipped:settled"): void {
    if (item === undefined || item.isOver) return;
    item.isOver = true;
    if (this.#items.get(offset) === item) this.#items.delete(offset);
    const endings = item.ended ?? [{ outcome: otherwise, of: item.delivery }];
    this.#tally(item.delivery, item.isReadBack ? "in:wait" : "in", endings);
    if (item.isReadBack) this.#inMemory -= 1;
    else this.#assigned.finish(offset);
  }

  #tally(delivery: TalliedDelivery, as: Outcome, endings: readonly Ended[]): void {
    const { book } = this.#assigned;
    if (book === undefined) return;
    const isLate = as === "in:wait";
    // The records of these were processed earlier, so no commit need follow.
    if (isLate && this.#lateOutcomes.isEmpty)
      this.#host.timer.after(REPORT_AFTER_MS, () => void this.#report());
    tally(isLate ? this.#lateOutcomes : book, delivery, as, endings);
  }

  async #report(): Promise<void> {
    if (!this.#lateOutcomes.isEmpty) await this.#assigned.report?.(this.#lateOutcomes);
  }

  /** Writes the facts again that this owner relies on. */
  #writeAgain(): void {
    for (const [key, { head, waiting, running }] of this.#states) {
      const write = (kind: FactKind, offset: number) =>
        this.#run(() => this.#host.write(this.line, { kind, key, offset }, ""));
      if (head !== null) write("retry", head);
      if (running?.isAside === true) write("wait", running.offset);
      for (const offset of waiting) write("wait", offset);
    }
  }

  #run(work: () => Promise<unknown>): void {
    this.#work.add(work().then(() => undefined));
  }
}
