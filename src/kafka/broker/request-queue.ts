/**
 * Decides when the requests of a connection are sent, and which of them are late.
 *
 *   the latest response                   the next request is sent
 *   had no throttle time                  at once
 *   had one: the broker reads nothing     when this time is over, one at a time until a response has none;
 *   for that time (KIP-219)               those in flight get that much more time
 *   any, while the connection             after it
 *   authenticates again
 *
 * One at a time, because requests that wait in the broker can neither be moved to another connection nor be excluded from
 * the time limit.
 */

/** A request with the time by which its response is due, by the monotonic clock. */
export interface Queued {
  dueMs: number;
  reject(error: Error): void;
}

export class RequestQueue<Sent extends Queued> {
  readonly #start: (sent: Sent) => void;
  /** An array, because V8 allocates a new table for a map each time that it is emptied. */
  readonly #inFlight: Sent[] = [];
  /** Requests that wait in this process: `add` appends, `#startPending` moves them to those in flight. */
  #pending: Sent[] = [];
  /** Set by `hold`, until `release`. */
  #isHeld = false;
  /** From the latest response. */
  #isThrottled = false;
  #throttledUntilMs = 0;
  /** Set while requests wait for the end of the throttle time. */
  #resume: NodeJS.Timeout | undefined;

  /** @param start writes the request to the connection. */
  constructor(start: (sent: Sent) => void) {
    this.#start = start;
  }

  /** `true` if requests wait in this process. */
  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** `true` if the latest response had a throttle time. */
  get isThrottled(): boolean {
    return this.#isThrottled;
  }

  /** How long the broker will not read from the connection. */
  get throttledForMs(): number {
    return Math.max(0, this.#throttledUntilMs - performance.now());
  }

  add(sent: Sent): void {
    this.#pending.push(sent);
    this.#startPending();
  }

  /** Call when a request has got its response, or has failed. */
  finish(sent: Sent, throttleMs: number): void {
    const at = this.#inFlight.indexOf(sent);
    if (at !== -1) this.#inFlight.splice(at, 1);
    this.#isThrottled = throttleMs > 0;
    if (this.#isThrottled) {
      this.#throttledUntilMs = performance.now() + throttleMs;
      // The broker does not read these requests before the throttle time is over.
      for (const each of [...this.#inFlight, ...this.#pending]) each.dueMs += throttleMs;
    }
    this.#startPending();
  }

  /** Makes requests wait until `release`. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#startPending();
  }

  /** A request in flight whose response is late. */
  late(): Sent | undefined {
    const nowMs = performance.now();
    return this.#inFlight.find(({ dueMs }) => dueMs < nowMs);
  }

  /** Rejects all requests. */
  fail(error: Error): void {
    clearTimeout(this.#resume);
    const all = [...this.#inFlight.splice(0), ...this.#pending.splice(0)];
    for (const { reject } of all) reject(error);
  }

  #startPending(): void {
    while (this.#pending.length > 0 && this.#mayStart()) {
      const sent = this.#pending.shift() as Sent;
      this.#inFlight.push(sent);
      this.#start(sent);
    }
    if (this.#pending.length === 0 || this.#resume !== undefined || this.throttledForMs === 0)
      return;
    this.#resume = setTimeout(() => {
      this.#resume = undefined;
      this.#startPending();
    }, this.throttledForMs);
  }

  #mayStart(): boolean {
    if (this.#isHeld) return false;
    return !this.#isThrottled || (this.#inFlight.length === 0 && this.throttledForMs === 0);
  }
}
