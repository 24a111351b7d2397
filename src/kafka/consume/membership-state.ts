/**
 * Tracks, from the responses to a member's heartbeats, whether the member still belongs to its group.
 *
 *   the coordinator's response                 then
 *   it is a member of the group                the time is stored
 *   the group rebalances, or the member is     all groups of the process send heartbeats
 *   no longer in it                            (`group-watch.ts`); fetch loops end, and the driver
 *                                              joins again
 *   it may not be a member: it is fenced, or   fetch loops end, and so does the run
 *   has lost its permission
 *   one of these, for an earlier assignment    nothing happens
 *   anything else, such as an outage           the driver handles it when its fetch has ended
 *
 * This interrupts fetch loops that wait for records or for room, before their next heartbeat is due.
 */

import { asError } from "../../runtime/as-error.ts";
import { errorKind, errorTypes } from "../cluster/kafka-error.ts";
import type { Member } from "../membership.ts";
import type { GroupWatch, WatchedGroup } from "./group-watch.ts";
import type { Pulse } from "./ownership.ts";
import type { SessionLease } from "./session-lease.ts";

const JOINS_AGAIN = ["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"];

interface MembershipStateOptions {
  readonly lease: SessionLease;
  readonly pulse: Pulse;
  readonly groups: GroupWatch;
  /** Called when the member has to join again or has to end. Waiting fetch loops would not detect this. */
  readonly onOut: () => void;
}

export class MembershipState {
  readonly #options: MembershipStateOptions;
  readonly #watched: WatchedGroup = {
    sendHeartbeat: (agoMs) => this.#sendHeartbeat(agoMs),
    heardAtMs: () => (this.#isSending ? null : (this.#member?.heardAtMs ?? null)),
  };
  #isSending = false;
  /** Null while the member has no assignment and need not send heartbeats. */
  #member: Member | null = null;
  #assignments = 0;
  /** The error that the coordinator returned, until the member joins again. */
  #outFor: Error | null = null;

  constructor(options: MembershipStateOptions) {
    this.#options = options;
  }

  /** Call when the member has an assignment. */
  setMember(member: Member): void {
    this.#member = member;
    this.#assignments += 1;
    this.#outFor = null;
    this.#options.pulse.heardAtMs = Date.now();
    this.#options.groups.add(this.#watched);
  }

  /** Call when the member's partitions are revoked. */
  clearMember(): void {
    this.#member = null;
    this.#outFor = null;
    this.#options.groups.delete(this.#watched);
  }

  /** Wraps each heartbeat, including the driver's own. */
  async heartbeat(member: Member, send: () => Promise<void>): Promise<void> {
    this.assertIsIn();
    const { lease, pulse, groups } = this.#options;
    const [before, assignment] = [member.heardAtMs, this.#assignments];
    try {
      await lease.heartbeat(member, send);
    } catch (error) {
      const isOfNow = this.#member !== null && this.#assignments === assignment;
      if (isOfNow && (joinsAgain(error) || errorKind(error) === "fatal")) {
        this.#outFor = asError(error);
        // The driver's own heartbeat ends only one fetch loop; the others would continue to wait.
        this.#options.onOut();
        if (joinsAgain(error)) groups.startAlarm();
      }
      throw error;
    }
    // If the last heartbeat is recent, `send` sends none, and the time stays the same.
    if (member.heardAtMs !== before) pulse.heardAtMs = Date.now();
  }

  /** @throws the coordinator's error, so that the driver joins again or ends. */
  assertIsIn(): void {
    if (this.#outFor !== null) throw this.#outFor;
  }

  async #sendHeartbeat(agoMs: number): Promise<boolean> {
    const member = this.#member;
    if (member === null || this.#outFor !== null) return false;
    this.#isSending = true;
    await member.heartbeat(agoMs).catch(() => undefined);
    this.#isSending = false;
    return this.#outFor !== null && joinsAgain(this.#outFor);
  }
}

function joinsAgain(error: unknown): boolean {
  const types = errorTypes(error);
  return JOINS_AGAIN.some((type) => types.has(type));
}
