/**
 * The circuit breaker of one endpoint. While the endpoint keeps failing its deliveries wait, and one
 * at a time finds out whether it is back.
 *
 *   state       leaves it                                         for
 *   closed      20 failures in a row, the first one 1 s ago       open, 5 s
 *   open        its time is over, and a delivery comes            half-open
 *   open        a retry that came before that is accepted         recovering, 2 at a time
 *               or rejected
 *   half-open   the probe is accepted or rejected                 recovering, 2 at a time
 *   half-open   the probe fails                                   open, twice as long, at most 60 s
 *   recovering  another request succeeds                          recovering, one more at a time
 *   recovering  one fails that was sent since places were halved  recovering, with half the places
 *   recovering  so many succeeded as may be under way at a time   closed
 *   recovering  eight requests fail in a row                      open, 5 s
 *   any         an answer to a request from before it opened      the same state
 *   open,       another process says that it accepts              recovering, 2 at a time
 *   half-open
 *   recovering  requests fail, and another process said within    recovering, 2 at a time
 *               2.5 s that it accepts
 *
 *   meets       the line                               a retry: an attempted delivery that is due
 *   closed      goes                                   goes
 *   open        is away until the time is over         goes, one at a time: each is a probe
 *   half-open   waits for the probe's answer           the same
 *   recovering  goes while there is room, else waits   the same
 *               for an answer
 *
 * A retry that fails while its endpoint's breaker is open changes nothing: the time of the next
 * probe stays, so that many of them neither hasten it nor put it off.
 *
 * A failure is what is tried again (5xx, 408, 425, 429, no response). An endpoint that rejects a
 * call is alive. Doubling the pause, adding one place for each success and halving them once for
 * what was lost together are the schedules of TCP's retransmission and congestion control: they
 * find a load that the other side bears without knowing it. But failures need not come of load: one
 * that fails now and then, whatever the load, is closed again by what succeeds, as it was before.
 *
 * Core: the caller gives the time and counts nothing itself. `admit` and `settle` go in pairs.
 */

import assert from "node:assert/strict";

import type { CircuitState } from "../domain/destination-status.ts";

const FAILURES_TO_OPEN = 20;
const FAILING_FOR_MS = 1_000;
const OPEN_FIRST_MS = 5_000;
const OPEN_MAX_MS = 60_000;
const RAMP_FIRST = 2;
/** When its time is over, a probe is to be under way soon, if anything waits. */
const PROBE_WITHIN_MS = 1_000;
/** An endpoint that is back may still fail now and then: that alone does not shut it out again. */
const RAMP_FAILURES_TO_OPEN = 8;

/** Processes that go on accepting say so each second. */
export const HEARD_FOR_MS = 2_500;

/** Whether a delivery comes from its destination's line, or was attempted before and is due again. */
export type SlotFor = "line" | "retry";

export type Admission =
  /** Send it, and give the ticket back to `settle`. */
  | { readonly kind: "go"; readonly ticket: Ticket }
  /** Leave the endpoint alone until then. */
  | { readonly kind: "unavailable"; readonly untilMs: number }
  /** Ask again after the next `settle`. */
  | { readonly kind: "wait" };

/** Tells answers to requests of before an opening, or a halving, from those after it. */
export type Ticket = number;

export class CircuitBreaker {
  /** Requests that the destination allows at the same time. */
  #placesMax: number;
  #state: CircuitState = "closed";
  #failures = 0;
  #failingSinceMs = 0;
  #openMs = 0;
  #untilMs = 0;
  #openedAtMs = 0;
  #places = RAMP_FIRST;
  #underWay = 0;
  #succeededAgain = 0;
  /** A retry is under way while it is open. */
  #isTried = false;
  /** Rises when it opens and when places are halved. Tickets are its value; `~value` of such a retry. */
  #mark: number;
  #openedAt: number;
  #halvedAt = 0;
  #heardAtMs = Number.NEGATIVE_INFINITY;

  /**
   * @param placesMax at least 1.
   * @param mark above those of an earlier breaker of this endpoint: answers to that one's requests
   *   then count for nothing here.
   */
  constructor(placesMax: number, mark = 0) {
    assert(placesMax >= 1);
    this.#placesMax = placesMax;
    this.#mark = mark;
    this.#openedAt = mark;
  }

  get mark(): number {
    return this.#mark;
  }

  /** The destination allows another number of requests from now on. At least 1. */
  allow(placesMax: number): void {
    assert(placesMax >= 1);
    this.#placesMax = placesMax;
  }

  get state(): CircuitState {
    return this.#state;
  }

  admit(nowMs: number, turn: SlotFor): Admission {
    if (this.mustWait()) return { kind: "wait" };
    if (this.#state === "open") {
      if (this.#isOpenStill(nowMs)) {
        if (turn === "line") return { kind: "unavailable", untilMs: this.#untilMs };
        this.#isTried = true;
        return { kind: "go", ticket: ~this.#mark };
      }
      if (this.#isIdle(nowMs)) this.#openedAtMs = nowMs;
      this.#state = "half-open";
    }
    this.#underWay += 1;
    return { kind: "go", ticket: this.#mark };
  }

  /** Each admitted request once. Returns the state it changed to, or null. */
  settle(ticket: Ticket, isSuccess: boolean, nowMs: number): CircuitState | null {
    if (ticket < 0) {
      if (this.#state !== "open" || ~ticket < this.#openedAt) return null;
      this.#isTried = false;
      return isSuccess ? this.#recover() : null;
    }
    if (ticket < this.#openedAt) return null;
    this.#underWay -= 1;
    return isSuccess ? this.#succeeded() : this.#failed(ticket, nowMs);
  }

  /** Another process's request was accepted or rejected. Returns the state it changed to, or null. */
  heardAccepted(nowMs: number): CircuitState | null {
    this.#heardAtMs = nowMs;
    return this.#state === "open" || this.#state === "half-open" ? this.#recover() : null;
  }

  /** Until when the line is to leave the endpoint alone; 0 when it need not. */
  unavailableUntilMs(nowMs: number): number {
    return this.#state === "open" && this.#isOpenStill(nowMs) ? this.#untilMs : 0;
  }

  /**
   * Since when it has been open, probes that failed included; null: the line goes. One whose time is
   * over while nothing comes to probe it holds nothing.
   */
  openSinceMs(nowMs: number): number | null {
    const isProbed = this.#state === "half-open" || this.#isTried;
    const isOpen = this.#state === "open" && !this.#isIdle(nowMs);
    return isProbed || isOpen ? this.#openedAtMs : null;
  }

  /** Whether `admit` would say `wait`. */
  mustWait(): boolean {
    if (this.#state === "recovering") return this.#underWay >= this.#places;
    return this.#state === "half-open" || this.#isTried;
  }

  /** Never for longer than it once said: the clock may have been set back. */
  #isOpenStill(nowMs: number): boolean {
    return nowMs < this.#untilMs && this.#untilMs - nowMs <= this.#openMs;
  }

  /** Its time has been over for a while, and nothing came. */
  #isIdle(nowMs: number): boolean {
    return nowMs > this.#untilMs + PROBE_WITHIN_MS || this.#untilMs - nowMs > this.#openMs;
  }

  #succeeded(): CircuitState | null {
    if (this.#state === "half-open") return this.#recover();
    this.#failures = 0;
    if (this.#state === "closed") return null;
    this.#succeededAgain += 1;
    this.#places += 1;
    return this.#succeededAgain >= this.#placesMax ? this.#close() : null;
  }

  #failed(ticket: Ticket, nowMs: number): CircuitState | null {
    if (this.#state === "half-open") return this.#open(nowMs);
    if (this.#failures === 0 || nowMs < this.#failingSinceMs) this.#failingSinceMs = nowMs;
    this.#failures += 1;
    if (this.#state === "recovering") {
      if (ticket >= this.#halvedAt) this.#halve();
      const isAlive = nowMs - this.#heardAtMs < HEARD_FOR_MS && nowMs >= this.#heardAtMs;
      return this.#failures >= RAMP_FAILURES_TO_OPEN && !isAlive ? this.#open(nowMs) : null;
    }
    const isLong = nowMs - this.#failingSinceMs >= FAILING_FOR_MS;
    return this.#failures >= FAILURES_TO_OPEN && isLong ? this.#open(nowMs) : null;
  }

  #halve(): void {
    this.#places = Math.max(RAMP_FIRST, Math.floor(this.#places / 2));
    this.#mark += 1;
    this.#halvedAt = this.#mark;
  }

  #open(nowMs: number): CircuitState {
    if (this.#state !== "half-open") this.#openedAtMs = nowMs;
    this.#openMs = this.#openMs === 0 ? OPEN_FIRST_MS : Math.min(this.#openMs * 2, OPEN_MAX_MS);
    this.#untilMs = nowMs + this.#openMs;
    this.#failures = 0;
    this.#underWay = 0;
    this.#isTried = false;
    this.#mark += 1;
    this.#openedAt = this.#mark;
    this.#state = "open";
    return this.#state;
  }

  #recover(): CircuitState {
    this.#failures = 0;
    this.#openMs = 0;
    this.#isTried = false;
    this.#places = RAMP_FIRST;
    this.#succeededAgain = 1;
    this.#state = "recovering";
    return this.#succeededAgain >= this.#placesMax ? this.#close() : this.#state;
  }

  #close(): CircuitState {
    this.#failures = 0;
    this.#openMs = 0;
    this.#state = "closed";
    return this.#state;
  }
}
