/**
 * Judges an endpoint or a destination by its attempts of the last minute. The limits for failing and for recovering are far
 * apart, so that a constant share of failures does not change the verdict repeatedly.
 *
 *   it is failing as soon as                                it has recovered as soon as
 *   an attempt failed and none was accepted before          -
 *   half of the attempts in the last minute failed (of      less than a fifth of the attempts in the last minute
 *   the last five, if there were fewer)                     failed, and there were at least five
 *   nothing was accepted for 10 s, and five attempts        nothing failed for 10 s, and 20 attempts were accepted
 *   failed
 *   -                                                       an attempt was accepted, and each delivery that had failed
 *                                                           was then accepted at a retry
 *   -                                                       nothing failed for a minute, and three attempts were
 *                                                           accepted, or as many as failed without a later acceptance
 *   -                                                       nothing failed for five minutes, and the latest attempt
 *                                                           was accepted
 *
 * The third row is for outages: attempts that were accepted earlier in the same minute do not hide an outage, and
 * earlier failures do not hide a recovery. The other rows are for endpoints with few attempts. A delivery that was
 * rejected is not retried, so only the other rows can end a failing state after a rejection. While nothing is attempted
 * after a failure, the state does not end, because nothing shows that the endpoint works again.
 *
 * Counting an attempt allocates nothing.
 */

const RECENT_MS = 60_000;
/** The last minute is divided into steps of this length. */
const SPAN_MS = 5_000;
const SPANS = RECENT_MS / SPAN_MS;
const RUN_MS = 10_000;
const RUN_ATTEMPTS = 20;
const FEW = 5;
/** Until the first attempt. Writes to its elements have no effect. */
const NO_SPANS = new Uint32Array(0);
/** The last five attempts as bits; 1 is a failure. */
const FEW_MASK = (1 << FEW) - 1;
const ACCEPTED_AGAIN = 3;
const QUIET_MS = 5 * RECENT_MS;

export class RecentAttempts {
  /** The number of attempts in each step, followed by the number of failures in each step. */
  #spans = NO_SPANS;
  #span = 0;
  #attempts = 0;
  #failures = 0;
  #lastFew = 0;
  /** Failures since the last verdict "not failing", except those of deliveries that were accepted at a retry. */
  #unresolved = 0;
  #isAcceptedEver = false;
  /** How many attempts in a row, including the latest one, had the same result. */
  #run = 0;
  #isRunOfFailures = false;
  #runSinceMs = 0;
  /** The time of the last attempt with the opposite result. */
  #otherAtMs = Number.NEGATIVE_INFINITY;
  #latestAtMs = Number.NEGATIVE_INFINITY;
  #failingSinceMs: number | null = null;

  /** @param earlier how many attempts at the same delivery failed before this one. */
  add(isAccepted: boolean, nowMs: number, earlier = 0): void {
    if (this.#spans === NO_SPANS) this.#spans = new Uint32Array(2 * SPANS);
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
      this.#unresolved = Math.max(0, this.#unresolved - earlier);
    } else {
      this.#spans[SPANS + span] = (this.#spans[SPANS + span] ?? 0) + 1;
      this.#failures += 1;
      this.#unresolved += 1;
    }
    this.#judge(nowMs);
  }

  /** Null if the endpoint or destination is not failing, or nothing was attempted. */
  failingSinceMs(nowMs: number): number | null {
    this.#moveTo(nowMs);
    this.#judge(nowMs);
    return this.#failingSinceMs;
  }

  /** The number of attempts in the last minute, or since the recovery if that was less than a minute ago. */
  attempts(nowMs: number): number {
    this.#moveTo(nowMs);
    return this.#attempts;
  }

  /** How many of the attempts that `attempts` counts have failed. */
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

  /** Only a failed attempt can start a failing state; an accepted attempt never can. */
  #fails(nowMs: number): boolean {
    if (!this.#isRunOfFailures) return false;
    if (!this.#isAcceptedEver || this.#isLongRun(nowMs, FEW)) return true;
    if (this.#attempts >= FEW) return this.#failures * 2 >= this.#attempts;
    return bitsOf(this.#lastFew) * 2 >= FEW;
  }

  #hasRecovered(nowMs: number): boolean {
    if (this.#isRunOfFailures) return false;
    if (this.#unresolved === 0 || this.#isLongRun(nowMs, RUN_ATTEMPTS)) return true;
    if (this.#attempts >= FEW && this.#failures * 5 < this.#attempts) return true;
    const quietMs = nowMs - this.#otherAtMs;
    if (quietMs >= QUIET_MS) return true;
    return quietMs >= RECENT_MS && this.#run >= Math.min(ACCEPTED_AGAIN, this.#unresolved);
  }

  #isLongRun(nowMs: number, attempts: number): boolean {
    return this.#run >= attempts && nowMs - this.#otherAtMs >= RUN_MS;
  }

  /** Without this, the next failure would start a failing state again. */
  #forgetFailures(): void {
    for (let span = 0; span < SPANS; span += 1) {
      this.#spans[span] = (this.#spans[span] ?? 0) - (this.#spans[SPANS + span] ?? 0);
      this.#spans[SPANS + span] = 0;
    }
    this.#attempts -= this.#failures;
    this.#failures = 0;
    this.#unresolved = 0;
    this.#lastFew = 0;
  }

  /** Empties the steps that are no longer in the last minute. */
  #moveTo(nowMs: number): void {
    const to = Math.floor(nowMs / SPAN_MS);
    // The clock was set back, so the steps no longer cover the last minute.
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
