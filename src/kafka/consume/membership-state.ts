/**
 * Whether a member still belongs to its group, as the answers to its heartbeats say.
 *
 *   the coordinator's answer                   then
 *   a member of the group                      it has been heard of
 *   the group rebalances, or this is no        all groups of the process are asked (`group-watch.ts`);
 *   member any more                            fetch loops end, and the driver joins again
 *   this one may not be in it any longer:      fetch loops end, and so does the run
 *   it is fenced, or has lost its right
 *   one of these of an assignment that is      nothing
 *   over
 *   anything else, such as an outage           the driver's matter, when its fetch is over
 *
 * Fetch loops that wait for records, or for room, learn of it here and not with their next heartbeat.
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
  /** Called when the member has to join again or to end: fetch loops that wait do not know of it. */
  readonly onOut: () => void;
}

export class MembershipState {
  readonly #options: MembershipStateOptions;
  readonly #watched: WatchedGroup = {
    sendHeartbeat: (agoMs) => this.#sendHeartbeat(agoMs),
    heardAtMs: () => (this.#isSending ? null : (this.#member?.heardAtMs ?? null)),
  };
  #isSending = false;
  /** Null: it has no partitions, and owes nobody a heartbeat. */
  #member: Member | null = null;
  #assignments = 0;
  /** The coordinator's word, until the member joins again. */
  #outFor: Error | null = null;

  constructor(options: MembershipStateOptions) {
    this.#options = options;
  }

  /** The member has an assignment. */
  setMember(member: Member): void {
    this.#member = member;
    this.#assignments += 1;
    this.#outFor = null;
    this.#options.pulse.heardAtMs = Date.now();
    this.#options.groups.add(this.#watched);
  }

  /** It gives its partitions up. */
  clearMember(): void {
    this.#member = null;
    this.#outFor = null;
    this.#options.groups.delete(this.#watched);
  }

  /** Stands around each heartbeat, those of the driver too. */
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
        // The driver's own heartbeat tells one fetch loop, and the others wait for long.
        this.#options.onOut();
        if (joinsAgain(error)) groups.startAlarm();
      }
      throw error;
    }
    // None is sent when the last one is not long ago.
    if (member.heardAtMs !== before) pulse.heardAtMs = Date.now();
  }

  /** @throws what the coordinator has said, so that the driver joins again or ends. */
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
