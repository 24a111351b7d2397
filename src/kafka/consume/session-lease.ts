/**
 * Whether this member may have been taken for dead. The coordinator does so when it has not heard
 * from a member for the session timeout, and gives its partitions to others without telling it.
 *
 *   a heartbeat                                 this member has been known
 *   answered                                    when it was sent, and no later
 *   answered that the group is rebalancing      the same: the partitions are still its own
 *   answered that the member is not known       not any more
 *   not answered                                nobody can say
 *
 * The time is the time of day: unlike a monotonic clock it goes on while a machine sleeps. So it may
 * be set back: what seems to lie ahead says nothing then.
 */

import { errorTypes } from "../cluster/kafka-error.ts";
import type { Member } from "../membership.ts";

/** Less than all of it: work that is begun in certainty still needs a moment. */
const CERTAIN_SHARE = 0.9;
/** The first heartbeat may have been in flight for too long. The next one is new. */
const HEARTBEATS_MAX = 2;

export class SessionLease {
  readonly #certainMs: number;
  readonly #nowMs: () => number;
  /** When the heartbeat in flight was sent. The driver gives its answer to all who ask meanwhile. */
  #sentAtMs: number | null = null;
  #knownAtMs = Number.NEGATIVE_INFINITY;

  /** @param nowMs time of day. */
  constructor(sessionTimeoutMs: number, nowMs: () => number) {
    this.#certainMs = sessionTimeoutMs * CERTAIN_SHARE;
    this.#nowMs = nowMs;
  }

  /** The group is about to take this member in, no sooner than now. */
  start(): void {
    this.#knownAtMs = this.#nowMs();
  }

  /** Stands around each heartbeat of the member. */
  async heartbeat(member: Pick<Member, "heardAtMs">, send: () => Promise<void>): Promise<void> {
    this.#sentAtMs ??= this.#nowMs();
    const sentAtMs = this.#sentAtMs;
    // The driver would send none until the clock is there again.
    if (member.heardAtMs > this.#nowMs()) member.heardAtMs = 0;
    const before = member.heardAtMs;
    try {
      await send();
      // None is sent when the last one is not long ago.
      if (member.heardAtMs !== before) this.#knownAtMs = sentAtMs;
    } catch (error) {
      if (isRebalancing(error)) this.#knownAtMs = sentAtMs;
      throw error;
    } finally {
      this.#sentAtMs = null;
    }
  }

  /** Whether it is certain that the coordinator has not given this member up. */
  isCertain(): boolean {
    const agoMs = this.#nowMs() - this.#knownAtMs;
    return agoMs >= 0 && agoMs < this.#certainMs;
  }

  /** Asks the coordinator if need be. Throws what a heartbeat throws. */
  async makeCertain(member: Pick<Member, "heartbeat">): Promise<boolean> {
    for (let sent = 0; !this.isCertain() && sent < HEARTBEATS_MAX; sent += 1) {
      await member.heartbeat(0);
    }
    return this.isCertain();
  }
}

function isRebalancing(error: unknown): boolean {
  return errorTypes(error).has("REBALANCE_IN_PROGRESS");
}
