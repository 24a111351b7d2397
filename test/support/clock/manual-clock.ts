/**
 * A clock that only advances when a test moves it.
 *
 * Due actions run one after another, in the order of time and then of scheduling. After each action, all promise
 * callbacks run before the next action, so that a test always runs in the same way.
 */

import assert from "node:assert/strict";

import type { Clock } from "../../../src/base/runtime/clock.ts";

export interface Scheduled {
  cancel(): void;
}

interface Entry {
  readonly atMs: number;
  readonly order: number;
  /** Null if the action was canceled or has run. */
  action: (() => void) | null;
}

export class ManualClock implements Clock {
  #nowMs: number;
  #scheduled = 0;
  /** A binary heap, the next one first. */
  readonly #heap: Entry[] = [];

  /** @param startMs by default, a round number that cannot be mistaken for a duration. */
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

  /** Runs `action` when `ms` have passed. With 0, the action runs when the clock is next advanced, even by 0. */
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

  /** Advances by `ms`, and runs the actions that become due. */
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

  /** Advances until the condition is true. Fails if `limitMs` pass first, or if nothing is scheduled. */
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

/** Resolves when all promise callbacks have run, including work that they deferred to the next turn. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
