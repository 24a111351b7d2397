/**
 * How a destination's line and its retries share `concurrency`.
 *
 *   waiting                       goes next
 *   the line alone                the line
 *   retries alone                 a retry
 *   both                          they take turns; retries have at most half of the places
 *   both, and a probe is due      a retry, but the line after three of them: calls that always fail
 *                                 must not keep an endpoint closed
 *
 *   retries                       places that the line leaves free for more of them
 *   none expected                 none
 *   expected                      an eighth of `concurrency`, at least one, unless there is only one
 *   half of the places            none
 *
 * A retry that is due finds a place at once, although the line takes what it can get and a slow
 * endpoint gives places back seldom. Retries are expected from a parking or a return on, for as long
 * as the longest delay.
 */

import type { Turn } from "./breaker.ts";

const RETRIES_PER_PROBE = 3;

export class Turns {
  #concurrency: number;
  readonly #expectedForMs: number;
  #underWay = 0;
  #retries = 0;
  #retriesInARow = 0;
  #expectedUntilMs = Number.NEGATIVE_INFINITY;

  /** @param expectedForMs the longest delay before another attempt. */
  constructor(concurrency: number, expectedForMs: number) {
    this.#concurrency = concurrency;
    this.#expectedForMs = expectedForMs;
  }

  /** Other places from now on; where they are fewer, no more starts until enough have ended. */
  allow(concurrency: number): void {
    this.#concurrency = concurrency;
  }

  get isFull(): boolean {
    return this.#underWay >= this.#concurrency;
  }

  /** Whether there is a place for the line. */
  hasPlaceForLine(nowMs: number): boolean {
    const kept = nowMs < this.#expectedUntilMs ? this.#keptFree() : 0;
    return this.#underWay < this.#concurrency - kept;
  }

  /** Whether a retry goes next, if one waits; the line could go as well. */
  isRetrysTurn(isProbeDue: boolean): boolean {
    if (this.#haveHalf()) return false;
    return this.#retriesInARow < (isProbeDue ? RETRIES_PER_PROBE : 1);
  }

  started(turn: Turn): void {
    this.#underWay += 1;
    if (turn === "retry") this.#retries += 1;
    this.#retriesInARow = turn === "retry" ? this.#retriesInARow + 1 : 0;
  }

  ended(turn: Turn): void {
    this.#underWay -= 1;
    if (turn === "retry") this.#retries -= 1;
  }

  /** A delivery was parked, or came back. */
  expectRetries(nowMs: number): void {
    this.#expectedUntilMs = nowMs + this.#expectedForMs;
  }

  #keptFree(): number {
    if (this.#concurrency === 1 || this.#haveHalf()) return 0;
    return Math.max(1, Math.floor(this.#concurrency / 8));
  }

  #haveHalf(): boolean {
    return this.#retries >= Math.max(1, this.#concurrency / 2);
  }
}
