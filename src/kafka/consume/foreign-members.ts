/**
 * Other programs that are members of a group of Switchyard's. When one of them joins or leaves, all
 * members give their partitions up. If it leads the group, it may take records.
 *
 *   such a member                    is shown                     is logged
 *   is in the group                  as long as it is             when it is seen first, and with a
 *   has left, and may come back      for 2 minutes more           rebalance a minute later or more
 */

const SHOWN_FOR_MS = 120_000;
const LOGGED_EVERY_MS = 60_000;

export class ForeignMembers {
  readonly #monotonicMs: () => number;
  readonly #log: (clientIds: readonly string[]) => void;
  /** By client ID: when it was in the group last. */
  readonly #seenAtMs = new Map<string, number>();
  #present: readonly string[] = [];
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(monotonicMs: () => number, log: (clientIds: readonly string[]) => void) {
    this.#monotonicMs = monotonicMs;
    this.#log = log;
  }

  /** The client IDs of the other programs in the group, after a rebalance. */
  joined(clientIds: readonly string[]): void {
    const nowMs = this.#monotonicMs();
    const before = this.now();
    for (const each of this.#present) this.#seenAtMs.set(each, nowMs);
    this.#present = [...new Set(clientIds)].toSorted();
    for (const each of this.#present) this.#seenAtMs.set(each, nowMs);
    const isNew = this.#present.some((each) => !before.includes(each));
    const isDue = nowMs - this.#loggedAtMs >= LOGGED_EVERY_MS;
    if (this.#present.length === 0 || !(isNew || isDue)) return;
    this.#loggedAtMs = nowMs;
    this.#log(this.#present);
  }

  /** Client IDs, sorted. */
  now(): readonly string[] {
    const nowMs = this.#monotonicMs();
    for (const [each, atMs] of this.#seenAtMs) {
      const isOver = nowMs - atMs >= SHOWN_FOR_MS && !this.#present.includes(each);
      if (isOver) this.#seenAtMs.delete(each);
    }
    return [...this.#seenAtMs.keys()].toSorted();
  }
}
