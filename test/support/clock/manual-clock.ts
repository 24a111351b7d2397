/**
 * A clock that only advances when a test moves it.
 *
 * What is due runs in the order of time, then of scheduling, one after another: after each, all
 * promise callbacks run before the next, so that the same test always takes the same course.
 */

import assert from "node:assert/strict";

import type { Clock } from "../../../src/runtime/clock.ts";

export interface Scheduled {
  cancel(): void;
}

interface Entry {
  readonly atMs: number;
  readonly order: number;
  /** Null: cancelled or run. */
  action: (() => void) | null;
}

export class ManualClock implements Clock {
  #nowMs: number;
  #scheduled = 0;
  /** A binary heap, the next one first. */
  readonly #heap: Entry[] = [];

  /** @param startMs by default a round number that no test can take for a duration. */
  constructor(startMs = 1_800_000_000_000) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        scheduled.cancel();
        reject(signal.reason);
      };
      const scheduled = this.schedule(ms, () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      });
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Runs `action` when `ms` have passed; at once is not before the clock is moved, be it by 0. */
  schedule(ms: number, action: () => void): Scheduled {
    assert(ms >= 0, `cannot schedule ${ms} ms from now`);
    this.#scheduled += 1;
    const entry: Entry = { atMs: this.#nowMs + ms, order: this.#scheduled, action };
    this.#push(entry);
    return {
      cancel: () => {
        entry.action = null;
      },
    };
  }

  /** Moves on by `ms`, and runs what falls due on the way. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await settled();
    for (let next = this.#first(); next !== null && next.atMs <= untilMs; next = this.#first()) {
      await this.#run(next);
    }
    this.#nowMs = untilMs;
  }

  /** Advances to the next scheduled callback and runs it; returns false if nothing is scheduled. */
  async advanceToNext(): Promise<boolean> {
    await settled();
    const next = this.#first();
    if (next === null) return false;
    await this.#run(next);
    return true;
  }

  /** Moves on until the condition holds; fails when `limitMs` pass or nothing is scheduled first. */
  async advanceUntil(condition: () => boolean, limitMs: number): Promise<void> {
    const untilMs = this.#nowMs + limitMs;
    await settled();
    while (!condition()) {
      const next = this.#first();
      if (next === null) throw new Error("nothing is scheduled, and the condition does not hold");
      if (next.atMs > untilMs) throw new Error(`the condition does not hold after ${limitMs} ms`);
      await this.#run(next);
    }
  }

  async #run(entry: Entry): Promise<void> {
    this.#pop();
    this.#nowMs = entry.atMs;
    const { action } = entry;
    entry.action = null;
    action?.();
    await settled();
  }

  #first(): Entry | null {
    while (this.#heap[0]?.action === null) this.#pop();
    return this.#heap[0] ?? null;
  }

  #push(entry: Entry): void {
    let at = this.#heap.length;
    while (at > 0) {
      const parentAt = (at - 1) >>> 1;
      const parent = this.#heap[parentAt];
      if (parent === undefined || isBefore(parent, entry)) break;
      this.#heap[at] = parent;
      at = parentAt;
    }
    this.#heap[at] = entry;
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    let at = 0;
    for (;;) {
      const left = this.#heap[2 * at + 1];
      const right = this.#heap[2 * at + 2];
      if (left === undefined) break;
      const goRight = right !== undefined && isBefore(right, left);
      const child = goRight ? right : left;
      if (isBefore(last, child)) break;
      this.#heap[at] = child;
      at = 2 * at + (goRight ? 2 : 1);
    }
    this.#heap[at] = last;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

/** Resolves when every promise callback has run, and what they put off to the next turn. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
