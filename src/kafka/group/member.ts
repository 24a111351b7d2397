/**
 * A member of a consumer group, with the classic protocol.
 *
 *   step                                        if the process crashes after it
 *   1  `beforeJoin`: drain, commit, fence;      the group continues from these commits
 *      meanwhile, the coordinator and leaders
 *      are looked up
 *   2  JoinGroup; the leader assigns the        the group waits until this member's session expires
 *      partitions
 *   3  SyncGroup; `assigned`                    the same; the next owner reads from the commits of step 1
 *   4  commits and topic IDs are read;          the same: no record was read yet
 *      `offsetsFetched` decides which apply
 *   5  cursors are fetched; `fetched`           what was processed and not committed is repeated
 *   6  `commit`, about once a second            nothing is repeated
 *
 *   what happens                                then
 *   the group rebalances                        cursors close at once; steps 1 to 5
 *   the coordinator is lost                     the next one is looked up (`coordinator.ts`)
 *   ... for longer than the session             the member fails: others may own the partitions by now
 *   this member was removed                     the same as a rebalance, but it joins as a new member
 *   a leader has moved                          the cursor moves to it; nothing else stops (`leader-table.ts`)
 *   a topic has more partitions                 the group's leader joins again, which rebalances the group
 *   a topic was recreated                       steps 1 to 5: step 4 compares its ID with that in the commits
 *   a broker is frozen                          its connection is closed after 10 s (`fetch/silence.ts`), and
 *                                               its cursors stay until leaders move
 *   the member is stopped                       it leaves the group, which then does not wait for its
 *                                               session to expire
 *
 * Connections belong to the process (`broker/shared-connections.ts`): one to each broker for fetches, one for
 * commits, one for short requests such as heartbeats, and one for each join that waits.
 */

import assert from "node:assert/strict";

import { asError } from "../../base/runtime/as-error.ts";
import { Signal } from "../../base/runtime/signal.ts";
import type { SharedConnections } from "../broker/shared-connections.ts";
import { errorKind, errorTypes, protocolError } from "../cluster/kafka-error.ts";
import type { LeaderTable, WatchingTopics } from "../cluster/leader-table.ts";
import type { FetchSources } from "../fetch/sources.ts";
import type {
  Assignment,
  GroupEvents,
  Member,
  Membership,
  MembershipOptions,
  OffsetToCommit,
} from "../membership.ts";
import {
  ASSIGNED_BY_BROKER,
  clientIdOf,
  encodeSubscription,
  readAssignment,
  shareOut,
} from "./assignment.ts";
import { Coordinator, type Joined, type MemberIdentity } from "./coordinator.ts";
import type { GroupWatch, WatchedGroup } from "./group-watch.ts";
import { StartOffsets } from "./start-offsets.ts";
import { Tenure } from "./tenure.ts";

const AGAIN_MS = 300;
/** How many times a join is repeated if the group changes in the meantime. */
const REBALANCES_MAX = 20;
const JOINS_AGAIN = ["REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"];
const NOT_JOINED: MemberIdentity = { memberId: "", generationId: -1 };

/** What the members of a process share. */
export interface GroupWorld {
  readonly clientId: string;
  readonly connections: SharedConnections;
  readonly leaders: LeaderTable;
  readonly sources: FetchSources;
  readonly groups: GroupWatch;
}

interface JoinedAs {
  readonly assignment: Assignment;
  /** See `TenureOptions`. */
  readonly shared: ReadonlyMap<string, number>;
}

export class GroupMember implements Membership, Member {
  /** The latest time at which this was certainly a member: set by a join and by a heartbeat that was accepted. */
  heardAtMs = 0;
  readonly #options: MembershipOptions;
  readonly #events: GroupEvents;
  readonly #world: GroupWorld;
  readonly #coordinator: Coordinator;
  readonly #starts: StartOffsets;
  readonly #stopping = new AbortController();
  /** Fired when waits must not last any longer. */
  readonly #wake = new Signal();
  /** What `#world.leaders` looks up for this member. A join of the group's leader changes it. */
  #watching: WatchingTopics;
  readonly #watched: WatchedGroup;
  /**
   * The identity from the latest join. Kept until the next join is done, because that starts with a commit; dropped when the
   * coordinator does not know it, and when this member leaves.
   */
  #identity = NOT_JOINED;
  /** Null while this member has no assignment: until a join is done, and from `#giveUp` on. */
  #tenure: Tenure | null = null;
  /** The join in progress, which ends with a tenure, a failure, or `stop`. */
  #joining: Promise<void> | null = null;
  /** The heartbeat in flight. A new assignment forgets it. */
  #beat: Promise<void> | null = null;

  constructor(options: MembershipOptions, events: GroupEvents, world: GroupWorld) {
    this.#options = options;
    this.#events = events;
    this.#world = world;
    const { leaders, connections } = world;
    const { groupId, topics } = options;
    const { signal } = this.#stopping;
    const wake = this.#wake;
    const { brokers } = leaders;
    this.#coordinator = new Coordinator({ groupId, brokers, connections, signal, wake });
    this.#starts = new StartOffsets(this.#coordinator, leaders, connections, wake);
    this.#watching = this.#watchingOf(topics);
    this.#watched = { sendHeartbeat: (agoMs) => this.#watchedHeartbeat(agoMs) };
  }

  run(): Promise<void> {
    this.#world.leaders.add(this.#watching);
    return this.#join();
  }

  fetchRespondedAtMs(): number | null {
    return this.#tenure?.respondedAtMs() ?? null;
  }

  async stop(): Promise<void> {
    if (this.#isOver) return;
    this.#giveUp();
    this.#stopping.abort();
    this.#wake.fire();
    this.#world.leaders.delete(this.#watching);
    const { memberId } = this.#identity;
    this.#identity = NOT_JOINED;
    await this.#coordinator.leave(memberId);
  }

  async heartbeat(agoMs: number): Promise<void> {
    const tenure = this.#tenure;
    try {
      await this.#events.heartbeat(this, () => this.#sendHeartbeat(agoMs));
    } catch (error) {
      // A response that concerns an earlier assignment does not matter any more.
      if (tenure !== null && this.#tenure === tenure) this.#heartbeatFailed(asError(error));
      throw error;
    }
  }

  positionOf(topic: string, partition: number): number | null {
    return this.#tenure?.cursor(topic, partition)?.position ?? null;
  }

  advance(topic: string, partition: number, offset: number): void {
    this.#tenure?.cursor(topic, partition)?.moveTo(offset + 1);
  }

  commit(offsets: readonly OffsetToCommit[]): Promise<void> {
    return this.#coordinator.commit(this.#identity, offsets);
  }

  pause(topic: string, partition: number): void {
    this.#tenure?.cursor(topic, partition)?.pause();
  }

  resume(topic: string, partition: number): void {
    this.#tenure?.cursor(topic, partition)?.resume();
  }

  get #isOver(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Concurrent calls share one join. Never rejects. */
  #join(): Promise<void> {
    this.#giveUp();
    this.#joining ??= this.#joinUntilIn().finally(() => {
      this.#joining = null;
    });
    return this.#joining;
  }

  async #joinUntilIn(): Promise<void> {
    for (let rebalances = 0; !this.#isOver; ) {
      try {
        const lookup = this.#findBrokers();
        lookup.catch(() => undefined);
        await this.#events.beforeJoin(this);
        await lookup;
        const joined = await this.#joinOnce();
        if (!this.#isOver) this.#start(joined);
        return;
      } catch (error) {
        if (this.#isOver) return;
        rebalances += 1;
        if (errorTypes(error).has("UNKNOWN_MEMBER_ID")) this.#identity = NOT_JOINED;
        if (isRebalancing(error) && rebalances <= REBALANCES_MAX) {
          if (rebalances > 1) await this.#wake.wait(AGAIN_MS);
          continue;
        }
        if (await this.#events.joinsAgain(error)) continue;
        this.#events.failed(asError(error));
        return;
      }
    }
  }

  async #joinOnce(): Promise<JoinedAs> {
    const { topics, sessionTimeoutMs, rebalanceTimeoutMs } = this.#options;
    const joined = await this.#coordinator.join({
      memberId: this.#identity.memberId,
      sessionTimeoutMs,
      rebalanceTimeoutMs,
      subscription: encodeSubscription(topics),
      // Set early, so that this member can leave while the group still waits for others.
      onMemberId: (given) => this.#setMemberId(given),
    });
    const { memberId, generationId, leaderId } = joined;
    const identity = { memberId, generationId };
    this.#identity = identity;
    const isLeader = leaderId === memberId;
    const partitions = isLeader ? await this.#shared(joined) : new Map<string, number>();
    this.#watch([...new Set([...topics, ...partitions.keys()])]);
    const unread = [...partitions].flatMap(([topic, count]) => (count === 0 ? [topic] : []));
    this.#events.unreadTopics(unread);
    const shares = isLeader ? this.#shareOut(joined, partitions) : [];
    const assignment = readAssignment(await this.#coordinator.sync(identity, shares), topics);
    if (!isLeader) {
      const leader = leaderId === "" ? ASSIGNED_BY_BROKER : clientIdOf(leaderId);
      this.#events.foreignMembers(leader === this.#world.clientId ? [] : [leader]);
    }
    return { assignment, shared: partitions };
  }

  /** If several permissions are missing, the error is about a topic, whichever response arrives first. */
  async #findBrokers(): Promise<void> {
    const finding = this.#coordinator.find();
    finding.catch(() => undefined);
    await this.#world.leaders.load(this.#options.topics);
    this.#partitions();
    await finding;
  }

  /** The number of partitions of each topic. If some topics have an error, throws the first of these errors. */
  #partitions(): ReadonlyMap<string, number> {
    const partitions = this.#options.topics.map((topic): [string, number] => {
      const { errorCode, nodes } = this.#world.leaders.of(topic) ?? { errorCode: 0, nodes: [] };
      if (errorCode !== 0) throw protocolError(errorCode, topic);
      return [topic, nodes.length];
    });
    return new Map(partitions);
  }

  /**
   * The number of partitions of each topic that a process in the group reads; 0 for a topic that only others read, and
   * that this process cannot see.
   */
  async #shared({ members }: Joined): Promise<ReadonlyMap<string, number>> {
    const { clientId, leaders } = this.#world;
    const own = this.#partitions();
    const read = members.flatMap(({ memberId, topics }) =>
      clientIdOf(memberId) === clientId ? topics : [],
    );
    const others = [...new Set(read)].filter((topic) => !own.has(topic)).toSorted();
    if (others.length > 0) await leaders.load(others);
    const found = others.map((topic) => [topic, leaders.of(topic)?.nodes.length ?? 0] as const);
    return new Map([...own, ...found]);
  }

  #watchingOf(topics: readonly string[]): WatchingTopics {
    return { topics, found: () => this.#tenure?.place() };
  }

  /** The leader also watches the topics that only others read. */
  #watch(topics: readonly string[]): void {
    const before = this.#watching;
    if (topics.join() === before.topics.join()) return;
    this.#watching = this.#watchingOf(topics);
    this.#world.leaders.add(this.#watching);
    this.#world.leaders.delete(before);
  }

  #shareOut({ members }: Joined, partitions: ReadonlyMap<string, number>) {
    const { assignments, foreign } = shareOut(members, this.#world.clientId, partitions);
    this.#events.foreignMembers(foreign);
    return assignments;
  }

  #start({ assignment, shared }: JoinedAs): void {
    assert.equal(this.#tenure, null);
    this.heardAtMs = Date.now();
    // A heartbeat of an earlier assignment proves nothing about this one.
    this.#beat = null;
    const tenure: Tenure = new Tenure(assignment, {
      options: this.#options,
      events: this.#events,
      leaders: this.#world.leaders,
      sources: this.#world.sources,
      starts: this.#starts,
      wake: this.#wake,
      commit: (offsets) => this.commit(offsets),
      shared,
      onStale: () => void (this.#tenure === tenure && this.#join()),
      onFailed: (error) => this.#failedInTenure(error),
    });
    this.#tenure = tenure;
    this.#events.assigned(assignment);
    this.#world.groups.add(this.#watched);
    void tenure.start();
  }

  #sendHeartbeat(agoMs: number): Promise<void> {
    if (this.#beat !== null) return this.#beat;
    const identity = this.#identity;
    if (identity.memberId === "" || Date.now() < this.heardAtMs + agoMs) return Promise.resolve();
    const beat = this.#coordinator
      .heartbeat(identity)
      .then(() => {
        if (this.#identity === identity) this.heardAtMs = Date.now();
      })
      .finally(() => {
        if (this.#beat === beat) this.#beat = null;
      });
    this.#beat = beat;
    return beat;
  }

  /** Returns `true` if the group rebalances. Never rejects. */
  async #watchedHeartbeat(agoMs: number): Promise<boolean> {
    try {
      await this.heartbeat(agoMs);
      return false;
    } catch (error) {
      return joinsAgain(error);
    }
  }

  #heartbeatFailed(error: Error): void {
    if (joinsAgain(error)) {
      if (errorTypes(error).has("UNKNOWN_MEMBER_ID")) this.#setMemberId("");
      void this.#join();
      this.#world.groups.startAlarm();
    } else if (errorKind(error) === "fatal") this.#failedInTenure(error);
    // Other members may own the partitions by now.
    else if (Date.now() - this.heardAtMs >= this.#options.sessionTimeoutMs)
      this.#failedInTenure(error);
  }

  #setMemberId(memberId: string): void {
    this.#identity = { ...this.#identity, memberId };
  }

  #failedInTenure(error: Error): void {
    if (isRebalancing(error)) return void this.#join();
    this.#giveUp();
    this.#events.failed(error);
  }

  /** Ends the tenure, which stops all fetching. */
  #giveUp(): void {
    const tenure = this.#tenure;
    this.#tenure = null;
    this.#world.groups.delete(this.#watched);
    tenure?.close();
  }
}

function joinsAgain(error: unknown): boolean {
  const types = errorTypes(error);
  return JOINS_AGAIN.some((type) => types.has(type));
}

/** `true` if the group has changed since the request was sent. */
function isRebalancing(error: unknown): boolean {
  return errorKind(error) === "rebalance";
}
