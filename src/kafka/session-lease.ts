/**
 * Whether this member may have been taken for dead. The coordinator does so when it has not heard
 * from a member for the session timeout, and gives its partitions to others without telling it.
 *
 *   a heartbeat                                 this member has been known
 *   answered                                    when it was sent, and no later
 *   answered that the group is rebalancing      the same: the partitions are still its own
 *   answered that the member is not known       not any more
 *   not answered                                nobody can say
 */

import type { ConsumerGroup } from "./consumer-group.ts";
import { errorTypes } from "./kafka-error.ts";

/** What is begun in certainty still needs a moment. */
const CERTAIN_SHARE = 0.9;

export class SessionLease {
  readonly #certainMs: number;
  readonly #nowMs: () => number;
  /** When the heartbeat under way was sent; kafkajs gives its answer to all who ask meanwhile. */
  #askedAtMs: number | null = null;
  #knownAtMs = Number.NEGATIVE_INFINITY;

  /** @param nowMs time of day: unlike a monotonic clock it goes on while a machine sleeps. */
  constructor(sessionTimeoutMs: number, nowMs: () => number) {
    this.#certainMs = sessionTimeoutMs * CERTAIN_SHARE;
    this.#nowMs = nowMs;
  }

  /** The group has just taken this member in. */
  begin(): void {
    this.#knownAtMs = this.#nowMs();
  }

  /** From now on the group's heartbeats count. Call it once for each group. */
  watch(group: ConsumerGroup): void {
    const heartbeat = group.heartbeat.bind(group);
    group.heartbeat = async (request) => {
      this.#askedAtMs ??= this.#nowMs();
      const askedAtMs = this.#askedAtMs;
      const before = group.lastRequest;
      try {
        await heartbeat(request);
        // None is sent when the last one is not long ago.
        if (group.lastRequest !== before) this.#knownAtMs = Math.max(this.#knownAtMs, askedAtMs);
      } catch (error) {
        if (isRebalancing(error)) this.#knownAtMs = Math.max(this.#knownAtMs, askedAtMs);
        throw error;
      } finally {
        this.#askedAtMs = null;
      }
    };
  }

  /** Whether it is certain that the coordinator has not given this member up. */
  isCertain(): boolean {
    return this.#nowMs() - this.#knownAtMs < this.#certainMs;
  }
}

function isRebalancing(error: unknown): boolean {
  return errorTypes(error).has("REBALANCE_IN_PROGRESS");
}
