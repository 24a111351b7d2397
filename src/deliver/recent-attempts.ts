/**
 * Judges an endpoint, or a destination, by its attempts of the last minute. The limits for failing
 * and for having recovered are far apart, so that a steady share of failures gives one verdict.
 *
 *   it fails once                                          it has recovered once
 *   an attempt failed, and none was accepted before        -
 *   half of the last minute's attempts failed (of the      less than a fifth of the last minute's
 *     last five, if they are fewer)                          attempts failed, five or more in all
 *   nothing was accepted for 10 s, and 20 failed since     nothing failed for 10 s, and 20 were
 *                                                            accepted since
 *   -                                                      nothing failed for a minute, and three were
 *                                                            accepted since, or as many as had failed
 *
 * The third row is for outages: what was accepted earlier in the same minute does not hide that an
 * endpoint is gone, nor does what failed earlier hide that it is back. The last one is for endpoints
 * with few attempts. No attempts change nothing: a verdict stays between two of them.
 *
 * Core: attempts are counted without an allocation for each.
 */

const RECENT_MS = 60_000;
/** Attempts leave the last minute in spans of this length. */
const SPAN_MS = 5_000;
const SPANS = RECENT_MS / SPAN_MS;
const RUN_MS = 10_000;
const RUN_ATTEMPTS = 20;
const FEW = 5;
/** The last five attempts as bits: 1 has failed. */
const FEW_MASK = (1 << FEW) - 1;
const ACCEPTED_AGAIN = 3;

export class RecentAttempts {
  /** Attempts of each span, then failures of each. */
  readonly #spans = new Uint32Array(2 * SPANS);
  #span = 0;
  #attempts = 0;
  #failures = 0;
  #lastFew = 0;
  /** Since it was last judged to be fine. */
  #failedInAll = 0;
  #isAcceptedEver = false;
  /** Attempts with one result, up to the latest. */
  #run = 0;
  #isRunOfFailures = false;
  #runSinceMs = 0;
  /** The end of the run before: what the latest one is not. */
  #otherAtMs = Number.NEGATIVE_INFINITY;
  #latestAtMs = Number.NEGATIVE_INFINITY;
  #failingSinceMs: number | null = null;

  add(isAccepted: boolean, nowMs: number): void {
    this.#moveTo(nowMs);
    const span = this.#span % SPANS;
    this.#spans[span] = (this.#spans[span] ?? 0) + 1;
    this.#attempts += 1;
    this.#lastFew = ((this.#lastFew << 1) | (isAccepted ? 0 : 1)) & FEW_MASK;
    if (this.#run === 0 || this.#isRunOfFailures === isAccepted) {
      this.#otherAtMs = this.#latestAtMs;
      this.#run = 0;
      this.#runSinceMs = nowMs;
      this.#isRunOfFailures = !isAccepted;
    }
    this.#run += 1;
    this.#latestAtMs = nowMs;
    if (isAccepted) {
      this.#isAcceptedEver = true;
    } else {
      this.#spans[SPANS + span] = (this.#spans[SPANS + span] ?? 0) + 1;
      this.#failures += 1;
      this.#failedInAll += 1;
    }
    this.#judge(nowMs);
  }

  /** Null: it does not fail, or nothing was attempted. */
  failingSinceMs(nowMs: number): number | null {
    this.#moveTo(nowMs);
    this.#judge(nowMs);
    return this.#failingSinceMs;
  }

  /** Of the last minute; since it has recovered, if that is later. */
  attempts(nowMs: number): number {
    this.#moveTo(nowMs);
    return this.#attempts;
  }

  /** Those of them that failed. */
  failures(nowMs: number): number {
    this.#moveTo(nowMs);
    return this.#failures;
  }

  #judge(nowMs: number): void {
    if (this.#run === 0) return;
    if (this.#failingSinceMs === null) {
      if (this.#fails(nowMs)) this.#failingSinceMs = this.#runSinceMs;
    } else if (this.#hasRecovered(nowMs)) {
      this.#failingSinceMs = null;
      this.#forgetFailures();
    }
  }

  /** Only what fails now begins to: an endpoint that accepts again does not, whatever was before. */
  #fails(nowMs: number): boolean {
    if (!this.#isRunOfFailures) return false;
    if (!this.#isAcceptedEver || this.#isLongRun(nowMs)) return true;
    if (this.#attempts >= FEW) return this.#failures * 2 >= this.#attempts;
    return bitsOf(this.#lastFew) * 2 >= FEW;
  }

  #hasRecovered(nowMs: number): boolean {
    if (this.#isRunOfFailures) return false;
    if (this.#isLongRun(nowMs)) return true;
    if (this.#attempts >= FEW && this.#failures * 5 < this.#attempts) return true;
    const isQuiet = nowMs - this.#otherAtMs >= RECENT_MS;
    return isQuiet && this.#run >= Math.min(ACCEPTED_AGAIN, this.#failedInAll);
  }

  #isLongRun(nowMs: number): boolean {
    return this.#run >= RUN_ATTEMPTS && nowMs - this.#otherAtMs >= RUN_MS;
  }

  /** They would make it fail again with the next failure. */
  #forgetFailures(): void {
    for (let span = 0; span < SPANS; span += 1) {
      this.#spans[span] = (this.#spans[span] ?? 0) - (this.#spans[SPANS + span] ?? 0);
      this.#spans[SPANS + span] = 0;
    }
    this.#attempts -= this.#failures;
    this.#failures = 0;
    this.#failedInAll = 0;
    this.#lastFew = 0;
  }

  /** Spans that are no longer of the last minute are empty again. */
  #moveTo(nowMs: number): void {
    const to = Math.floor(nowMs / SPAN_MS);
    // A clock that was put back: nothing of it is known to be of the last minute.
    const isBack = to < this.#span - SPANS;
    if (isBack) this.#otherAtMs = Math.min(this.#otherAtMs, nowMs);
    const from = isBack ? to - SPANS : Math.max(this.#span, to - SPANS);
    for (let at = from + 1; at <= to; at += 1) {
      const span = at % SPANS;
      this.#attempts -= this.#spans[span] ?? 0;
      this.#failures -= this.#spans[SPANS + span] ?? 0;
      this.#spans[span] = 0;
      this.#spans[SPANS + span] = 0;
    }
    if (isBack || to > this.#span) this.#span = to;
  }
}

function bitsOf(few: number): number {
  let bits = 0;
  for (let rest = few; rest > 0; rest >>= 1) bits += rest & 1;
  return bits;
}
