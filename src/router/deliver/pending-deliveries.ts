/**
 * Keeps the deliveries of a destination that wait for an attempt, and selects the next one.
 *
 *   from                    waits                         starts
 *   the queue               in order, by key              when the destination is not on hold
 *                                                         (`endpoint-availability.ts`) and a slot is free
 *   the retry topic         by key                        when a slot for retries is free (`slot-scheduler.ts`)
 *   ... and its endpoint    for that endpoint             when the endpoint is available, or the wait has ended
 *   is unavailable
 *
 * While the destination is paused or disabled, or has no token for its requests, only retries are evaluated: each retry
 * once to find the end of its retry window, and again when that window has ended.
 */

import type { WorkPorts } from "./active-attempt.ts";
import type { SlotFor } from "./circuit-breaker.ts";
import type { EndpointGates, QueueState } from "./endpoint-availability.ts";
import { Schedule, type Scheduled } from "./schedule.ts";
import type { SlotScheduler } from "./slot-scheduler.ts";

const TURNS = ["queue", "retry"] as const;

export interface WaitingItem<Item> extends Scheduled<Item> {
  /** The current assignment of the partition. */
  readonly owner: Scheduled<Item>["owner"] & {
    readonly turn: SlotFor;
    readonly isDraining: boolean;
  };
}

export class WaitingDeliveries<Item extends WaitingItem<Item>> {
  readonly #gates: EndpointGates<Item>;
  readonly #slots: SlotScheduler;
  readonly #isStill: () => boolean;
  readonly #onHeld: (untilMs: number) => void;
  readonly #schedules = { queue: new Schedule<Item>(), retry: new Schedule<Item>() };
  /**
   * Deliveries that were selected and then put back. There can be several, because an endpoint that becomes
   * available releases several deliveries at once.
   */
  readonly #first: Record<SlotFor, Item[]> = { queue: [], retry: [] };

  /** @param onHeld called with the time at which a hold ends, if deliveries wait in the queue. */
  constructor(
    gates: EndpointGates<Item>,
    turns: SlotScheduler,
    isStill: () => boolean,
    onHeld: (untilMs: number) => void,
  ) {
    this.#gates = gates;
    this.#slots = turns;
    this.#isStill = isStill;
    this.#onHeld = onHeld;
  }

  /** @returns the item with the same key that it has to wait for; null if it may start. */
  add(item: Item): Item | null {
    return this.#schedules[item.owner.turn].add(item);
  }

  /** The next item with the same key, which waits for this one. */
  following(item: Item): Item | null {
    return this.#schedules[item.owner.turn].following(item);
  }

  /** Marks the item as completed, so that the next one with its key may start. */
  end(item: Item): void {
    this.#schedules[item.owner.turn].end(item);
  }

  /** Discards all items of a partition that is drained. */
  drop(owner: Item["owner"]): void {
    this.#schedules[owner.turn].drop(owner);
    this.#first[owner.turn] = this.#first[owner.turn].filter((item) => item.owner !== owner);
    this.#gates.keep((item) => item.owner !== owner);
  }

  /**
   * Removes and returns the waiting items that may start and for which the condition is true, and marks them as started. The
   * others stay in their order.
   */
  extract(holds: (item: Item) => boolean): readonly Item[] {
    const found: Item[] = [];
    for (const turn of TURNS) {
      const kept: Item[] = [];
      for (let item = this.#nextOf(turn); item !== undefined; item = this.#nextOf(turn)) {
        (holds(item) ? found : kept).push(item);
      }
      for (const item of kept) this.#schedules[turn].putBack(item);
    }
    return [...found, ...this.#gates.extract(holds)];
  }

  putBack(item: Item): void {
    this.#first[item.owner.turn].unshift(item);
  }

  /** Returns the next item that may start, and marks it as started. */
  next(nowMs: number): Item | undefined {
    if (this.#slots.isFull) return undefined;
    const due = this.#gates.due();
    if (due !== undefined) return due;
    if (this.#isStill()) return this.#nextOf("retry");
    if (!this.#mayLineGo(nowMs)) return this.#nextRetry(nowMs);
    const isRetrysTurn = this.#slots.isRetrysTurn(this.#gates.isProbeDue(nowMs));
    return (isRetrysTurn ? this.#nextRetry(nowMs) : undefined) ?? this.#nextOf("queue");
  }

  #mayLineGo(nowMs: number): boolean {
    if (this.#first.queue.length === 0 && !this.#schedules.queue.hasNext()) return false;
    if (!this.#slots.hasPlaceForQueue(nowMs)) return false;
    const state: QueueState = this.#gates.queue(nowMs);
    if (state.kind === "on-hold") this.#onHeld(state.untilMs);
    return state.kind === "goes";
  }

  #nextRetry(nowMs: number): Item | undefined {
    return this.#first.retry.length === 0
      ? (this.#gates.released(nowMs) ?? this.#schedules.retry.next())
      : this.#nextOf("retry");
  }

  #nextOf(turn: SlotFor): Item | undefined {
    return this.#first[turn].shift() ?? this.#schedules[turn].next();
  }
}

/** During a longer wait, the time is checked at this interval, in case the clock was changed. */
const LOOK_AGAIN_MAX_MS = 60_000;

/** @returns a function that the caller calls with the time at which a hold ends. */
export function lookingAgain(
  ports: Pick<WorkPorts, "nowMs" | "after">,
  look: () => void,
): (untilMs: number) => void {
  let nextMs = Number.NEGATIVE_INFINITY;
  return (untilMs) => {
    const nowMs = ports.nowMs();
    const atMs = Math.min(untilMs, nowMs + LOOK_AGAIN_MAX_MS);
    if (nextMs > nowMs && nextMs <= atMs) return;
    nextMs = atMs;
    ports.after(atMs - nowMs, () => {
      // The timer may fire before this time on this clock; this function is then called again.
      nextMs = Number.NEGATIVE_INFINITY;
      look();
    });
  };
}
