/**
 * One membership in a group, from its start to its end. After an outage, `consumer.ts` starts another one.
 *
 *   state      records are     starts with
 *   joining    not fetched     the start, or partitions revoked for a rebalance
 *   taking     passed on       an assignment
 *   leaving    not fetched     drain; then commit; then fence
 *   over       not fetched     stop, crash
 *
 * Some problems last until somebody fixes them, such as a missing permission. If one occurs, the run also drains and
 * commits. Otherwise each later run would start at the same offset and pass on the same records again.
 */

import { atMost, Signal } from "../../base/runtime/signal.ts";
import type { Log } from "../../base/telemetry/log.ts";
import { type PartitionPlace, partitionKey } from "../../domain/record.ts";
import { errorKind, errorTypes } from "../cluster/kafka-error.ts";
import type { LogEnds } from "../cluster/log-ends.ts";
import type {
  Assignment,
  CreateMembership,
  FetchedBatch,
  FetchedOffset,
  GroupEvents,
  Member,
  Membership,
  MembershipOptions,
} from "../membership.ts";
import type { ConsumeOptions } from "../port.ts";
import type { CommitPace } from "./commit-pace.ts";
import {
  COMMIT_OUTAGE_LIMIT_MS,
  type ConsumerTimes,
  consumerTimes,
  partitionFetchMaxBytes,
} from "./consumer-times.ts";
import type { OwnedPartition } from "./owned-partition.ts";
import { type Memory, Ownership, type Pulse } from "./ownership.ts";
import { SessionLease } from "./session-lease.ts";

type State = "joining" | "taking" | "leaving" | "over";

const LEAVE_LIMIT_MS = 5_000;

export class ConsumerRun implements GroupEvents {
  /** Resolves with the error if the run ends without `stop`, and with null after `stop`. */
  readonly ended: Promise<Error | null>;
  readonly foreignMembers: GroupEvents["foreignMembers"];
  readonly unreadTopics: GroupEvents["unreadTopics"];
  readonly #options: Pick<RunOptions, "consume" | "memory">;
  readonly #end: (error: Error | null) => void;
  readonly #onJoined: () => void;
  readonly #onAbandoned: (uncommitted: Error | null) => void;
  readonly #membership: Membership;
  readonly #ownership: Ownership;
  /** Fired when a wait before another join must not last any longer. */
  readonly #wake = new Signal();
  #state: State = "joining";
  #member: Member | null = null;
  /** Changes with each assignment. Records that were fetched during an earlier assignment are dropped. */
  #epoch = 0;
  readonly #lease: SessionLease;
  readonly #pulse: Pulse;
  #revoking: Promise<Error | null> | null = null;
  readonly #failedJoins = new FailedJoins();

  constructor(options: RunOptions) {
    const { consume, memory, sessionTimeoutMs, log } = options;
    this.#options = options;
    const ended = Promise.withResolvers<Error | null>();
    this.ended = ended.promise;
    this.#end = ended.resolve;
    this.#onJoined = options.onJoined;
    this.#onAbandoned = (error) =>
      error && log.warn({ group: consume.groupId, error: error.message }, "kafka.commit.abandoned");
    const times = consumerTimes(sessionTimeoutMs, consume.drainLimitMs);
    const lease = new SessionLease(sessionTimeoutMs, Date.now);
    this.#lease = lease;
    this.#pulse = memory.pulse;
    this.#ownership = new Ownership({ ...options, times, lease, wake: this.#wake });
    this.foreignMembers = options.onForeignMembers;
    this.unreadTopics = options.onUnreadTopics;
    this.#membership = options.createMembership(memberOptions(options, times), this);
  }

  /** Resolves when the consumer has joined its group, or when it is certain that it will not. */
  start(): Promise<void> {
    return this.#membership.run();
  }

  /** Drains, commits, leaves the group, and closes the connections. Never rejects. */
  async stop(): Promise<void> {
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

  get owned(): readonly OwnedPartition[] {
    return this.#ownership.owned;
  }

  async beforeJoin(member: Member): Promise<void> {
    if (this.#state === "over") throw new Error("the consumer is stopped");
    this.#member = member;
    this.#onAbandoned(await this.#revoke(COMMIT_OUTAGE_LIMIT_MS));
    if (this.#state === "leaving") this.#state = "joining";
    // The lease starts before the join, not when its response is read: the process may be frozen in between.
    this.#lease.start();
  }

  // If a coordinator stops during a join, the join fails, and the next coordinator has no record of it.
  async joinsAgain(error: unknown): Promise<boolean> {
    if (!isUnknownTopic(error) && errorKind(error) === "fatal") return false;
    if (this.#failedJoins.areTooMany(error)) return false;
    await this.#wake.wait(isUnknownTopic(error) ? 1_000 : 300);
    return this.#state !== "over";
  }

  offsetsFetched(fetched: readonly FetchedOffset[]): readonly FetchedOffset[] {
    return this.#ownership.offsetsFetched(fetched);
  }

  assigned(assignment: Assignment): void {
    const member = this.#member;
    if (member === null || this.#state !== "joining") return;
    this.#epoch += 1;
    this.#failedJoins.reset();
    this.#pulse.heardAtMs = Date.now();
    this.#ownership.assign(member, assignment);
    this.#state = "taking";
    this.#onJoined();
  }

  async heartbeat(member: Member, send: () => Promise<void>): Promise<void> {
    const before = member.heardAtMs;
    await this.#lease.heartbeat(member, send);
    // If the last heartbeat is recent, `send` sends none, and the time stays the same.
    if (member.heardAtMs !== before) this.#pulse.heardAtMs = Date.now();
  }

  fetched(batch: FetchedBatch): Promise<void> | undefined {
    const member = this.#member;
    if (member === null || this.#state !== "taking") return undefined;
    this.#pulse.fetchedAtMs = Date.now();
    if (!this.#lease.isCertain()) return this.#offerWhenCertain(member, batch);
    this.#ownership.offer(member, [batch]);
    return undefined;
  }

  /**
   * A process that was frozen reads responses that were sent long ago. Its partitions may belong to other
   * members by now; in that case the heartbeat fails, and the member joins again.
   */
  async #offerWhenCertain(member: Member, batch: FetchedBatch): Promise<void> {
    const epoch = this.#epoch;
    const isCertain = await this.#lease.makeCertain(member).catch(() => false);
    if (isCertain && this.#epoch === epoch && this.#state === "taking")
      this.#ownership.offer(member, [batch]);
  }

  /** Drains, commits, and fences. Concurrent calls share one revocation. */
  #revoke(outageLimitMs?: number): Promise<Error | null> {
    if (this.#state === "taking") this.#state = "leaving";
    this.#revoking ??= this.#ownership.revoke(outageLimitMs).finally(() => {
      this.#revoking = null;
    });
    return this.#revoking;
  }

  halted(place: PartitionPlace, error: Error, retryInMs: number): void {
    if (this.#state !== "taking") return;
    this.#options.memory.halts.set(partitionKey(place), error);
    this.#options.consume.onHalted?.(error, retryInMs);
  }

  failed(error: Error): void {
    void this.#fail(error);
  }

  /** Ends the run: handlers complete the records that they have started, and processed records are committed. */
  async #fail(error: Error): Promise<void> {
    if (this.#state === "over") return;
    const revoked = this.#revoke();
    this.#state = "over";
    await revoked;
    await this.#close(error);
  }

  async #close(error: Error | null): Promise<void> {
    this.#state = "over";
    this.#ownership.fence();
    this.#wake.fire();
    await atMost(LEAVE_LIMIT_MS, this.#membership.stop());
    this.#end(error);
  }
}

/**
 * Counts failed joins in a row, and decides when the run ends instead of joining again.
 *
 *   the failure                                 another join    at most
 *   the topic is unknown: the broker has just   a second later  4 times
 *   restarted, or the topic is new and the
 *   broker does not have its metadata yet
 *   any other that may pass: the coordinator    300 ms later    9 times
 *   stops, and the next one is not found yet
 */
class FailedJoins {
  #times = 0;

  areTooMany(error: unknown): boolean {
    this.#times += 1;
    return this.#times > (isUnknownTopic(error) ? 4 : 9);
  }

  reset(): void {
    this.#times = 0;
  }
}

function isUnknownTopic(error: unknown): boolean {
  return errorTypes(error).has("UNKNOWN_TOPIC_OR_PARTITION");
}

/** The objects that all runs of all consumers of a process share. */
export interface RunWorld {
  readonly createMembership: CreateMembership;
  readonly sessionTimeoutMs: number;
  readonly recordMaxBytes: (topic: string) => number;
  readonly commits: CommitPace;
  readonly ends: Pick<LogEnds, "withLatest" | "leave" | "lost">;
  readonly log: Log;
}

interface RunOptions extends RunWorld {
  readonly consume: ConsumeOptions;
  /** Kept longer than the run. */
  readonly memory: Memory;
  readonly onJoined: () => void;
  /** Called after each rebalance with the client IDs of other programs in the group. */
  readonly onForeignMembers: (clientIds: readonly string[]) => void;
  readonly onUnreadTopics: (topics: readonly string[]) => void;
  readonly onOffsetReset: () => void;
}

function memberOptions(
  { consume, sessionTimeoutMs, recordMaxBytes }: RunOptions,
  { rebalanceTimeoutMs }: ConsumerTimes,
): MembershipOptions {
  return {
    groupId: consume.groupId,
    topics: consume.topics,
    sessionTimeoutMs,
    rebalanceTimeoutMs,
    partitionMaxBytes: (partitions) => partitionFetchMaxBytes(consume, partitions),
    fetchSpacingMs: consume.fetchSpacingMs ?? 0,
    recordMaxBytes,
    skipsCorrupt: consume.onSkipped !== undefined,
  };
}
