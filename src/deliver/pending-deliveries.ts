/**
 * The deliveries of a destination that wait for an attempt, and which of them goes next.
 *
 *   where from          waits here          goes
 *   its topic           in line, by key     when the line goes (`endpoint-availability.ts`) and has a place
 *   its topic of        by key              when there is a place for a retry (`slot-scheduler.ts`)
 *   returns
 *   ... and its         at that endpoint    when that may be asked, or its time is over
 *   endpoint may not
 *   be asked
 *
 * While the destination is paused or disabled nothing goes but what has to be looked at: a retry
 * once, so that its window is known, and again when that has ended.
 */

import type { SlotFor } from "./circuit-breaker.ts";
import type { EndpointGates, QueueState } from "./endpoint-availability.ts";
import { createSchedule, type Scheduled } from "./schedule.ts";
import type { SlotScheduler } from "./slot-scheduler.ts";

const TURNS = ["line", "retry"] as const;

export interface WaitingItem<Item> extends Scheduled<Item> {
  /** The partition as assigned this time. */
  readonly owner: { readonly turn: SlotFor; readonly isDraining: boolean };
}

export class WaitingDeliveries<Item extends WaitingItem<Item>> {
  readonly #gates: EndpointGates<Item>;
  readonly #slots: SlotScheduler;
  readonly #isStill: () => boolean;
  readonly #onHeld: (untilMs: number) => void;
  readonly #schedules = { line: createSchedule<Item>(), retry: createSchedule<Item>() };
  /** Were next, and had to be put back: several, where others come from an endpoint meanwhile. */
  readonly #first: Record<SlotFor, Item[]> = { line: [], retry: [] };

  /** @param onHeld called with the time until which the line is held, when something waits in it. */
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

  add(item: Item): void {
    this.#schedules[item.owner.turn].add(item);
  }

  /** The item is no longer under way: the next one of its key may start. */
  end(item: Item): void {
    this.#schedules[item.owner.turn].end(item);
  }

  /** Forgets all items of a partition that is being drained. */
  drop(owner: Item["owner"]): void {
    this.#schedules[owner.turn].drop(owner);
    this.#first[owner.turn] = this.#first[owner.turn].filter((item) => item.owner !== owner);
    this.#gates.keep((item) => item.owner !== owner);
  }

  /**
   * Takes out those that wait, may start, and hold. They are under way from now on. The others stay,
   * in their order.
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

  /** It goes next of those of its turn. */
  putBack(item: Item): void {
    this.#first[item.owner.turn].unshift(item);
  }

  /** The next one that may start; it is under way from now on. */
  next(nowMs: number): Item | undefined {
    if (this.#slots.isFull) return undefined;
    const due = this.#gates.due();
    if (due !== undefined) return due;
    if (this.#isStill()) return this.#nextOf("retry");
    if (!this.#mayLineGo(nowMs)) return this.#nextRetry(nowMs);
    const isRetrysTurn = this.#slots.isRetrysTurn(this.#gates.isProbeDue(nowMs));
    return (isRetrysTurn ? this.#nextRetry(nowMs) : undefined) ?? this.#nextOf("line");
  }

  #mayLineGo(nowMs: number): boolean {
    if (this.#first.line.length === 0 && !this.#schedules.line.hasNext()) return false;
    if (!this.#slots.hasPlaceForLine(nowMs)) return false;
    const state: QueueState = this.#gates.line(nowMs);
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
