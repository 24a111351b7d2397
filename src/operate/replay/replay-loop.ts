/**
 * The pace, the commits and the end of a replay, whatever it writes: dead letters (`replay.ts`) or calls
 * (src/operate/replay/calls/replay-calls.ts).
 *
 *   an interruption                            then
 *   between two records                        what is in hand is written and committed
 *   while a write waits for the brokers        after 10 s the producer is closed, and the write ends
 */

import { createRateLimiter, type RateLimiter } from "../../domain/rate-limit.ts";
import { ClosedError, type CommittedOffset, type Producer } from "../../kafka/port.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { ReplayStore } from "./replay-store.ts";

/** Of records that wait for others of their batch. */
const BATCH_AGE_MAX_MS = 200;
/** Far below the time that brokers keep commits for: 7 days by default, but some set hours. */
const RENEW_AFTER_MS = 600_000;
/** For the write that is under way when a replay is interrupted. */
const INTERRUPT_LIMIT_MS = 10_000;

export type ReplayEnd = "done" | "interrupted";

export interface Replaying {
  readonly producer: Pick<Producer, "close">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The process that works on the replay. */
  readonly by: string;
}

/** Runs it, and forgets it when it is done. */
export async function runReplaying(
  { producer, clock, signal }: Omit<Replaying, "by">,
  store: Pick<ReplayStore<unknown>, "delete">,
  run: () => Promise<ReplayEnd>,
): Promise<ReplayEnd> {
  const ended = new AbortController();
  const onAbort = () => {
    const limit = clock.sleep(INTERRUPT_LIMIT_MS, ended.signal);
    limit.then(() => producer.close(0)).catch(() => undefined);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const end = await run();
    if (end === "done") await store.delete();
    return end;
  } catch (error) {
    if (signal.aborted && error instanceof ClosedError) return "interrupted";
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    ended.abort();
  }
}

/** At most so many records a second. */
export class Pace {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #limiter: RateLimiter | null;

  /** @param perSecond null: as fast as it goes. */
  constructor(perSecond: number | null, { clock, signal }: Pick<Replaying, "clock" | "signal">) {
    this.#clock = clock;
    this.#signal = signal;
    this.#limiter = perSecond === null ? null : createRateLimiter(perSecond);
  }

  /**
   * Waits for the next record's turn. False: the signal aborted.
   *
   * @param waitingSinceMs when the batch began; null: it is empty.
   * @param flush writes the batch, when it would wait too long.
   */
  async turn(waitingSinceMs: () => number | null, flush: () => Promise<void>): Promise<boolean> {
    for (;;) {
      const nowMs = this.#clock.nowMs();
      const waitMs = this.#limiter?.take(nowMs) ?? 0;
      if (waitMs === 0) return true;
      const sinceMs = waitingSinceMs();
      const isOld = sinceMs !== null && nowMs + waitMs - sinceMs > BATCH_AGE_MAX_MS;
      if (isOld) await flush();
      else await this.#clock.sleep(waitMs, this.#signal).catch(() => undefined);
      if (this.#signal.aborted) return false;
    }
  }
}

interface Progress {
  commits(): readonly CommittedOffset[];
  renew(): void;
  committed(): void;
}

/** The commits of the process that owns the replay. */
export class ReplayCommits {
  readonly #store: Pick<ReplayStore<unknown>, "own" | "assertOwned" | "commit">;
  readonly #progress: Progress;
  readonly #clock: Pick<Clock, "nowMs">;
  readonly #by: string;
  #renewedAtMs: number;

  constructor(
    store: Pick<ReplayStore<unknown>, "own" | "assertOwned" | "commit">,
    progress: Progress,
    { clock, by }: Pick<Replaying, "clock" | "by">,
  ) {
    this.#store = store;
    this.#progress = progress;
    this.#clock = clock;
    this.#by = by;
    this.#renewedAtMs = clock.nowMs();
  }

  /** @throws Error when another process has taken it over. */
  assertOwned(): Promise<void> {
    return this.#store.assertOwned(this.#by);
  }

  async commit(): Promise<void> {
    if (this.#clock.nowMs() - this.#renewedAtMs >= RENEW_AFTER_MS) {
      this.#renewedAtMs = this.#clock.nowMs();
      await this.#store.own(this.#by);
      this.#progress.renew();
    }
    await this.#store.commit(this.#progress.commits());
    this.#progress.committed();
  }
}
