/**
 * One membership in a group, from its start to its end. After an outage, `consumer.ts` starts another one.
 *
 *   state      the fetch loops             starts with
 *   joining    wait                        the start, or partitions revoked for a rebalance
 *   taking     fetch, or wait for room     an assignment
 *   leaving    wait                        drain; then commit; then fence
 *   over       end                         stop, crash
 *
 * Some problems, such as a corrupt batch or a missing permission, last until an operator fixes them. If one occurs, the
 * run commits as for a stop. Without that commit, each later run would start at the same offset and deliver the same
 * records again.
 *
 * To block a fetch loop, `#fetch` does not return, and sends heartbeats meanwhile. If a heartbeat fails, the
 * error is passed on to the driver, which joins again.
 */

import { atMost, Signal } from "../../runtime/signal.ts";
import type { Log } from "../../telemetry/log.ts";
import { errorKind, errorTypes } from "../cluster/kafka-error.ts";
import type {
  Assignment,
  CreateMembership,
  FetchedBatch,
  FetchFromBroker,
  Member,
  Membership,
  MembershipOptions,
  TakeBatches,
} from "../membership.ts";
import type { ConsumeOptions, PartitionProgress } from "../port.ts";
import type { Room } from "./back-pressure.ts";
import type { CommitPace } from "./commit-pace.ts";
import {
  COMMIT_OUTAGE_LIMIT_MS,
  type ConsumerTimes,
  consumerTimes,
  fetchMaxBytes,
} from "./consumer-times.ts";
import { FetchPace, isBehind } from "./fetch-pace.ts";
import type { GroupWatch } from "./group-watch.ts";
import { MembershipState } from "./membership-state.ts";
import type { Memory } from "./ownership.ts";
import { Ownership, type Pulse, takeMore } from "./ownership.ts";
import { SessionLease } from "./session-lease.ts";

type State = "joining" | "taking" | "leaving" | "over";

/** The interval at which a waiting fetch loop checks whether it may continue. */
const STEP_MS = 300;
const LEAVE_LIMIT_MS = 5_000;
const [JOIN, SUBSCRIBE] = ["join", "subscribe"];
const INTERRUPTED: readonly FetchedBatch[] = [];
const ALL: Room = { kind: "all" };

export class ConsumerRun {
  /** Resolves with the error if the run ends without `stop`, and with null after `stop`. */
  readonly ended: Promise<Error | null>;
  readonly #end: (error: Error | null) => void;
  readonly #onJoined: () => void;
  readonly #onAbandoned: (uncommitted: Error | null) => void;
  readonly #membership: Membership;
  readonly #ownership: Ownership;
  /** Fired when a waiting fetch loop may be able to continue. */
  readonly #wake = new Signal();
  /** Fired when fetch loops must stop waiting for the fetches in flight. */
  readonly #interrupt = new Signal();
  readonly #pace: FetchPace;
  readonly #isPaced: boolean;
  #state: State = "joining";
  #member: Member | null = null;
  /** Changes with each assignment. Records that were fetched during an earlier assignment are dropped. */
  #epoch = 0;
  readonly #lease: SessionLease;
  readonly #pulse: Pulse;
  #revoking: Promise<Error | null> | null = null;
  /** Failures by target: a node, or another target if there is no node. */
  readonly #failed = new RepeatedFailures();
  readonly #membershipState: MembershipState;

  constructor(options: RunOptions) {
    const { consume, memory, groups, sessionTimeoutMs, log } = options;
    const ended = Promise.withResolvers<Error | null>();
    this.ended = ended.promise;
    this.#end = ended.resolve;
    this.#pace = new FetchPace(consume.fetchSpacingMs);
    this.#isPaced = consume.fetchSpacingMs !== undefined;
    this.#onJoined = options.onJoined;
    this.#onAbandoned = (error) =>
      error && log.warn({ group: consume.groupId, error: error.message }, "kafka.commit.abandoned");
    const times = consumerTimes(sessionTimeoutMs, consume.drainLimitMs);
    const lease = new SessionLease(sessionTimeoutMs, Date.now);
    this.#lease = lease;
    this.#pulse = memory.pulse;
    const onOut = () => this.#hurry();
    this.#membershipState = new MembershipState({ lease, ...memory, groups, onOut });
    this.#ownership = new Ownership({ ...options, times, lease, wake: this.#wake });
    this.#membership = options.createMembership(memberOptions(options, times), {
      beforeJoin: (joining) => this.#beforeJoin(joining),
      joinsAgain: (error) => this.#joinsAgain(error),
      offsetsFetched: (fetched) => this.#ownership.offsetsFetched(fetched),
      assigned: (assignment) => this.#assigned(assignment),
      foreignMembers: options.onForeignMembers,
      fetch: (...fetch) => this.#fetchInTurn(...fetch),
      heartbeat: (...heartbeat) => this.#membershipState.heartbeat(...heartbeat),
      failed: (error) => this.#fail(error),
    });
  }

  async start(): Promise<void> {
    try {
      await this.#membership.connect();
      await this.#subscribe();
      if (this.#state === "over") return;
      await this.#membership.run();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** Drains, commits, leaves the group, and closes the connections. Never rejects. */
  async stop(): Promise<void> {
    // The driver hangs if it is stopped before it has joined.
    const untilMs = performance.now() + LEAVE_LIMIT_MS;
    for (let leftMs = LEAVE_LIMIT_MS; this.#state === "joining" && leftMs > 0; ) {
      await this.#wake.wait(leftMs);
      leftMs = untilMs - performance.now();
    }
    this.#onAbandoned(await this.#revoke());
    await this.#close(null);
  }

  /** `true` if it has an assignment, even an empty one. */
  get isAssigned(): boolean {
    return this.#state === "taking";
  }

  fetchedAtMs(): number | null {
    const { fetchedAtMs } = this.#pulse;
    return Math.max(fetchedAtMs ?? 0, this.#membership.fetchRespondedAtMs() ?? 0) || null;
  }

  progress(): PartitionProgress[] {
    return this.#ownership.progress();
  }

  async #subscribe(): Promise<void> {
    for (;;) {
      try {
        await this.#membership.subscribe();
        return;
      } catch (error) {
        const isOver = this.#state === "over" || this.#isFinal(error, SUBSCRIBE);
        if (isOver || !isUnknownTopic(error)) throw error;
        await this.#wake.wait(this.#failed.delayMs(error));
      }
    }
  }

  async #beforeJoin(member: Member): Promise<void> {
    if (this.#state === "over") throw new Error("the consumer is stopped");
    this.#member = member;
    this.#onAbandoned(await this.#revoke(COMMIT_OUTAGE_LIMIT_MS));
    if (this.#state === "leaving") this.#state = "joining";
    // The lease starts before the join, not when its response is read: the process may be frozen in between.
    this.#lease.start();
  }

  // If a coordinator stops during a join, the join fails, and neither the next coordinator nor the driver has
  // a record of the rebalance.
  async #joinsAgain(error: unknown): Promise<boolean> {
    if (!isUnknownTopic(error) && errorKind(error) === "fatal") return false;
    if (this.#failed.recordFailure(error, JOIN)) {
      this.#fail(error as Error);
      return false;
    }
    await this.#wake.wait(this.#failed.delayMs(error));
    return this.#state !== "over";
  }

  #assigned(assignment: Assignment): void {
    const member = this.#member;
    if (member === null || this.#state !== "joining") return;
    this.#epoch += 1;
    this.#failed.recordResponse(JOIN);
    this.#ownership.assign(member, assignment);
    this.#state = "taking";
    this.#membershipState.setMember(member);
    // A fetch that was started during an earlier assignment may lack a partition until it ends.
    this.#membership.endFetches();
    this.#wake.fire();
    this.#onJoined();
  }

  async #fetchInTurn(member: Member, nodeId: string, fetch: FetchFromBroker): Promise<void> {
    const waitMs = this.#pace.waitMs(nodeId, performance.now());
    if (waitMs > 0) await this.#interrupt.wait(waitMs);
    await this.#fetch(member, nodeId, async (room) => {
      this.#pace.start(nodeId, performance.now());
      const batches =
        room.kind === "all"
          ? await fetch(null, this.#takesMore(member, nodeId))
          : await fetch(room);
      this.#pace.end(nodeId, batches.some(isBehind));
      return batches;
    });
  }

  /** Returns undefined if each fetch is paced separately. */
  #takesMore(member: Member, nodeId: string): TakeBatches | undefined {
    if (this.#isPaced) return undefined;
    const epoch = this.#epoch;
    return takeMore(member, this.#ownership, () => {
      const isOurs = this.#epoch === epoch && this.#state === "taking" && this.#lease.isCertain();
      if (isOurs) this.#recordResponse(nodeId);
      return isOurs;
    });
  }

  #recordResponse(nodeId: string): void {
    this.#failed.recordResponse(nodeId);
    this.#pulse.fetchedAtMs = Date.now();
  }

  async #fetch(
    member: Member,
    nodeId: string,
    fetch: (room: Room) => Promise<readonly FetchedBatch[]>,
  ): Promise<void> {
    const epoch = this.#epoch;
    try {
      const room = this.#state === "taking" ? await this.#ownership.room(member, nodeId) : ALL;
      if (this.#state !== "taking" || this.#epoch !== epoch) {
        if (this.#state !== "taking") await this.#wake.wait(STEP_MS);
        return;
      }
      this.#membershipState.assertIsIn();
      const batches = await this.#interrupt.orElse(fetch(room), INTERRUPTED);
      this.#membershipState.assertIsIn();
      if (batches !== INTERRUPTED) this.#recordResponse(nodeId);
      // A process that was frozen reads responses that were sent long ago. By now, its partitions may belong to other
      // members; the heartbeat throws then.
      const isCertain = this.#lease.isCertain() || (await this.#lease.makeCertain(member));
      if (isCertain && this.#epoch === epoch && this.#state === "taking") {
        this.#ownership.offer(member, batches);
      }
    } catch (error) {
      // Fetching from other brokers continues. If this broker is the coordinator, the driver's heartbeat
      // reports the outage.
      if (this.#state === "taking" && errorKind(error) === "outage")
        return this.#interrupt.wait(STEP_MS);
      // The other brokers' fetch loops must end before the driver reacts.
      this.#interruptFetches();
      if (this.#isFinal(error, nodeId)) {
        // The partitions are revoked now, while this process is still a member, because the driver leaves the group
        // before it reports a crash.
        await this.#revoke();
        this.#fail(error as Error);
      }
      throw error;
    }
  }

  #isFinal(error: unknown, target: string): boolean {
    if (!isUnknownTopic(error)) return errorKind(error) === "fatal";
    return this.#failed.recordFailure(error, target);
  }

  #hurry(): void {
    this.#interruptFetches();
    this.#wake.fire();
  }

  #interruptFetches(): void {
    this.#interrupt.fire();
    this.#membership.endFetches();
  }

  /** Drains, commits, and fences. Concurrent calls share one revocation. */
  #revoke(outageLimitMs?: number): Promise<Error | null> {
    if (this.#state === "taking") this.#state = "leaving";
    this.#membershipState.clearMember();
    this.#wake.fire();
    this.#revoking ??= this.#ownership.revoke(outageLimitMs).finally(() => {
      this.#revoking = null;
    });
    return this.#revoking;
  }

  /** Ends the run. Handlers still finish the records that they have started. */
  #fail(error: Error): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#membershipState.clearMember();
    void this.#ownership.drain().then(() => this.#close(error));
  }

  async #close(error: Error | null): Promise<void> {
    this.#state = "over";
    this.#membershipState.clearMember();
    this.#ownership.fence();
    const stopped = this.#membership.stop();
    this.#hurry();
    await atMost(LEAVE_LIMIT_MS, stopped);
    const disconnected = this.#membership.disconnect();
    this.#membership.destroy();
    await atMost(LEAVE_LIMIT_MS, disconnected);
    this.#end(error);
  }
}

/**
 * Counts how often the same request has failed in a row, and decides whether it is retried.
 *
 *   the failure                                 is retried      at most
 *   a broker reports an unknown topic, because  a second later  4 times
 *   a restarted broker does not have its
 *   topics at once, and brokers learn of a new
 *   topic one after another
 *   a join is cut off: its coordinator stops,   300 ms later    9 times
 *   and the next one is not known immediately
 */
class RepeatedFailures {
  /** Number of failures, by target of the request. */
  readonly #times = new Map<string, number>();

  /** Counts the failure, and returns `true` if the request has failed so often that the failure counts as permanent. */
  recordFailure(error: unknown, target: string): boolean {
    const times = (this.#times.get(target) ?? 0) + 1;
    this.#times.set(target, times);
    return times > (isUnknownTopic(error) ? 4 : 9);
  }

  delayMs(error: unknown): number {
    return isUnknownTopic(error) ? 1_000 : 300;
  }

  /** Call when the target has sent any other response. */
  recordResponse(target: string): void {
    this.#times.delete(target);
  }
}

function isUnknownTopic(error: unknown): boolean {
  return errorTypes(error).has("UNKNOWN_TOPIC_OR_PARTITION");
}

interface RunOptions {
  readonly createMembership: CreateMembership;
  readonly sessionTimeoutMs: number;
  readonly recordMaxBytes: (topic: string) => number;
  readonly consume: ConsumeOptions;
  /** Kept longer than the run. */
  readonly memory: Memory;
  readonly groups: GroupWatch;
  readonly onJoined: () => void;
  /** Called after each rebalance with the client IDs of other programs in the group. */
  readonly onForeignMembers: (clientIds: readonly string[]) => void;
  readonly onOffsetReset: () => void;
  /** The pace that all consumers of the process share. */
  readonly commits: CommitPace;
  readonly log: Log;
}

/** Derives the options of the run's member from those of the run. */
function memberOptions(
  { consume, sessionTimeoutMs, recordMaxBytes }: RunOptions,
  times: ConsumerTimes,
): MembershipOptions {
  return {
    groupId: consume.groupId,
    topics: consume.topics,
    sessionTimeoutMs,
    ...times,
    fetchMaxBytes: fetchMaxBytes(consume),
    recordMaxBytes,
    skipsCorrupt: consume.onSkipped !== undefined,
  };
}
