/**
 * The surroundings of a group member with one partition: a coordinator, a table of leaders, and a broker that responds
 * to a fetch when the test calls for it.
 */

import { AssignerProtocol } from "kafkajs";
import type { Request } from "../../../src/kafka/broker/request.ts";
import type { SharedConnections } from "../../../src/kafka/broker/shared-connections.ts";
import type { LeaderTable } from "../../../src/kafka/cluster/leader-table.ts";
import type { Cursor } from "../../../src/kafka/fetch/cursor.ts";
import type { FetchSources } from "../../../src/kafka/fetch/sources.ts";
import { encodeSubscription } from "../../../src/kafka/group/assignment.ts";
import { GroupWatch } from "../../../src/kafka/group/group-watch.ts";
import type { GroupWorld as World } from "../../../src/kafka/group/member.ts";
import { fetchedBatch } from "./fetched-batch.ts";

export const TOPIC = "t";
const PARTITION = 0;
const CLIENT_ID = "switchyard";
const ADDRESS = { host: "a", port: 9092 };

/** The arguments of OffsetCommit. */
interface CommittedTopic {
  readonly partitions: readonly { readonly committedOffset: bigint }[];
}

/** The group's coordinator, which records the requests that it receives. */
class Coordinator {
  readonly commits: number[] = [];
  /** The names of the requests other than heartbeats and commits, in order. */
  readonly requests: string[] = [];
  heartbeats = 0;
  /** The member IDs with which this process has joined. */
  readonly joinedAs: string[] = [];
  isLeader = false;
  /** Of another process in the group, which this member sees if it leads the group. */
  otherSubscription: Buffer = encodeSubscription([]);
  /** `true` if the broker assigns the partitions, because another member has the consumer protocol. */
  hasNoLeader = false;
  partitions: readonly number[] = [PARTITION];
  /** Called before the response. */
  onJoin: () => void | Promise<void> = () => undefined;
  onSync: () => void | Promise<void> = () => undefined;
  onHeartbeat: () => void | Promise<void> = () => undefined;
  onCommit: () => Promise<void> = async () => undefined;

  async request({ kind, args }: Request<unknown>): Promise<object> {
    const name = kind.apiName;
    if (name === "OffsetCommit") return await this.#commit(args[4] as readonly CommittedTopic[]);
    if (name === "Heartbeat") {
      this.heartbeats += 1;
      await this.onHeartbeat();
      return { errorCode: 0 };
    }
    this.requests.push(name);
    if (name === "JoinGroup") return await this.#join(`${args[3]}`);
    if (name === "SyncGroup") return await this.#sync();
    const committedOffset = BigInt(this.commits.at(-1) ?? 0);
    const partitions = this.partitions.map((partitionIndex) => {
      return { partitionIndex, committedOffset, metadata: "", errorCode: 0 };
    });
    return { groups: [{ errorCode: 0, topics: [{ name: TOPIC, partitions }] }] };
  }

  async open(): Promise<object> {
    const any = { minVersion: 0, maxVersion: 99 };
    return { versions: { 8: any, 12: any } };
  }

  async #commit(topics: readonly CommittedTopic[]): Promise<object> {
    await this.onCommit();
    this.commits.push(Number(topics[0]?.partitions[0]?.committedOffset));
    return { topics: [] };
  }

  async #join(memberId: string): Promise<object> {
    this.joinedAs.push(memberId);
    await this.onJoin();
    const uuid = "0b0f2c1e-6f0d-4b43-9d0b-3a0d7c0f6a51";
    const own = `${CLIENT_ID}-${uuid}`;
    if (memberId === "") return { errorCode: 79, memberId: own, members: [] };
    const leader = this.hasNoLeader ? "" : this.isLeader ? own : `another-${uuid}`;
    const metadata = encodeSubscription([TOPIC]);
    const other = { memberId: `${own.slice(0, -1)}2`, metadata: this.otherSubscription };
    const members = this.isLeader ? [{ memberId: own, metadata }, other] : [];
    return { errorCode: 0, generationId: 1, leader, memberId, members };
  }

  async #sync(): Promise<object> {
    await this.onSync();
    const userData = Buffer.alloc(0);
    const assignment = { [TOPIC]: [...this.partitions] };
    const options = { version: 0, assignment, userData };
    return { errorCode: 0, assignment: AssignerProtocol.MemberAssignment.encode(options) };
  }
}

export class GroupWorld {
  readonly coordinator = new Coordinator();
  /** The topic's error code in the table of leaders. */
  topicError = 0;
  partitionCount = 1;
  /** The leaders of any other topic's partitions. */
  otherNodes: readonly number[] = [];
  topicId = "an-id";
  /** How often leaders were looked up because they may have moved. */
  refreshes = 0;
  coordinatorLookups = 0;
  /** Called before each lookup of the coordinator is answered. */
  onLookup: () => void = () => undefined;
  readonly cursors = new Set<Cursor>();
  #found: () => void = () => undefined;

  readonly world: World = {
    clientId: CLIENT_ID,
    groups: new GroupWatch(() => 5_000),
    connections: { broker: () => this.coordinator } as unknown as SharedConnections,
    sources: { place: (cursor: Cursor) => this.#place(cursor) } as unknown as FetchSources,
    leaders: {
      brokers: {
        coordinatorOf: async () => {
          this.coordinatorLookups += 1;
          this.onLookup();
          return { nodeId: 1, ...ADDRESS };
        },
      },
      topicIds: async () => new Map([[TOPIC, this.topicId]]),
      add: ({ found }: { readonly found: () => void }) => {
        this.#found = found;
      },
      delete: () => undefined,
      addressChanges: 0,
      of: (topic: string) =>
        topic === TOPIC
          ? { errorCode: this.topicError, nodes: Array(this.partitionCount).fill(1) }
          : { errorCode: this.otherNodes.length === 0 ? 3 : 0, nodes: this.otherNodes },
      leaderOf: () => ADDRESS,
      load: async () => undefined,
      refresh: () => {
        this.refreshes += 1;
      },
    } as unknown as LeaderTable,
  };

  /** Notifies the member that a lookup of leaders has ended. */
  found(): void {
    this.#found();
  }

  /** Starts a fetch of the partition. Returns functions that respond to it. */
  fetch() {
    const [cursor] = [...this.cursors].slice(-1);
    if (cursor === undefined) throw new Error("nothing is fetched");
    const from = cursor.position;
    if (from === null) throw new Error("nothing is fetched yet");
    const { turn } = cursor;
    const isInTime = (): boolean => cursor.turn === turn;
    return {
      responded: (offsets: readonly number[], end = 1_000): void => {
        if (!isInTime()) return;
        cursor.take();
        const last = offsets.at(-1) ?? null;
        cursor.owner.fetched(cursor, fetchedBatch(offsets, { from, end, last }));
      },
      failed: (error: Error): void => {
        if (!isInTime()) return;
        cursor.take();
        cursor.owner.failed(cursor, error);
      },
    };
  }

  #place(cursor: Cursor): void {
    this.cursors.add(cursor);
    if (cursor.source !== null) return;
    const nothing = (): void => undefined;
    cursor.setSource({
      want: nothing,
      drop: nothing,
      respondedAtMs: () => null,
      detach: () => this.cursors.delete(cursor),
    });
  }
}
