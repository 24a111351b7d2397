/**
 * Stops requests to an endpoint while the proxy in front of it fails. One request at a time finds out whether the proxy
 * works again. Such a request counts as no attempt, so no retry window starts (`attempt.ts`).
 *
 *   a request                                   result
 *   is not sent, while the gate is open         the gate closes; a probe is due after 1 s
 *   is not sent, as the probe                   the next probe is due after twice as long, at most 8 s
 *   gets beyond the proxy, as the probe         the gate opens
 *   had started before the gate closed          its result changes nothing, unless a probe is in progress
 *
 *   another process reports                     result if the gate is closed
 *   a probe, or that its request failed, and    this process waits until the other one must have reported the result
 *   has a lower ID                              of that probe, or its next probe
 *   the same, and has a higher ID               none, because that process waits for this one (`endpoint-news.ts`)
 *   that the proxy works                        the gate opens
 *
 * New settings of the destination and operator actions make the next probe due immediately, in every process, because
 * the proxy may be another one.
 *
 * So the process with the lowest ID sends the probes, and another one takes over when no more reports arrive. A process
 * whose gate is open ignores reports of failures, because the cause may be in the other process.
 */

const FIRST_WAIT_MS = 1_000;
const WAIT_MAX_MS = 8_000;
/** The greatest time limit of a request. */
const PROBE_MAX_MS = 5_000;
/** How long a report may take. */
const REPORT_LATE_MS = 1_500;

interface ProxyFailure {
  readonly sinceMs: number;
  readonly error: string;
}

export class ProxyGate {
  /** The last failure. Set by `failed`, and to null when the gate opens. */
  #failure: ProxyFailure | null = null;
  /** The time between the last failure and the next probe. */
  #waitMs = 0;
  /** When the next probe is due. Changed by `failed`, `heardFailure` and `probeSoon`. */
  #untilMs = 0;
  #isProbing = false;

  isClosed(nowMs: number): boolean {
    return this.closedUntilMs(nowMs) > nowMs;
  }

  /** Before this time, no request may start. Infinite while a probe is in progress, and 0 if one may start now. */
  closedUntilMs(nowMs: number): number {
    if (this.#failure === null) return 0;
    if (this.#isProbing) return Number.POSITIVE_INFINITY;
    // More than the longest wait would remain only if the clock was set back.
    return this.#untilMs - nowMs > WAIT_MAX_MS + REPORT_LATE_MS ? 0 : this.#untilMs;
  }

  /** Call when a request starts. If requests have failed, it is the probe: returns the time until it has ended; or null. */
  start(): number | null {
    this.#isProbing = this.#failure !== null;
    return this.#isProbing ? PROBE_MAX_MS : null;
  }

  /** Makes the next probe due now. */
  probeSoon(): void {
    this.#untilMs = 0;
  }

  /** Call when a request was not sent. Returns the time until the next probe; null if the result changes nothing. */
  failed(error: string, nowMs: number): number | null {
    if (this.#failure !== null && !this.#isProbing) return null;
    this.#waitMs = this.#failure === null ? FIRST_WAIT_MS : Math.min(2 * this.#waitMs, WAIT_MAX_MS);
    this.#failure = { sinceMs: this.#failure?.sinceMs ?? nowMs, error };
    this.#untilMs = nowMs + this.#waitMs;
    this.#isProbing = false;
    return this.#waitMs;
  }

  /** Call when a request got beyond the proxy. Returns true if the gate opens. */
  passed(): boolean {
    return this.#isProbing && this.#open();
  }

  /** A process with a lower ID reports that its probe has ended, or that its next probe is due, after `forMs`. */
  heardFailure(forMs: number, nowMs: number): void {
    if (this.#failure === null || this.#isProbing) return;
    this.#untilMs = nowMs + Math.min(forMs, WAIT_MAX_MS) + REPORT_LATE_MS;
  }

  /** Another process got beyond the proxy. Returns true if the gate opens. */
  heardSuccess(): boolean {
    return this.#failure !== null && this.#open();
  }

  /** The series of failures, and when the next probe is due; null if the gate is open. */
  get failure(): (ProxyFailure & { readonly untilMs: number }) | null {
    return this.#failure && { ...this.#failure, untilMs: this.#untilMs };
  }

  #open(): true {
    this.#failure = null;
    this.#isProbing = false;
    return true;
  }
}
