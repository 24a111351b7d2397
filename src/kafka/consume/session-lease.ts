/**
 * Decides whether the coordinator may have removed this member. A coordinator that receives no heartbeat within the
 * session timeout removes the member, and assigns its partitions to others without notifying it.
 *
 *   the response to a heartbeat                 this process was certainly a member
 *   success                                     when the heartbeat was sent, not later
 *   the group is rebalancing                    at that time: the partitions are still its own
 *   the member is unknown                       no longer
 *   none                                        unknown
 *
 * The time of day is used because, unlike a monotonic clock, it advances while a machine sleeps. If the clock
 * was set back, a time that appears to be in the future is ignored.
 */

import { errorTypes } from "../cluster/kafka-error.ts";
import type { Member } from "../membership.ts";

/**
 * The part of the session timeout within which membership is certain. Less than 1, because the work that starts within
 * this time also takes time.
 */
const CERTAIN_SHARE = 0.9;
/** The first heartbeat may have been in flight for too long already; the second one is new. */
const HEARTBEATS_MAX = 2;

export class SessionLease {
  readonly #certainMs: number;
  readonly #nowMs: () => number;
  /** When the heartbeat in flight was sent. All concurrent callers get its response. */
  #sentAtMs: number | null = null;
  #knownAtMs = Number.NEGATIVE_INFINITY;

  /** @param nowMs time of day. */
  constructor(sessionTimeoutMs: number, nowMs: () => number) {
    this.#certainMs = sessionTimeoutMs * CERTAIN_SHARE;
    this.#nowMs = nowMs;
  }

  /** Call before the group accepts this member. */
  start(): void {
    this.#knownAtMs = this.#nowMs();
  }

  /** Wraps each heartbeat of the member. */
  async heartbeat(member: Pick<Member, "heardAtMs">, send: () => Promise<void>): Promise<void> {
    this.#sentAtMs ??= this.#nowMs();
    const sentAtMs = this.#sentAtMs;
    // Without this, the member would not send a heartbeat until the clock has caught up.
    if (member.heardAtMs > this.#nowMs()) member.heardAtMs = 0;
    const before = member.heardAtMs;
    try {
      await send();
      // If the last heartbeat is recent, `send` sends none, and the time stays the same.
      if (member.heardAtMs !== before) this.#knownAtMs = sentAtMs;
    } catch (error) {
      if (isRebalancing(error)) this.#knownAtMs = sentAtMs;
      throw error;
    } finally {
      this.#sentAtMs = null;
    }
  }

  /** `true` if the coordinator has certainly not removed this member. */
  isCertain(): boolean {
    const agoMs = this.#nowMs() - this.#knownAtMs;
    return agoMs >= 0 && agoMs < this.#certainMs;
  }

  /** Queries the coordinator if necessary. Throws the errors of heartbeats. */
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
