/**
 * Keeps the deliveries of a destination that are in memory and wait for an attempt, and selects the next one.
 *
 *   from                    waits                         starts
 *   the queue               in order, by key              when the destination is not on hold
 *                                                         (`endpoint-availability.ts`) and a slot is free
 *   the retry topic         by key                        when a slot for retries is free (`slot-scheduler.ts`)
 *   ... and its endpoints   for one of them               when one of them is available, or the wait has ended
 *   are unavailable
 *
 * While the destination is paused or disabled, has no token for its requests, its proxy fails or its endpoints are gone,
 * only retries are evaluated: each retry once to find the end of its retry window, and again when that window has ended.
 *
 * Deliveries on one partition with the same key are attempted one after another; all others are attempted concurrently
 * (docs/guarantees.md#order).
 *
 *   the delivery                                   result
 *   has no key                                     may start
 *   is the only one in flight with its key         may start
 *   follows another one in flight with its key     waits for that one, or joins its unit (`units.ts`)
 *
 * Deliveries start in the order in which they became able to start. No order is guaranteed between different keys.
 */

import assert from "node:assert/strict";
import type { EndpointKey } from "../../domain/ids.ts";
import type { Turn } from "./circuit-breaker.ts";
import type { EndpointGates } from "./endpoint-availability.ts";
import type { InFlight, Lines, OwnedPartition } from "./in-flight.ts";
import type { SlotScheduler } from "./slot-scheduler.ts";

const TURNS = ["queue", "retry"] as const;

/** A retry that waits for one of its endpoints. */
interface Held {
  readonly endpoints: readonly EndpointKey[];
  readonly item: InFlight;
  /** The time at which the retry is evaluated again, even if the endpoints are still unavailable. */
  readonly untilMs: number;
}

export class Queue {
  readonly #gates: EndpointGates;
  readonly #slots: SlotScheduler;
  readonly #stillUntilMs: (nowMs: number) => number | null;
  readonly #onHeld: (untilMs: number) => void;
  /** True if the destination was on hold regardless of its endpoints' circuits when `next` was called last. */
  #wasStill = false;
  readonly #ordered = { queue: new KeyedOrder(), retry: new KeyedOrder() };
  /**
   * Deliveries that were selected and then put back. There can be several, because an endpoint that becomes
   * available releases several deliveries at once.
   */
  readonly #first: Record<Turn, InFlight[]> = { queue: [], retry: [] };
  /** Added by `hold`; removed when an endpoint is available, when the wait has ended, and by `drop` and `extract`. */
  #held: Held[] = [];
  /** Retries whose wait has ended, or whose endpoints may have been replaced. They go before all others. */
  #due: InFlight[] = [];

  /**
   * @param stillUntilMs returns until when the destination is on hold regardless of its endpoints' circuits: infinite if
   *   something has to happen first, null if it is not.
   * @param onHeld called with the time at which a hold ends, if deliveries wait in the queue.
   */
  constructor(
    gates: EndpointGates,
    slots: SlotScheduler,
    stillUntilMs: (nowMs: number) => number | null,
    onHeld: (untilMs: number) => void,
  ) {
    this.#gates = gates;
    this.#slots = slots;
    this.#stillUntilMs = stillUntilMs;
    this.#onHeld = onHeld;
  }

  /** @returns the delivery with the same key that it has to wait for; null if it may start. */
  add(item: InFlight): InFlight | null {
    return this.#ordered[item.owner.turn].add(item);
  }

  /** Returns the next delivery that may start, and marks it as started. */
  next(nowMs: number): InFlight | undefined {
    if (this.#slots.isFull) return undefined;
    const stillUntilMs = this.#stillUntilMs(nowMs);
    // Retries were held until their windows end; now they may have to go before.
    if (this.#wasStill && stillUntilMs === null) this.releaseAll();
    this.#wasStill = stillUntilMs !== null;
    const due = this.#due.shift();
    if (due !== undefined) return due;
    if (stillUntilMs !== null) {
      if (stillUntilMs < Number.POSITIVE_INFINITY) this.#onHeld(stillUntilMs);
      return this.#nextOf("retry");
    }
    if (!this.#mayQueueGo(nowMs)) return this.#nextRetry(nowMs);
    const isRetrysTurn = this.#slots.isRetrysTurn(this.#gates.isProbeDue(nowMs));
    return (isRetrysTurn ? this.#nextRetry(nowMs) : undefined) ?? this.#nextOf("queue");
  }

  /** Puts back a delivery that `next` returned, in front of all others. */
  putBack(item: InFlight): void {
    this.#first[item.owner.turn].unshift(item);
  }

  /**
   * Puts back deliveries of an attempt that was not made, in front of all that have not started. One that follows another
   * with its key still waits for that one.
   */
  takeBack(items: readonly InFlight[]): void {
    for (const item of items) item.unit = null;
    for (const item of items) {
      const { owner, record } = item;
      if (owner.isDraining || !isFirstWithKey(item)) continue;
      const first = this.#first[owner.turn];
      const later = first.findIndex(
        (each) => each.owner === owner && each.record.offset > record.offset,
      );
      first.splice(later === -1 ? first.length : later, 0, item);
    }
  }

  /** The next delivery with the same key, which waits for this one. */
  following(item: InFlight): InFlight | null {
    return item.key === null ? null : nextWithKey(item, item.key);
  }

  /** Marks the delivery as completed, so that the next one with its key may start. */
  end(item: InFlight): void {
    this.#ordered[item.owner.turn].end(item);
  }

  /**
   * Keeps a retry that `next` returned until one of the endpoints is available, or until `release` is called after
   * `untilMs`.
   */
  hold(item: InFlight, endpoints: readonly EndpointKey[], untilMs: number): void {
    // Nothing would ever release it.
    const isThere = endpoints.some((each) => this.#gates.has(each));
    assert(isThere, "a delivery would wait for endpoints that were removed");
    this.#held.push({ endpoints, item, untilMs });
  }

  /** Lets the retries go whose wait has ended. Returns true if others still wait for endpoints. */
  release(nowMs: number): boolean {
    const isDue = ({ untilMs }: Held) => nowMs > untilMs;
    if (this.#held.some(isDue)) {
      for (const { item } of this.#held.filter(isDue)) this.#due.push(item);
      this.#held = this.#held.filter((each) => !isDue(each));
    }
    return this.#held.length > 0;
  }

  /** Lets all retries go that wait for endpoints, so that they are evaluated with new settings. */
  releaseAll(): void {
    for (const { item } of this.#held.splice(0)) this.#due.push(item);
  }

  /** Discards all deliveries of a partition that is drained. */
  drop(owner: OwnedPartition): void {
    const { turn } = owner;
    const isKept = (item: InFlight) => item.owner !== owner;
    this.#ordered[turn].drop(owner);
    this.#first[turn] = this.#first[turn].filter(isKept);
    this.#keep(isKept);
  }

  /**
   * Removes and returns the deliveries that may start and for which the condition is true, and marks them as started. The
   * others stay in their order.
   */
  extract(holds: (item: InFlight) => boolean): readonly InFlight[] {
    const found: InFlight[] = [];
    for (const turn of TURNS) {
      const kept: InFlight[] = [];
      for (let item = this.#nextOf(turn); item !== undefined; item = this.#nextOf(turn)) {
        (holds(item) ? found : kept).push(item);
      }
      for (const item of kept) this.#ordered[turn].putBack(item);
    }
    const ofRetries = new Set([...this.#due, ...this.#held.map(({ item }) => item)].filter(holds));
    if (ofRetries.size > 0) this.#keep((item) => !ofRetries.has(item));
    return [...found, ...ofRetries];
  }

  #keep(isKept: (item: InFlight) => boolean): void {
    this.#due = this.#due.filter(isKept);
    this.#held = this.#held.filter(({ item }) => isKept(item));
  }

  #mayQueueGo(nowMs: number): boolean {
    if (this.#first.queue.length === 0 && !this.#ordered.queue.hasNext()) return false;
    if (!this.#slots.hasPlaceForQueue(nowMs)) return false;
    const state = this.#gates.queue(nowMs);
    if (state.kind === "on-hold") this.#onHeld(state.untilMs);
    return state.kind === "goes";
  }

  #nextRetry(nowMs: number): InFlight | undefined {
    return this.#first.retry.length === 0
      ? (this.#nextHeld(nowMs) ?? this.#ordered.retry.next())
      : this.#nextOf("retry");
  }

  #nextHeld(nowMs: number): InFlight | undefined {
    const blocked: EndpointKey[] = [];
    const mayGo = (endpoint: EndpointKey) => {
      if (blocked.includes(endpoint)) return false;
      if (this.#gates.mayRetry(endpoint, nowMs)) return true;
      blocked.push(endpoint);
      return false;
    };
    const at = this.#held.findIndex(({ endpoints }) => endpoints.some(mayGo));
    return at === -1 ? undefined : this.#held.splice(at, 1)[0]?.item;
  }

  #nextOf(turn: Turn): InFlight | undefined {
    return this.#first[turn].shift() ?? this.#ordered[turn].next();
  }
}

/**
 * At most a few hundred keys of a partition are in flight. Their deliveries are in linked lists by a hash of the key: a `Map`
 * of keys takes more time, and allocates a new table in the old generation each time it becomes empty or full of
 * deleted entries.
 */
const LINES = 128;

/** The deliveries of the queue or of the retry topic that may start, in order, and those that wait for their key. */
export class KeyedOrder {
  /** The ends of the list of deliveries that may start, which `after` links; null if it is empty. */
  #first: InFlight | null = null;
  #last: InFlight | null = null;

  /**
   * Adds a delivery. Those of a partition are added in offset order.
   *
   * @returns the delivery with the same key that it has to wait for; null if it may start.
   */
  add(item: InFlight): InFlight | null {
    const { key, owner } = item;
    if (key !== null) owner.lines ??= new Array<InFlight | null>(LINES).fill(null);
    const before = key === null || owner.lines === null ? null : joinLine(owner.lines, key, item);
    if (before === null) this.putBack(item);
    else owner.followers += 1;
    return before;
  }

  /** Returns the next delivery that may start, or undefined, and marks it as started. */
  next(): InFlight | undefined {
    const item = this.#first;
    if (item === null) return undefined;
    this.#first = item.after;
    if (this.#first === null) this.#last = null;
    // A completed item that has not been garbage-collected yet must not keep later ones alive.
    item.after = null;
    return item;
  }

  /** Puts back a delivery that `next` returned, behind all that may start now. */
  putBack(item: InFlight): void {
    if (this.#last === null) this.#first = item;
    else this.#last.after = item;
    this.#last = item;
  }

  /**
   * Marks the delivery as completed. The next one with the same key may then start, unless an earlier one with
   * the key is still in flight, or the next one is part of a unit. Has no effect after the partition was dropped.
   */
  end(item: InFlight): void {
    const { key, owner } = item;
    if (key === null || owner.lines === null) return;
    const following = leaveLine(owner, owner.lines, key, item);
    if (following !== null && following.unit === null) this.putBack(following);
  }

  /** Discards all deliveries of a partition. */
  drop(owner: OwnedPartition): void {
    owner.lines = null;
    let item = this.#first;
    this.#first = null;
    this.#last = null;
    while (item !== null) {
      const { after }: InFlight = item;
      item.after = null;
      if (item.owner !== owner) this.putBack(item);
      item = after;
    }
  }

  hasNext(): boolean {
    return this.#first !== null;
  }
}

/** @returns the last delivery in flight with the same key; null if there is none. */
function joinLine(lines: Lines, key: string, item: InFlight): InFlight | null {
  const at = lineOf(key);
  let last = lines[at] ?? null;
  if (last === null) {
    lines[at] = item;
    return null;
  }
  let before = last.key === key ? last : null;
  while (last.behind !== null) {
    last = last.behind;
    if (last.key === key) before = last;
  }
  last.behind = item;
  return before;
}

/** @returns the next delivery with the same key, if no earlier one is in flight. */
function leaveLine(
  owner: OwnedPartition,
  lines: Lines,
  key: string,
  item: InFlight,
): InFlight | null {
  const at = lineOf(key);
  let before: InFlight | null = null;
  let here = lines[at] ?? null;
  let isFirst = true;
  while (here !== null && here !== item) {
    if (here.key === key) isFirst = false;
    before = here;
    here = here.behind;
  }
  if (here === null) return null;
  const following = nextWithKey(item, key);
  if (!isFirst || following !== null) owner.followers -= 1;
  if (before === null) lines[at] = item.behind;
  else before.behind = item.behind;
  item.behind = null;
  return isFirst ? following : null;
}

function isFirstWithKey(item: InFlight): boolean {
  const { key, owner } = item;
  if (key === null || owner.lines === null) return true;
  let first = owner.lines[lineOf(key)] ?? null;
  while (first !== null && first.key !== key) first = first.behind;
  return first === item;
}

function nextWithKey(item: InFlight, key: string): InFlight | null {
  let following = item.behind;
  while (following !== null && following.key !== key) following = following.behind;
  return following;
}

function lineOf(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  return (hash ^ (hash >>> 15)) & (LINES - 1);
}
