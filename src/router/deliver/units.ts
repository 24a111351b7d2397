/**
 * Puts deliveries together into units. The deliveries of a unit share requests, so they have the same endpoints.
 * They are either all from the queue or all retries.
 *
 *   a delivery                              joins
 *   must be sent alone                      a separate unit, which is closed
 *   fits the open unit                      that unit, which is closed when it has `calls` deliveries
 *   does not fit it                         a new unit; the earlier one is closed
 *   has the same key as one in an open      that unit, after the other one; if it does not fit, it waits until that
 *   unit, on the same partition             unit has ended
 *
 *   a unit                                  starts
 *   is closed                               when a slot is free
 *   is open                                 when a slot is free, nothing else can join it now, and `waitMs` have passed since
 *                                           its first delivery arrived, or the retry window of one of them has ended
 *   has endpoints whose availability        not at all: its deliveries are evaluated again, in order
 *   changed while it waited
 *   waited while a user was suppressed      the same
 *   or lifted
 *
 * The time that a delivery has already waited for a slot or for its endpoint counts toward `waitMs`.
 */

import assert from "node:assert/strict";
import type { Delivery } from "../../domain/delivery.ts";
import { hasRoom, type Sender, type UnitLimits } from "../destinations/port.ts";
import { roundsIntegers } from "../stage/content.ts";
import type { Turn } from "./circuit-breaker.ts";
import type { EndpointGates } from "./endpoint-availability.ts";
import type { Call, InFlight, OwnedPartition, Unit, UnitCall } from "./in-flight.ts";
import type { Prepared, PreparedAttempt } from "./prepare.ts";
import type { Queue } from "./queue.ts";

/** What a delivery must have in common with a unit to join it. */
type Group = Pick<Unit, "turn" | "endpoints" | "availability">;

export class Units {
  readonly #sender: Sender;
  readonly #queue: Queue;
  readonly #gates: EndpointGates;
  readonly #prepare: (item: InFlight, nowMs: number) => Prepared | null;
  readonly #suppressionsVersion: () => number;
  /** Null if each delivery is sent alone. Changed by `update`. */
  #limits: UnitLimits | null;
  /** The units in the order in which they were opened. Each delivery in them has its `unit` set. */
  #units: Unit[] = [];

  /**
   * @param prepare prepares a delivery that would follow another one with its key; null if it must not be attempted.
   * @param suppressionsVersion changes when a user is suppressed or lifted.
   */
  constructor(
    sender: Sender,
    queue: Queue,
    gates: EndpointGates,
    prepare: (item: InFlight, nowMs: number) => Prepared | null,
    suppressionsVersion: () => number,
  ) {
    this.#sender = sender;
    this.#queue = queue;
    this.#gates = gates;
    this.#prepare = prepare;
    this.#suppressionsVersion = suppressionsVersion;
    this.#limits = sender.limits();
  }

  /** False if each delivery is sent alone. */
  get areUsed(): boolean {
    return this.#limits !== null;
  }

  get isEmpty(): boolean {
    return this.#units.length === 0;
  }

  /** When the first open unit is due; infinite if no unit is open. */
  get dueAtMs(): number {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { isClosed, dueAtMs } of this.#units) {
      if (!isClosed) firstMs = Math.min(firstMs, dueAtMs);
    }
    return firstMs;
  }

  /** Applies the sender's new limits. Deliveries in units are evaluated again. */
  update(): void {
    this.disbandAll();
    this.#limits = this.#sender.limits();
  }

  /** Adds a delivery that may start, and those with its key that wait for it and fit. */
  add(item: InFlight, prepared: PreparedAttempt, nowMs: number): void {
    assert(this.#limits !== null);
    const call = this.#callOf(item, prepared, false);
    const group = this.#groupOf(item, prepared, nowMs);
    const open = call.measured.isAlone ? undefined : this.#openUnit(group);
    if (open === undefined || !joins(open, call, this.#limits))
      this.#open(group, call, this.#limits);
    this.addFollowing(item, nowMs);
  }

  /** Adds to the delivery's unit, if it is open, the deliveries with the same key for which it has room. */
  addFollowing(item: InFlight, nowMs: number): void {
    const { unit } = item;
    if (unit === null) return;
    let next = this.#queue.following(item);
    while (
      next !== null &&
      next.unit === null &&
      !unit.isClosed &&
      this.#follows(next, unit, nowMs)
    )
      next = this.#queue.following(next);
  }

  /**
   * Removes and returns the next unit that may start.
   *
   * @param isRest true if nothing else can join an open unit now.
   */
  next(nowMs: number, isRest: boolean, hasPlace: (turn: Turn) => boolean): Unit | undefined {
    const at = this.#units.findIndex(
      ({ isClosed, dueAtMs, turn }) => (isClosed || (isRest && dueAtMs <= nowMs)) && hasPlace(turn),
    );
    const unit = at === -1 ? undefined : this.#units.splice(at, 1)[0];
    if (unit !== undefined) unit.isClosed = true;
    return unit;
  }

  /** True if the deliveries of a unit that `next` returned have to be evaluated again. */
  isOutdated(unit: Unit, nowMs: number): boolean {
    const { endpoints, availability, calls, suppressionsVersion } = unit;
    if (suppressionsVersion !== this.#suppressionsVersion()) return true;
    if (this.#gates.availability(endpoints, nowMs) !== availability) return true;
    if (this.#gates.stopped(nowMs) !== null || this.#gates.mustAllWait(endpoints)) return true;
    return calls.some(({ untilMs }) => untilMs < nowMs);
  }

  /** Puts back a unit that `next` returned, in front of all others. */
  putBack(unit: Unit): void {
    this.#units.unshift(unit);
  }

  /** Dissolves a unit that `next` returned: its deliveries wait in the queue again, in the same order. */
  disband({ calls }: Unit): void {
    for (const { item, follows } of calls.toReversed()) {
      item.unit = null;
      // A delivery that follows another one waits for it.
      if (!follows) this.#queue.putBack(item);
    }
  }

  disbandAll(): void {
    for (const unit of this.#units.splice(0).toReversed()) {
      unit.isClosed = true;
      this.disband(unit);
    }
  }

  /** Discards the deliveries of a partition. */
  drop(owner: OwnedPartition): void {
    for (const unit of this.#units) {
      const kept = unit.calls.filter(({ item }) => item.owner !== owner);
      unit.calls.splice(0, Number.POSITIVE_INFINITY, ...kept);
      unit.bytes = kept.reduce((sum, { measured }) => sum + measured.bytes, 0);
    }
    this.#units = this.#units.filter(({ calls }) => calls.length > 0);
  }

  #openUnit(group: Group): Unit | undefined {
    return this.#units.find((unit) => !unit.isClosed && isGroup(unit, group));
  }

  #open(group: Group, call: UnitCall, limits: UnitLimits): void {
    const dueAtMs = Number.POSITIVE_INFINITY;
    const suppressionsVersion = this.#suppressionsVersion();
    const unit: Unit = {
      ...group,
      calls: [],
      bytes: 0,
      dueAtMs,
      isClosed: false,
      suppressionsVersion,
    };
    this.#units.push(unit);
    joins(unit, call, limits);
  }

  /** Adds a delivery that has the same key as one in the unit. If the delivery cannot join, closes the unit. */
  #follows(item: InFlight, unit: Unit, nowMs: number): boolean {
    assert(this.#limits !== null);
    const prepared = this.#prepare(item, nowMs);
    if (prepared?.kind !== "attempt") return false;
    const call = this.#callOf(item, prepared, true);
    if (isGroup(unit, this.#groupOf(item, prepared, nowMs))) return joins(unit, call, this.#limits);
    unit.isClosed = true;
    return false;
  }

  #callOf(item: InFlight, prepared: PreparedAttempt, follows: boolean): UnitCall {
    const { delivery, results, text, untilMs } = prepared;
    const measured = this.#sender.measure(prepared);
    const hasRounded = isRounded(delivery, text);
    return { item, delivery, results, isRounded: hasRounded, measured, follows, untilMs };
  }

  #groupOf({ owner }: InFlight, { endpoints }: PreparedAttempt, nowMs: number): Group {
    const availability = this.#gates.availability(endpoints, nowMs);
    return { turn: owner.turn, endpoints, availability };
  }
}

function isGroup(unit: Group, { turn, endpoints, availability }: Group): boolean {
  if (unit.turn !== turn || unit.availability !== availability) return false;
  if (unit.endpoints === endpoints) return true;
  return (
    unit.endpoints.length === endpoints.length &&
    endpoints.every(({ key }, at) => unit.endpoints[at]?.key === key)
  );
}

/**
 * Adds a delivery to an open unit if the unit has room for it, and otherwise closes the unit.
 *
 * @returns true if the delivery is now part of the unit.
 */
function joins(unit: Unit, call: UnitCall, limits: UnitLimits): boolean {
  const { measured, item, untilMs } = call;
  if (!hasRoom(limits, { calls: unit.calls.length, bytes: unit.bytes }, measured)) {
    unit.isClosed = true;
    return false;
  }
  unit.calls.push(call);
  unit.bytes += measured.bytes;
  unit.dueAtMs = Math.min(unit.dueAtMs, item.arrivedAtMs + limits.waitMs, untilMs);
  unit.isClosed = measured.isAlone || unit.calls.length >= limits.calls;
  item.unit = unit;
  return true;
}

/** A delivery that is sent now, alone. */
export function callOf(item: InFlight, { delivery, results, text }: PreparedAttempt): Call {
  return { item, delivery, results, isRounded: isRounded(delivery, text), measured: null };
}

function isRounded({ attempt }: Delivery, text: string): boolean {
  return attempt === 0 && roundsIntegers(text);
}

/** The retry window starts with the first attempt, not with the time at which the delivery joined its unit. */
export function beginWindow(call: UnitCall, nowMs: number): void {
  const { delivery } = call;
  const isFirst = delivery.attempt === 0 && delivery.endpoint === null;
  if (!isFirst || delivery.firstAttemptAtMs === nowMs) return;
  call.delivery = { ...delivery, firstAttemptAtMs: nowMs };
}
