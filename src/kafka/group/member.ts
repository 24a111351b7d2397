/**
 * A member of a consumer group, with the classic protocol.
 *
 *   step                                        if the process crashes after it
 *   1  `beforeJoin`: drain, commit, fence       the group goes on from these commits
 *   2  leaders of the topics are looked up      the same
 *   3  JoinGroup; the leader shares out         the group waits until this member's session is over
 *   4  SyncGroup; `assigned`                    the same; the next owner reads from the commits of step 1
 *   5  commits and topic IDs are read;          the same: nothing was read yet
 *      `offsetsFetched` says which ones count
 *   6  cursors are fetched; `fetched`           what was processed and not committed is repeated
 *   7  `commit`, about once a second            nothing is repeated
 *
 *   what happens                                then
 *   the group rebalances                        cursors close at once; steps 1 to 6
 *   the coordinator is lost                     the member stays; the next one is found (`coordinator.ts`)
 *   ... for longer than the session             steps 1 to 6: others may own the partitions by now
 *   this member was removed                     the same as a rebalance, as a new member
 *   a leader has moved                          the cursor moves to it; nothing else stops (`leader-table.ts`)
 *   a topic has more partitions                 the group's leader joins again, which rebalances the group
 *   a topic was recreated                       steps 1 to 6: step 5 compares its ID with that in the commits
 *   a broker is frozen                          its connection is closed after 10 s (`fetch/silence.ts`), and
 *                                               its cursors stay until leaders move
 *   the member is stopped                       it leaves the group, so that nobody waits for its session
 *
 * Connections belong to the process (`kafkajs/shared-connections.ts`): one to each broker for fetches, one for
 * commits, one for short requests such as heartbeats, and one for each join that waits.
 */

import { asError } from "../../runtime/as-error.ts";
import { Signal } from "../../runtime/signal.ts";
import { errorKind, errorTypes, protocolError } from "../cluster/kafka-error.ts";
import type { LeaderTable, WatchingTopics } from "../cluster/leader-table.ts";
import { Cursor, type CursorOwner } from "../fetch/cursor.ts";
import type { FetchSources } from "../fetch/sources.ts";
import type { SharedConnections } from "../kafkajs/shared-connections.ts";
import type {
  Assignment,
  FetchedBatch,
  GroupEvents,
  Member,
  Membership,
  MembershipOptions,
  OffsetToCommit,
} from "../membership.ts";
import { clientIdOf, encodeSubscription, readAssignment, shareOut } from "./assignment.ts";
import { Coordinator, type Joined, type MemberIdentity } from "./coordinator.ts";
import type { GroupWatch, WatchedGroup } from "./group-watch.ts";
import { stepAfter } from "./partition-error.ts";
import { StartOffsets } from "./start-offsets.ts";

const AGAIN_MS = 300;
/** How often a join is repeated because the group has changed meanwhile. */
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

/** The partitions of one assignment. */
interface Tenure {
  readonly identity: MemberIdentity;
  readonly isLeader: boolean;
  /** The number of partitions of each topic, as they were shared out. */
  readonly partitions: ReadonlyMap<string, number>;
  /** By topic and partition. */
  readonly cursors: ReadonlyMap<string, Cursor>;
}

export class GroupMember implements Membership, Member {
  heardAtMs = 0;
  readonly #options: MembershipOptions;
  readonly #events: GroupEvents;
  readonly #world: GroupWorld;
  readonly #coordinator: Coordinator;
  readonly #starts: StartOffsets;
  readonly #stopping = new AbortController();
  /** Fired when waits must not last any longer. */
  readonly #wake = new Signal();
  readonly #watching: WatchingTopics;
  readonly #watched: WatchedGroup;
  readonly #owner: CursorOwner;
  /** As of the latest join; kept while the member joins again, for the commits before that. */
  #identity = NOT_JOINED;
  /** Null while this member owns nothing. */
  #tenure: Tenure | null = null;
  #joining: Promise<void> | null = null;
  /** The heartbeat in flight. */
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
    this.#watching = { topics, found: () => this.#placeAll() };
    this.#watched = {
      heardAtMs: () => (this.#beat === null && this.#tenure !== null ? this.heardAtMs : null),
      sendHeartbeat: (agoMs) => this.#watchedHeartbeat(agoMs),
    };
    this.#owner = {
      fetched: (cursor, batch) => this.#fetched(cursor, batch),
      failed: (cursor, error) => void this.#partitionFailed(cursor, error),
    };
  }

  run(): Promise<void> {
    this.#world.leaders.add(this.#watching);
    return this.#join();
  }

  fetchRespondedAtMs(): number | null {
    const cursors = [...(this.#tenure?.cursors.values() ?? [])];
    const known = cursors.flatMap((cursor) => cursor.respondedAtMs() ?? []);
    return known.length === 0 ? null : Math.max(...known);
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
      // What is heard about an earlier assignment does not matter any more.
      if (tenure !== null && this.#tenure === tenure) this.#heartbeatFailed(asError(error));
      throw error;
    }
  }

  positionOf(topic: string, partition: number): number | null {
    return this.#cursor(topic, partition)?.position ?? null;
  }

  advance(topic: string, partition: number, offset: number): void {
    this.#cursor(topic, partition)?.moveTo(offset + 1);
  }

  commit(offsets: readonly OffsetToCommit[]): Promise<void> {
    return this.#coordinator.commit(this.#identity, offsets);
  }

  pause(topic: string, partition: number): void {
    this.#cursor(topic, partition)?.pause();
  }

  resume(topic: string, partition: number): void {
    this.#cursor(topic, partition)?.resume();
  }

  get #isOver(): boolean {
    return this.#stopping.signal.aborted;
  }

  #cursor(topic: string, partition: number): Cursor | undefined {
    return this.#tenure?.cursors.get(`${topic}/${partition}`);
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
        await this.#events.beforeJoin(this);
        const tenure = await this.#joinOnce();
        if (!this.#isOver) this.#start(tenure);
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

  async #joinOnce(): Promise<Tenure> {
    const { topics, sessionTimeoutMs, rebalanceTimeoutMs } = this.#options;
    await this.#lookUp();
    const joined = await this.#coordinator.join({
      memberId: this.#identity.memberId,
      sessionTimeoutMs,
      rebalanceTimeoutMs,
      subscription: encodeSubscription(topics),
    });
    const { memberId, generationId, leaderId } = joined;
    const identity = { memberId, generationId };
    this.#identity = identity;
    const isLeader = leaderId === memberId;
    // The leader must know of partitions that were added while the group waited for its members.
    const partitions = isLeader ? await this.#lookUp() : new Map<string, number>();
    const shares = isLeader ? this.#shareOut(joined, partitions) : [];
    const assignment = readAssignment(await this.#coordinator.sync(identity, shares), topics);
    if (!isLeader) {
      const leader = clientIdOf(leaderId);
      this.#events.foreignMembers(leader === this.#world.clientId ? [] : [leader]);
    }
    return { identity, isLeader, partitions, cursors: this.#cursorsOf(assignment) };
  }

  /** Throws the error of the first topic that has one. */
  async #lookUp(): Promise<ReadonlyMap<string, number>> {
    const { topics } = this.#options;
    await this.#world.leaders.lookUp(topics);
    const partitions = topics.map((topic): [string, number] => {
      const { errorCode, nodes } = this.#world.leaders.of(topic) ?? { errorCode: 0, nodes: [] };
      if (errorCode !== 0) throw protocolError(errorCode, topic);
      return [topic, nodes.length];
    });
    return new Map(partitions);
  }

  #shareOut({ memberIds }: Joined, partitions: ReadonlyMap<string, number>) {
    const { assignments, foreign } = shareOut(memberIds, this.#world.clientId, partitions);
    this.#events.foreignMembers(foreign);
    return assignments;
  }

  #cursorsOf(assignment: Assignment): ReadonlyMap<string, Cursor> {
    const { recordMaxBytes, skipsCorrupt, partitionMaxBytes } = this.#options;
    const places = Object.entries(assignment).flatMap(([topic, partitions]) =>
      partitions.map((partition) => ({ topic, partition })),
    );
    const maxBytes = partitionMaxBytes(places.length);
    const cursors = places.map((place): [string, Cursor] => {
      const policy = { recordMaxBytes: recordMaxBytes(place.topic), skipsCorrupt };
      const key = `${place.topic}/${place.partition}`;
      return [key, new Cursor(place, this.#owner, { policy, maxBytes })];
    });
    return new Map(cursors);
  }

  #start(tenure: Tenure): void {
    this.heardAtMs = Date.now();
    // The response to a heartbeat of an earlier assignment says nothing about this one.
    this.#beat = null;
    this.#tenure = tenure;
    const byTopic = Map.groupBy(tenure.cursors.values(), ({ topic }) => topic);
    const assignment = [...byTopic].map(([topic, cursors]): [string, number[]] => [
      topic,
      cursors.map(({ partition }) => partition),
    ]);
    this.#events.assigned(Object.fromEntries(assignment));
    this.#world.groups.add(this.#watched);
    void this.#startCursors(tenure);
  }

  /** Gives each cursor a position. Never rejects. */
  async #startCursors(tenure: Tenure): Promise<void> {
    const isOurs = (): boolean => this.#tenure === tenure;
    const all = [...tenure.cursors.values()];
    try {
      const fetched = await this.#starts.committed(all, isOurs);
      if (!isOurs()) return;
      const restarted = this.#events.offsetsFetched(fetched);
      const isRestarted = (cursor: Cursor): boolean => restarted.some((each) => isAt(each, cursor));
      for (const cursor of all) {
        const offset = fetched.find((each) => isAt(each, cursor))?.offset ?? -1;
        if (offset >= 0 && !isRestarted(cursor)) cursor.moveTo(offset);
      }
      this.#placeAll();
      const others = all.filter(({ position }) => position === null);
      await this.#starts.first(others, isOurs, (cursor, offset) => cursor.moveTo(offset));
    } catch (error) {
      if (isOurs()) this.#failedInTenure(asError(error));
    }
  }

  /** Moves each cursor to its partition's leader. */
  #placeAll(): void {
    const tenure = this.#tenure;
    if (tenure === null) return;
    const { leaders, sources } = this.#world;
    for (const cursor of tenure.cursors.values()) {
      // The broker that the cursor is at says so itself if the topic is gone.
      const errorCode = leaders.of(cursor.topic)?.errorCode ?? 0;
      if (errorCode === 0) sources.place(cursor, leaders.leaderOf(cursor.topic, cursor.partition));
      else if (cursor.source === null) return void this.#join();
    }
    const hasMore = [...tenure.partitions].some(
      ([topic, count]) => (leaders.of(topic)?.nodes.length ?? 0) > count,
    );
    if (tenure.isLeader && hasMore) void this.#join();
  }

  #fetched(cursor: Cursor, batch: FetchedBatch): void {
    const done = this.#events.fetched(batch);
    if (done === undefined) this.#giveBack(cursor, batch);
    else void done.then(() => this.#giveBack(cursor, batch));
  }

  #giveBack(cursor: Cursor, { last, end }: FetchedBatch): void {
    const { fetchSpacingMs } = this.#options;
    const isBehind = last !== null && last + 1 < end;
    if (fetchSpacingMs === 0 || last === null || isBehind) cursor.give();
    else setTimeout(() => cursor.give(), fetchSpacingMs);
  }

  /** The cursor is out until its partition can be read. Never rejects. */
  async #partitionFailed(cursor: Cursor, error: Error): Promise<void> {
    const tenure = this.#tenure;
    const isOurs = (): boolean => tenure !== null && this.#tenure === tenure;
    if (!isOurs()) return;
    const step = stepAfter(error);
    if (step === "fail") return this.#failedInTenure(error);
    try {
      if (step === "reset") return await this.#reset(cursor, isOurs);
      this.#world.leaders.refresh();
      await this.#wake.wait(AGAIN_MS);
      if (!isOurs()) return;
      if (step === "compare-topic" && (await this.#starts.isRecreated(cursor.topic)))
        return await this.#join();
    } catch (failure) {
      if (errorKind(failure) !== "outage" && isOurs())
        return this.#failedInTenure(asError(failure));
    }
    cursor.give();
  }

  async #reset(cursor: Cursor, isOurs: () => boolean): Promise<void> {
    const { topic, partition } = cursor;
    const out = await this.#starts.outOfRange(cursor);
    if (!isOurs()) return;
    this.#events.offsetsFetched([out]);
    await this.#starts.first([cursor], isOurs, (_, offset) => {
      cursor.moveTo(offset);
      cursor.give();
      // Otherwise the next owner would be out of range, too, and count it again.
      this.commit([{ topic, partition, offset, metadata: "" }]).catch(() => undefined);
    });
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
      if (errorTypes(error).has("UNKNOWN_MEMBER_ID")) this.#forgetAfterCommit();
      void this.#join();
      this.#world.groups.startAlarm();
    } else if (errorKind(error) === "fatal") this.#failedInTenure(error);
    // By now others may own the partitions.
    else if (Date.now() - this.heardAtMs >= this.#options.sessionTimeoutMs) void this.#join();
  }

  #forgetAfterCommit(): void {
    const { generationId } = this.#identity;
    this.#identity = { memberId: "", generationId };
  }

  #failedInTenure(error: Error): void {
    if (isRebalancing(error)) return void this.#join();
    this.#giveUp();
    this.#events.failed(error);
  }

  /** Nothing is fetched any more. */
  #giveUp(): void {
    const tenure = this.#tenure;
    this.#tenure = null;
    this.#world.groups.delete(this.#watched);
    for (const cursor of tenure?.cursors.values() ?? []) cursor.close();
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

interface Place {
  readonly topic: string;
  readonly partition: number;
}

function isAt(one: Place, other: Place): boolean {
  return one.partition === other.partition && one.topic === other.topic;
}
