/**
 * Polls Kafka and the processes while a user is watching.
 *
 *   a user watches     polls Kafka and the processes 1.5 s after the previous poll started, and at least half a
 *                      second after that poll ended
 *   nobody watches     reads the metrics of the processes every 30 s, for the rates of the last hours
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { type AllCounters, type Counters, increases } from "./counters.ts";
import { History } from "./history.ts";
import type { ConsoleReader, Poll } from "./ports.ts";

const POLL_EVERY_MS = 1_500;
const REST_MS = 500;
const SAMPLE_EVERY_MS = 30_000;
/** A rate that covers more than this time is not shown, because it would look like a current rate. */
const GAP_MAX_MS = 3 * SAMPLE_EVERY_MS;

export type Listener = (poll: Poll, nowMs: number) => void;

export class Poller implements AsyncDisposable {
  readonly history = new History();
  readonly #reader: Pick<ConsoleReader, "pollOnce" | "sample">;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<Listener>();
  readonly #end = new AbortController();
  #wake = new AbortController();
  /** The latest counters of each process, with the time of the poll. */
  #known: ReadonlyMap<string, { readonly counted: Counters; readonly atMs: number }> = new Map();
  #countedAtMs: number | null = null;
  #latest: { readonly poll: Poll; readonly atMs: number } | null = null;
  readonly #ended: Promise<void>;

  constructor(reader: Pick<ConsoleReader, "pollOnce" | "sample">, clock: Clock, log: Log) {
    this.#reader = reader;
    this.#clock = clock;
    this.#log = log;
    this.#ended = this.#live();
  }

  get watchers(): number {
    return this.#listeners.size;
  }

  /**
   * Calls the listener with each new poll. If the latest poll is recent, calls the listener with it immediately.
   */
  watch(listener: Listener): Disposable {
    this.#listeners.add(listener);
    const nowMs = this.#clock.nowMs();
    const latest = this.#latest;
    if (latest !== null && nowMs - latest.atMs < 2 * POLL_EVERY_MS) listener(latest.poll, nowMs);
    if (this.#listeners.size === 1) this.#wake.abort();
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#ended;
  }

  async #live(): Promise<void> {
    while (!this.#end.signal.aborted) {
      const beganMs = this.#clock.nowMs();
      this.#wake = new AbortController();
      const isWatched = this.#listeners.size > 0;
      try {
        if (isWatched) await this.#pollOnce();
        else this.#count(await this.#reader.sample(this.#end.signal));
      } catch (error) {
        // A failed poll is only logged, because the next poll follows soon.
        this.#log.warn({ error: asError(error).message }, "console.refresh-failed");
      }
      // The clock may have been set back during the poll.
      const tookMs = Math.max(0, this.#clock.nowMs() - beganMs);
      if (isWatched) await this.#pause(Math.max(REST_MS, POLL_EVERY_MS - tookMs));
      else if (this.#listeners.size === 0) await this.#pause(SAMPLE_EVERY_MS, this.#wake.signal);
    }
  }

  async #pollOnce(): Promise<void> {
    const poll = await this.#reader.pollOnce(this.#end.signal);
    this.#count(poll.counters);
    const nowMs = this.#clock.nowMs();
    this.#latest = { poll, atMs: nowMs };
    for (const listener of this.#listeners) listener(poll, nowMs);
  }

  /** A process that does not respond for a while, as during its restart, keeps its latest counters for comparison. */
  #count(counters: AllCounters): void {
    const atMs = this.#clock.nowMs();
    const beforeMs = this.#countedAtMs;
    const before = [...this.#known].filter(([, known]) => atMs - known.atMs <= GAP_MAX_MS);
    this.#countedAtMs = atMs;
    this.#known = new Map([
      ...before,
      ...[...counters].map(([address, counted]) => [address, { counted, atMs }] as const),
    ]);
    if (beforeMs === null || atMs - beforeMs > GAP_MAX_MS) return;
    const counted = new Map(before.map(([address, known]) => [address, known.counted]));
    this.history.add(increases(counted, counters, beforeMs), atMs - beforeMs, atMs);
  }

  async #pause(ms: number, wake?: AbortSignal): Promise<void> {
    const signal =
      wake === undefined ? this.#end.signal : AbortSignal.any([this.#end.signal, wake]);
    await this.#clock.sleep(ms, signal).catch(() => undefined);
  }
}
