/**
 * When the consumers of a process commit: in turns, several of them together, so that their requests
 * go out in one write and their answers come in one read.
 *
 *   a consumer that has finished something      commits
 *   while at most 200 a second have             a second later, on the next tick of the clock
 *   while more have                             in its turn, 200 a second
 *   and has waited for 4 s                      on the next tick
 *   while the brokers throttle the process      five seconds later
 *
 * A request costs a process and its coordinator as much for one record as for many. With 1,000 busy
 * destinations the commits of each second took as much as a part of their deliveries. A crash
 * repeats what was finished since: of a second, or of five.
 */

import { TICK_MS, untilTickMs } from "../../domain/timer-tick.ts";

const INTERVAL_MS = 1_000;
/** As Java's clients do by default. */
const THROTTLED_INTERVAL_MS = 5_000;
const TURN_SIZE = 10;
const TURN_LIMIT_MS = 4_000;

interface Turn {
  readonly dueAtMs: number;
  /** Null: it has been given up. */
  commit: (() => void) | null;
}

export class CommitPace {
  /** In the order in which they are due. */
  #turns: Turn[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #isThrottled: () => boolean;

  /** @param isThrottled whether the brokers ask this process for pauses. */
  constructor(isThrottled: () => boolean = () => false) {
    this.#isThrottled = isThrottled;
  }

  /**
   * Calls `commit` once, a second from now or later.
   *
   * @returns gives it up.
   */
  wait(commit: () => void): () => void {
    const intervalMs = this.#isThrottled() ? THROTTLED_INTERVAL_MS : INTERVAL_MS;
    const turn: Turn = { dueAtMs: performance.now() + intervalMs, commit };
    this.#turns.push(turn);
    this.#schedule();
    return () => {
      turn.commit = null;
    };
  }

  #schedule(): void {
    const [first] = this.#turns;
    if (first === undefined || this.#timer !== undefined) return;
    const leftMs = Math.max(0, first.dueAtMs - performance.now());
    this.#timer = setTimeout(() => this.#tick(), untilTickMs(Date.now(), leftMs));
  }

  #tick(): void {
    this.#timer = undefined;
    const commits = this.#due(performance.now());
    for (const commit of commits) commit();
    if (commits.length < TURN_SIZE) this.#schedule();
    else this.#timer = setTimeout(() => this.#tick(), TICK_MS);
  }

  #due(nowMs: number): readonly (() => void)[] {
    const commits: (() => void)[] = [];
    let passed = 0;
    for (const { commit, dueAtMs } of this.#turns) {
      // A timer can fire a millisecond early.
      const isDue = dueAtMs <= nowMs + 1;
      const isLate = dueAtMs <= nowMs - TURN_LIMIT_MS;
      if (commit !== null && !(isLate || (isDue && commits.length < TURN_SIZE))) break;
      if (commit !== null) commits.push(commit);
      passed += 1;
    }
    this.#turns = this.#turns.slice(passed);
    return commits;
  }
}
