/**
 * The circuit breaker of one endpoint: spaces attempts at an endpoint that keeps failing, so that
 * its deliveries wait in delay topics instead of in line.
 *
 *   state      leaves it                                         for
 *   closed     20 failures in a row, the first one 1 s ago       open, 5 s
 *   open       its time is over, and a delivery comes            probing
 *   probing    the probe is accepted or rejected                 ramping, 2 at a time
 *   probing    the probe fails                                   open, twice as long, at most 60 s
 *   ramping    another request succeeds                          ramping, one more at a time
 *   ramping    as many at a time as the destination allows       closed
 *   ramping    a request fails                                   ramping, with half the places
 *   ramping    five requests fail in a row                       open, 5 s
 *   any        an answer to a request from before it opened      the same state
 *
 *   a delivery meets   is
 *   closed             sent
 *   open               kept away until the time is over: parked, without using up an attempt
 *   probing            waiting for the probe's answer
 *   ramping            sent while there is room, else waiting for an answer
 *
 * A failure is what is tried again (5xx, 408, 425, 429, no response). An endpoint that rejects a
 * call is alive. Doubling the pause and adding one place for each success are the schedules of TCP's
 * retransmission and slow start: both find a load that the other side bears without knowing it.
 *
 * Core: the caller gives the time and counts nothing itself. `admit` and `settle` go in pairs.
 */

import assert from "node:assert/strict";

const FAILURES_TO_OPEN = 20;
const FAILING_FOR_MS = 1_000;
const OPEN_FIRST_MS = 5_000;
const OPEN_MAX_MS = 60_000;
const RAMP_FIRST = 2;
/** An endpoint that is back may still fail now and then: that alone does not shut it out again. */
const RAMP_FAILURES_TO_OPEN = 5;

export type BreakerState = "closed" | "open" | "probing" | "ramping";

export type Admission =
  /** Send it, and give the ticket back to `settle`. */
  | { readonly kind: "go"; readonly ticket: Ticket }
  /** Leave the endpoint alone until then. */
  | { readonly kind: "away"; readonly untilMs: number }
  /** Ask again after the next `settle`. */
  | { readonly kind: "wait" };

/** Tells answers to requests of before an opening from those after it. */
export type Ticket = number;

export interface Breaker {
  /** @param isForced sends it whatever the state: the delivery has been kept away often enough. */
  admit(nowMs: number, isForced: boolean): Admission;
  /** Each admitted request once. Returns the state it changed to, or null. */
  settle(ticket: Ticket, isSuccess: boolean, nowMs: number): BreakerState | null;
  /** Until when the endpoint is to be left alone; 0 when it need not be. */
  awayUntilMs(nowMs: number): number;
  /** Whether `admit` would say `wait` to a delivery that is not forced. */
  mustWait(): boolean;
  state(): BreakerState;
}

/** @param placesMax requests that the destination allows at the same time. At least 1. */
export function createBreaker(placesMax: number): Breaker {
  assert(placesMax >= 1);
  let state: BreakerState = "closed";
  let failures = 0;
  let failingSinceMs = 0;
  let openMs = 0;
  let untilMs = 0;
  let places = placesMax;
  let underWay = 0;
  let epoch = 0;

  const open = (nowMs: number): BreakerState => {
    state = "open";
    openMs = openMs === 0 ? OPEN_FIRST_MS : Math.min(openMs * 2, OPEN_MAX_MS);
    untilMs = nowMs + openMs;
    failures = 0;
    epoch += 1;
    underWay = 0;
    return state;
  };
  const close = (): BreakerState => {
    state = "closed";
    failures = 0;
    openMs = 0;
    return state;
  };
  const go = (): Admission => {
    underWay += 1;
    return { kind: "go", ticket: epoch };
  };
  const failed = (nowMs: number): BreakerState | null => {
    if (state === "probing") return open(nowMs);
    if (failures === 0) failingSinceMs = nowMs;
    failures += 1;
    if (state === "ramping") {
      places = Math.max(RAMP_FIRST, Math.floor(places / 2));
      return failures >= RAMP_FAILURES_TO_OPEN ? open(nowMs) : null;
    }
    const isLong = nowMs - failingSinceMs >= FAILING_FOR_MS;
    return failures >= FAILURES_TO_OPEN && isLong ? open(nowMs) : null;
  };
  const succeeded = (): BreakerState | null => {
    failures = 0;
    if (state === "closed") return null;
    const before = state;
    places = state === "probing" ? RAMP_FIRST : places + 1;
    openMs = 0;
    if (places >= placesMax) return close();
    state = "ramping";
    return before === "probing" ? state : null;
  };
  const mustWait = () => state === "probing" || (state === "ramping" && underWay >= places);
  return {
    admit: (nowMs, isForced) => {
      if (state === "closed") return go();
      // Outside the count: its answer says nothing that the probe does not say.
      if (isForced) return { kind: "go", ticket: -1 };
      if (state === "open") {
        if (nowMs < untilMs) return { kind: "away", untilMs };
        state = "probing";
        return go();
      }
      return mustWait() ? { kind: "wait" } : go();
    },
    settle: (ticket, isSuccess, nowMs) => {
      if (ticket !== epoch) return null;
      underWay -= 1;
      return isSuccess ? succeeded() : failed(nowMs);
    },
    awayUntilMs: (nowMs) => (state === "open" && nowMs < untilMs ? untilMs : 0),
    mustWait,
    state: () => state,
  };
}

/**
 * Whether a delivery goes out although its endpoint's breaker is open. A breaker only spaces
 * attempts: at most two parkings without an attempt come between two attempts, so that every delivery
 * is requested several times in its window.
 *
 * @param parked times parked, with and without an attempt
 * @param attempts attempts made
 */
export function isKeptAwayLongEnough(parked: number, attempts: number): boolean {
  return parked - attempts >= 2 * (attempts + 1);
}
