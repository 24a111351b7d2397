/**
 * The circuit breaker of one endpoint. While the endpoint keeps failing, deliveries wait, and one probe at a
 * time finds out whether the endpoint works again.
 *
 *   state        leaves it when                                        next state
 *   closed       20 requests failed in a row over at least 1 s         open for 5 s
 *   open         the time is over and a delivery is available          half-open
 *   open         an earlier retry is accepted or rejected              recovering, 2 requests at a time
 *   half-open    the probe is accepted or rejected                     recovering, 2 requests at a time
 *   half-open    the probe fails                                       open for twice as long, at most 60 s
 *   recovering   a request succeeds                                    recovering, one more at a time
 *   recovering   a request that was sent after the last halving fails  recovering, half as many at a time
 *   recovering   as many requests succeeded as may run at a time       closed
 *   recovering   8 requests fail in a row                              open for 5 s
 *   any          a request sent before it opened completes             the same state
 *   open,        another process reports that the endpoint accepts     recovering, 2 requests at a time
 *   half-open
 *   recovering   requests fail, but another process reported in the    recovering, 2 requests at a time
 *                last 2.5 s that the endpoint accepts
 *
 *   state        a delivery from the queue             a retry that is due
 *   closed       is sent                               is sent
 *   open         waits until the time is over          is sent as a probe, one at a time
 *   half-open    waits until the probe completes       the same
 *   recovering   is sent while a slot is free          the same
 *
 * A retry that fails while the circuit is open does not change the state, so retries do not affect when the next
 * probe is sent.
 *
 * Only failures that are retried count (5xx, 408, 425, 429, no response): a rejection shows that the endpoint
 * is alive. The schedules are those of TCP's retransmission and congestion control: the time doubles, each
 * success adds one slot, and requests that failed together halve the slots once. This finds the load that the
 * endpoint can handle, which is not known in advance. If failures do not depend on load, the successes
 * between them outweigh the failures, so the circuit still closes.
 *
 * The caller supplies the time. For each `admit` that allows a request, the caller calls `settle` or `withdraw` once.
 */

import assert from "node:assert/strict";

import type { CircuitState } from "../../domain/destination-status.ts";

const FAILURES_TO_OPEN = 20;
const FAILING_FOR_MS = 1_000;
const OPEN_FIRST_MS = 5_000;
const OPEN_MAX_MS = 60_000;
const RAMP_FIRST = 2;
/** If a delivery is waiting, a probe should be sent within this time after the open time has ended. */
const PROBE_WITHIN_MS = 1_000;
/** More than one, because occasional failures of an endpoint that works again must not open the circuit. */
const RAMP_FAILURES_TO_OPEN = 8;

/**
 * How long a report from another process remains valid. A process repeats the report every second while the
 * endpoint accepts its requests.
 */
export const HEARD_FOR_MS = 2_500;

/** A delivery from the destination's queue, or a retry that is due. */
export type Turn = "queue" | "retry";

export type Admission =
  /** Send the request, and pass the ticket to `settle`. */
  | { readonly kind: "go"; readonly ticket: Ticket }
  /** Send nothing to the endpoint before this time. */
  | { readonly kind: "unavailable"; readonly untilMs: number }
  /** Call `admit` again after the next `settle`. */
  | { readonly kind: "wait" };

/** Shows whether a request was sent before or after the circuit last opened or the slots were last halved. */
export type Ticket = number;

export class CircuitBreaker {
  /** Maximum number of concurrent requests that the destination allows. */
  #placesMax: number;
  /** Changed by `admit` (half-open), `settle` and `heardAccepted`, through `#open`, `#recover` and `#close`. */
  #state: CircuitState = "closed";
  /** Failures in a row, and the time of the first; not counted while the circuit is open. */
  #failures = 0;
  #failingSinceMs = 0;
  /** Set by `#open`: how long the circuit is open, until when, and since when, before any failed probes. */
  #openMs = 0;
  #untilMs = 0;
  #openedAtMs = 0;
  /** In the recovering state: requests at a time, those in progress, and those that succeeded. */
  #places = RAMP_FIRST;
  #underWay = 0;
  #succeededAgain = 0;
  /** True if a retry is in progress while the circuit is open. */
  #isTried = false;
  /**
   * Incremented when the circuit opens and when slots are halved. A request gets this value as its ticket; a retry that
   * is sent while the circuit is open gets `~value`.
   */
  #mark: number;
  /** The marks of the last opening and halving: results of requests that were sent before them do not count. */
  #openedAt: number;
  #halvedAt = 0;
  /** When another process last reported that the endpoint accepts. */
  #heardAtMs = Number.NEGATIVE_INFINITY;

  /**
   * @param placesMax at least 1.
   * @param mark must be higher than all marks of the endpoint's earlier breaker. The results of requests that
   *   the earlier breaker admitted are then ignored.
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

  /** Changes the maximum number of concurrent requests. At least 1. */
  allow(placesMax: number): void {
    assert(placesMax >= 1);
    this.#placesMax = placesMax;
  }

  get state(): CircuitState {
    return this.#state;
  }

  admit(nowMs: number, turn: Turn): Admission {
    if (this.mustWait()) return { kind: "wait" };
    if (this.#state === "open") {
      if (this.#isOpenStill(nowMs)) {
        if (turn === "queue") return { kind: "unavailable", untilMs: this.#untilMs };
        this.#isTried = true;
        return { kind: "go", ticket: ~this.#mark };
      }
      if (this.#isIdle(nowMs)) this.#openedAtMs = nowMs;
      this.#state = "half-open";
    }
    this.#underWay += 1;
    return { kind: "go", ticket: this.#mark };
  }

  /** Call once for each admitted request. Returns the new state, or null if it did not change. */
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

  /** Call instead of `settle` for an admitted request that was not sent. Returns the new state, or null if it did not change. */
  withdraw(ticket: Ticket): CircuitState | null {
    if (ticket < 0) {
      if (this.#state === "open" && ~ticket >= this.#openedAt) this.#isTried = false;
      return null;
    }
    if (ticket < this.#openedAt) return null;
    this.#underWay -= 1;
    if (this.#state !== "half-open") return null;
    // Its time is over, so the next request is the probe.
    this.#state = "open";
    return this.#state;
  }

  /** Call when another process reports an accepted or rejected request. Returns the new state, or null if it did not change. */
  heardAccepted(nowMs: number): CircuitState | null {
    this.#heardAtMs = nowMs;
    return this.#state === "open" || this.#state === "half-open" ? this.#recover() : null;
  }

  /** The time until which no deliveries from the queue are sent to the endpoint; 0 if they may be sent now. */
  unavailableUntilMs(nowMs: number): number {
    return this.#state === "open" && this.#isOpenStill(nowMs) ? this.#untilMs : 0;
  }

  /**
   * The time at which the circuit first opened, before any failed probes; null if deliveries may be sent. If
   * the open time has passed and no delivery was available for a probe, the circuit no longer puts the
   * destination on hold.
   */
  openSinceMs(nowMs: number): number | null {
    const isProbed = this.#state === "half-open" || this.#isTried;
    const isOpen = this.#state === "open" && !this.#isIdle(nowMs);
    return isProbed || isOpen ? this.#openedAtMs : null;
  }

  /** True if `admit` would return `wait`. */
  mustWait(): boolean {
    if (this.#state === "recovering") return this.#underWay >= this.#places;
    return this.#state === "half-open" || this.#isTried;
  }

  /** Also returns false if more than the whole open time would remain, because the clock was set back. */
  #isOpenStill(nowMs: number): boolean {
    return nowMs < this.#untilMs && this.#untilMs - nowMs <= this.#openMs;
  }

  /** Returns true if the open time ended more than `PROBE_WITHIN_MS` ago, and no delivery has arrived since then. */
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
