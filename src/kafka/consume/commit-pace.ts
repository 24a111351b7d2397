/**
 * Decides when the consumers of a process commit. Several consumers commit at the same time, so that their requests
 * share a write to the socket and the responses share a read.
 *
 *   a consumer with something to commit         commits
 *   while at most 200 per second commit         a second later, on the next tick of the clock
 *   while more than 200 per second commit       in its turn, 200 per second
 *   that has been due for 4 s                   on the next tick
 *   while the brokers throttle the process      five seconds later
 *
 * A commit costs the process and the coordinator as much for one record as for many. With 1,000 busy
 * destinations, one commit per second for each would cost as much as some of the deliveries themselves. After a crash,
 * records that were processed since the last commit are processed again: the records of one to five seconds.
 */

import { TICK_MS, untilTickMs } from "../../domain/timer-tick.ts";

const INTERVAL_MS = 1_000;
/** The default interval of Java's clients. */
const THROTTLED_INTERVAL_MS = 5_000;
const TURN_SIZE = 10;
const TURN_LIMIT_MS = 4_000;

interface Turn {
  readonly dueAtMs: number;
  /** Null if the commit was canceled. */
  commit: (() => void) | null;
}

export class CommitPace {
  /** The waiting commits, in the order in which they are due. */
  #turns: Turn[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #isThrottled: () => boolean;

  /** @param isThrottled returns `true` while the brokers request pauses from this process. */
  constructor(isThrottled: () => boolean = () => false) {
    this.#isThrottled = isThrottled;
  }

  /**
   * Calls `commit` once, a second from now or later.
   *
   * @returns a function that cancels the commit.
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
