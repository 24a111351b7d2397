/**
 * Groups deliveries into units. The deliveries of a unit share requests, so they have the same endpoints.
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
 *
 * The time that a delivery has already waited for a slot or for its endpoint counts toward `waitMs`.
 */

import { hasRoom, type UnitLimits } from "../destinations/port.ts";
import type { OwnedWork, Unit, UnitCall } from "./active-attempt.ts";
import type { SlotFor } from "./circuit-breaker.ts";

/** What a delivery must have in common with a unit to join it. */
export type Group = Pick<Unit, "turn" | "endpoints" | "availability">;

export class Gathering {
  /** The units in the order in which they were opened. */
  #units: Unit[] = [];

  /** Adds a delivery that may start, and returns its unit. */
  add(call: UnitCall, group: Group, limits: UnitLimits): Unit {
    const open = call.measured.isAlone ? undefined : this.#openUnit(group);
    if (open !== undefined && joins(open, call, limits)) return open;
    const dueAtMs = Number.POSITIVE_INFINITY;
    const unit: Unit = { ...group, calls: [], bytes: 0, dueAtMs, isClosed: false };
    this.#units.push(unit);
    joins(unit, call, limits);
    return unit;
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

  /**
   * Removes and returns the next unit that may start.
   *
   * @param isRest true if nothing else can join an open unit now.
   */
  next(nowMs: number, isRest: boolean, hasPlace: (turn: SlotFor) => boolean): Unit | undefined {
    const at = this.#units.findIndex(
      ({ isClosed, dueAtMs, turn }) => (isClosed || (isRest && dueAtMs <= nowMs)) && hasPlace(turn),
    );
    const unit = at === -1 ? undefined : this.#units.splice(at, 1)[0];
    if (unit !== undefined) unit.isClosed = true;
    return unit;
  }

  /** Puts back a unit that `next` returned, in front of all others. */
  putBack(unit: Unit): void {
    this.#units.unshift(unit);
  }

  takeAll(): readonly Unit[] {
    for (const unit of this.#units) unit.isClosed = true;
    return this.#units.splice(0);
  }

  /** Discards the deliveries of a partition. */
  drop(owner: OwnedWork): void {
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

/** Adds a delivery that has the same key as one in the unit. If the delivery cannot join, closes the unit. */
export function joinsBehind(unit: Unit, call: UnitCall, group: Group, limits: UnitLimits): boolean {
  if (!unit.isClosed && isGroup(unit, group)) return joins(unit, call, limits);
  unit.isClosed = true;
  return false;
}
