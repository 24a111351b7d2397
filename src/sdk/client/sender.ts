/**
 * Sends the queued calls, one request at a time, so that calls arrive in the order in which they were made. Time,
 * randomness and the network are passed in as ports.
 *
 *   a request is made when
 *   `flushAt` calls wait, or enough calls to fill a request
 *   `flushAfterMs` have passed since the last flush, and a call waits
 *   `flush` or `close` is called, for the calls that are in the queue at that time
 *
 * A batch does not change between its attempts, so if a response is lost, the next attempt has the same calls with the
 * same message IDs. A batch leaves the queue when it is acknowledged or reported as lost. `stop` (the timeout of
 * `close`) ends the wait or the request in progress and reports all remaining calls as lost.
 *
 * Timers keep the process alive only while a `flush`, a `close` or an awaited call is pending.
 */

import type { Loss } from "./client-error.ts";
import { BATCH_MAX_BYTES, batchBody, batchBytes, type EncodedCall, nextBatch } from "./encode.ts";
import type { Journal } from "./journal.ts";
import type { Settings } from "./options.ts";
import { createQueue, type Queue } from "./queue.ts";
import { decide, type SendOutcome } from "./retry.ts";

export interface Timer {
  cancel(): void;
  /** Sets whether the timer keeps the process alive. Initially it does not. */
  hold(isHeld: boolean): void;
}

/** The journal's `lost` and `acknowledged` are called before `flush` and `close` resolve, and never throw. */
interface SenderPorts extends Pick<Journal, "lost" | "acknowledged" | "log"> {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** A random number in [0, 1). */
  random(): number;
  schedule(delayMs: number, action: () => void): Timer;
  /** Makes one request; never rejects. Its result is ignored once the signal has aborted. */
  post(body: string, signal: AbortSignal): Promise<SendOutcome>;
}

type SenderSettings = Pick<Settings, "flushAt" | "flushAfterMs" | "attemptsMax" | "queue">;

interface Waiter {
  /** The promise resolves when this many calls have been dropped from the queue. */
  readonly upTo: number;
  readonly resolve: () => void;
}

interface Delivered {
  readonly loss: Loss | null;
  readonly attempts: number;
}

export class Sender {
  readonly #settings: SenderSettings;
  readonly #ports: SenderPorts;
  readonly #queue: Queue;
  readonly #stop = new AbortController();
  /** Calls up to this number, counted from 1, are sent without waiting for more calls. */
  #wantedUpTo = 0;
  #lastFlushAtMs: number;
  #isSending = false;
  #flushTimer: Timer | null = null;
  #retryTimer: Timer | null = null;
  #waiters: Waiter[] = [];

  constructor(settings: SenderSettings, ports: SenderPorts) {
    this.#settings = settings;
    this.#ports = ports;
    this.#queue = createQueue(settings.queue);
    this.#lastFlushAtMs = ports.nowMs();
  }

  /** Returns false if the queue is full. Makes no request itself. */
  add(call: EncodedCall): boolean {
    const isAdded = this.#queue.add(call);
    if (isAdded) this.#wake();
    return isAdded;
  }

  /** The number of the newest call, counted from 1. */
  get added(): number {
    return this.#queue.added;
  }

  /** Number of calls that wait or are in a request. */
  get count(): number {
    return this.#queue.count;
  }

  /** Resolves when the calls queued now are acknowledged or reported as lost. */
  flush(): Promise<void> {
    const upTo = this.#queue.added;
    const settled = this.settled(upTo);
    if (this.#queue.dropped < upTo) this.#wantedUpTo = upTo;
    this.#wake();
    return settled;
  }

  /** Resolves when the calls up to this number are acknowledged or reported as lost, without causing a request. */
  settled(upTo: number): Promise<void> {
    if (this.#queue.dropped >= upTo) return Promise.resolve();
    const settled = new Promise<void>((resolve) => {
      this.#waiters.push({ upTo, resolve });
    });
    this.#retryTimer?.hold(true);
    this.#flushTimer?.hold(true);
    return settled;
  }

  /** Like `flush`, but after `timeoutMs` the remaining calls are reported as lost; null for no limit. */
  async close(timeoutMs: number | null): Promise<void> {
    const settled = this.flush();
    if (timeoutMs === null || this.#queue.count === 0) return settled;
    const timer = this.#ports.schedule(timeoutMs, () => this.#stop.abort());
    timer.hold(true);
    await settled;
    timer.cancel();
  }

  #wake(): void {
    if (this.#isSending || this.#queue.count === 0) return;
    if (this.#isDue()) {
      this.#flushTimer?.cancel();
      this.#flushTimer = null;
      this.#isSending = true;
      void this.#send();
      return;
    }
    if (this.#flushTimer !== null) return;
    const dueAtMs = this.#lastFlushAtMs + this.#settings.flushAfterMs;
    // Even if the clock was set back, no call waits longer than `flushAfterMs`.
    const delayMs = Math.min(dueAtMs - this.#ports.nowMs(), this.#settings.flushAfterMs);
    this.#flushTimer = this.#ports.schedule(Math.max(0, delayMs), () => {
      this.#flushTimer = null;
      this.#wantedUpTo = this.#queue.added;
      this.#wake();
    });
    this.#flushTimer.hold(this.#waiters.length > 0);
  }

  #isDue(): boolean {
    const { count, bytes, dropped } = this.#queue;
    if (count === 0) return false;
    return (
      dropped < this.#wantedUpTo ||
      count >= this.#settings.flushAt ||
      batchBytes(bytes, count) >= BATCH_MAX_BYTES
    );
  }

  async #send(): Promise<void> {
    // This runs only after the call that triggers it has returned, so that calls which are made in the same turn of the
    // event loop are included.
    await Promise.resolve();
    while (this.#isDue()) {
      const batch = nextBatch(this.#queue.waiting(), this.#settings.flushAt);
      const { loss, attempts } = await this.#deliver(batch);
      for (const call of batch) call.loss = loss;
      this.#queue.drop(batch.length);
      if (loss === null) {
        this.#ports.acknowledged(batch, attempts);
      } else {
        this.#ports.log(`lost a batch of ${batch.length} (${loss.reason}): ${loss.message}`);
        this.#ports.lost(batch, loss);
      }
      this.#resolveWaiters();
    }
    this.#isSending = false;
    this.#wake();
  }

  /**
   * Sends a batch. Returns the number of requests, and the loss if there was one; otherwise, the batch was
   * acknowledged.
   */
  async #deliver(batch: readonly EncodedCall[]): Promise<Delivered> {
    const { log, nowMs, post, random } = this.#ports;
    const { signal } = this.#stop;
    let status: number | null = null;
    for (let attempt = 1; ; attempt += 1) {
      if (signal.aborted) return outOfTime(attempt - 1, status);
      this.#lastFlushAtMs = nowMs();
      const body = batchBody(batch, nowMs());
      log(`sending a batch of ${batch.length}, attempt ${attempt}`);
      const outcome = await unlessAborted(post(body, signal), signal);
      if (outcome === null) return outOfTime(attempt, status);
      const decision = decide(outcome, attempt, this.#settings.attemptsMax, nowMs(), random());
      if (decision.kind === "give-up") return { loss: decision.loss, attempts: attempt };
      if (decision.kind === "acknowledged") {
        log(
          `a batch of ${batch.length} was acknowledged; ${this.#queue.count - batch.length} waiting`,
        );
        return { loss: null, attempts: attempt };
      }
      status = outcome.kind === "response" ? outcome.status : null;
      log(`the endpoint ${decision.why}; next attempt in ${decision.delayMs} ms`);
      await this.#pause(decision.delayMs);
    }
  }

  async #pause(delayMs: number): Promise<void> {
    const passed = new Promise<void>((resolve) => {
      this.#retryTimer = this.#ports.schedule(delayMs, resolve);
    });
    this.#retryTimer?.hold(this.#waiters.length > 0);
    await unlessAborted(passed, this.#stop.signal);
    this.#retryTimer?.cancel();
    this.#retryTimer = null;
  }

  #resolveWaiters(): void {
    const { dropped } = this.#queue;
    const done = this.#waiters.filter(({ upTo }) => upTo <= dropped);
    this.#waiters = this.#waiters.filter(({ upTo }) => upTo > dropped);
    for (const { resolve } of done) resolve();
  }
}

function outOfTime(attempts: number, status: number | null): Delivered {
  const message =
    attempts === 0
      ? "close() ran out of time before the call was sent"
      : `close() ran out of time after ${attempts} attempts without an acknowledgment; the call may have arrived`;
  return { loss: { reason: "closed", message, attempts, status, cause: undefined }, attempts };
}

/** Resolves to null as soon as the signal aborts, even if the work ignores the signal. */
function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result | null> {
  if (signal.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null);
    signal.addEventListener("abort", onAbort, { once: true });
    const forget = () => signal.removeEventListener("abort", onAbort);
    work.then(resolve, reject).finally(forget);
  });
}
