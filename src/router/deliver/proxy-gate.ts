/**
 * Stops requests to an endpoint while the proxy in front of it fails. One request at a time finds out whether the proxy
 * works again. Such a request counts as no attempt, so no retry window starts (`attempt.ts`).
 *
 *   a request                                   result
 *   is not sent, while the gate is open         the gate closes; a probe is due after 1 s
 *   is not sent, as the probe                   the next probe is due after twice as long, at most 8 s after this one
 *                                               started
 *   gets beyond the proxy, as the probe         the gate opens
 *   is not sent for another reason              none; if it was the probe, the next one is due now
 *   had started before the gate closed          its result changes nothing; no probe starts before it has ended
 *
 *   the settings change, or a request to        the next probe is due now
 *   another endpoint of the destination gets
 *   beyond the proxy
 *
 *   another process reports                     result if the gate is closed
 *   a probe, or that its request failed, and    this process waits until the other one must have reported the result
 *   has a lower ID                              of that probe, or its next probe
 *   the same, and has a higher ID               none, because that process waits for this one (`endpoint-news.ts`)
 *   the same, for 30 s                          this process sends a probe of its own, because its settings may differ
 *   that the proxy works                        the gate opens
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

/** Without a probe of its own for as long, a process no longer waits for those of others. */
const ALONE_AFTER_MS = 30_000;
/** A probe that has been due for as long is not sent, because no delivery waits. */
const IDLE_AFTER_MS = 1_000;

interface ProxyFailure {
  readonly sinceMs: number;
  /** The host and the port of the proxy. */
  readonly proxy: string;
  readonly error: string;
}

export class ProxyGate {
  /** The last failure. Set by `failed`, and to null when the gate opens. */
  #failure: ProxyFailure | null = null;
  /** The time between two probes, and the start of the last one or, before the first probe, the failure. */
  #waitMs = 0;
  #probedAtMs = 0;
  /** When the next probe is due. Changed by `failed`, `heardFailure` and `probeNow`. */
  #untilMs = 0;
  #isProbing = false;
  /** The number of requests in progress. */
  #inProgress = 0;

  /** Before this time, no request may start. Infinite while a request has to end first, and 0 if one may start now. */
  closedUntilMs(nowMs: number): number {
    if (this.#failure === null) return 0;
    if (this.#inProgress > 0) return Number.POSITIVE_INFINITY;
    // More than the longest wait would remain only if the clock was set back.
    return this.#untilMs - nowMs > WAIT_MAX_MS + REPORT_LATE_MS ? 0 : this.#untilMs;
  }

  /** Call when a request starts. If requests have failed, it is the probe: returns the time until it has ended; or null. */
  start(nowMs: number): number | null {
    this.#inProgress += 1;
    this.#isProbing = this.#failure !== null;
    if (!this.#isProbing) return null;
    this.#probedAtMs = nowMs;
    return PROBE_MAX_MS;
  }

  /** Call when a request was not sent. Returns the time until the next probe; null if the result changes nothing. */
  failed({ proxy, error }: Omit<ProxyFailure, "sinceMs">, nowMs: number): number | null {
    this.#inProgress = Math.max(0, this.#inProgress - 1);
    if (this.#failure !== null && !this.#isProbing) return null;
    if (this.#failure === null) this.#probedAtMs = nowMs;
    this.#waitMs = this.#failure === null ? FIRST_WAIT_MS : Math.min(2 * this.#waitMs, WAIT_MAX_MS);
    this.#failure = { sinceMs: this.#failure?.sinceMs ?? nowMs, proxy, error };
    this.#untilMs = Math.max(nowMs, this.#probedAtMs + this.#waitMs);
    this.#isProbing = false;
    return this.#untilMs - nowMs;
  }

  /** Call when a request ended that was not sent to the proxy. If it was the probe, the next probe is due now. */
  ended(): void {
    this.#inProgress = Math.max(0, this.#inProgress - 1);
    this.#isProbing = false;
  }

  /** Call when a request got beyond the proxy. Returns true if the gate opens. */
  passed(): boolean {
    this.#inProgress = Math.max(0, this.#inProgress - 1);
    return this.#isProbing && this.#open();
  }

  /** A process with a lower ID reports that its probe has ended, or that its next probe is due, after `forMs`. */
  heardFailure(forMs: number, nowMs: number): void {
    if (this.#failure === null || this.#isProbing) return;
    const laterMs = nowMs + Math.min(forMs, WAIT_MAX_MS) + REPORT_LATE_MS;
    this.#untilMs = Math.min(laterMs, this.#probedAtMs + ALONE_AFTER_MS);
  }

  /** Another process got beyond the proxy. Returns true if the gate opens. */
  heardSuccess(): boolean {
    return this.#failure !== null && this.#open();
  }

  /** The next probe is due now, because something has changed. */
  probeNow(nowMs: number): void {
    this.#untilMs = Math.min(this.#untilMs, nowMs);
  }

  /**
   * The series of failures, and when the next probe is due; null if the gate is open, or if nothing has been there to
   * probe with.
   */
  failure(nowMs: number): (ProxyFailure & { readonly untilMs: number }) | null {
    const isIdle = this.#inProgress === 0 && nowMs > this.#untilMs + IDLE_AFTER_MS;
    return this.#failure === null || isIdle ? null : { ...this.#failure, untilMs: this.#untilMs };
  }

  #open(): true {
    this.#failure = null;
    this.#isProbing = false;
    return true;
  }
}
