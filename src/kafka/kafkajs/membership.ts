/**
 * A member of a consumer group, implemented with kafkajs.
 *
 * Records are taken where kafkajs fetches: our wrapper around `ConsumerGroup.fetch` takes the batches and
 * returns none to kafkajs, so that no records are in kafkajs' queues at a rebalance. kafkajs' batch handlers
 * do nothing.
 */

import type { Assigner, Consumer as KafkajsConsumer, PartitionAssigner } from "kafkajs";
import type {
  GroupEvents,
  IsWanted,
  Member,
  Membership,
  MembershipOptions,
  OffsetToCommit,
  TakeBatches,
  TopicLeaders,
  TopicWatch,
  WatchingTopics,
} from "../membership.ts";
import type { DriverClient } from "./client.ts";
import type { ConsumerGroup } from "./consumer-group.ts";
import { atCoordinator } from "./coordinator.ts";
import type { FetchPolicy } from "./fetch-decoder.ts";
import { addPolicy, batchOf } from "./group-fetches.ts";
import { consumerGroupHooks } from "./group-hooks.ts";
import { commit, heartbeatOf } from "./group-requests.ts";
import { AssignerProtocol, PartitionAssigners } from "./kafkajs.ts";
import { isStale, MemberFetches, readsFrom } from "./member-fetches.ts";

/** The topic watch normally reports changes of metadata earlier than this. */
const METADATA_AGE_MAX_MS = 600_000;

interface MembershipClient extends Pick<DriverClient, "kafka"> {
  destroy(): void;
  /** Set for a client on shared connections. */
  readonly fetches?: {
    /** Ends the fetches in flight without records. */
    end(): void;
    respondedAtMs(): number | null;
  };
}

export class KafkajsMembership implements Membership {
  readonly #client: MembershipClient;
  readonly #consumer: KafkajsConsumer;
  readonly #topics: readonly string[];
  readonly #events: GroupEvents;
  readonly #policyOf: (topic: string) => FetchPolicy;
  readonly #pollMs: number;
  readonly #topicWatch: TopicWatch;
  readonly #watching: WatchingTopics;
  #fetches: MemberFetches | null = null;
  #group: ConsumerGroup | null = null;
  #member: Member | null = null;

  constructor(
    client: MembershipClient,
    options: MembershipOptions & { readonly clientId: string },
    events: GroupEvents,
    topicWatch: TopicWatch,
  ) {
    this.#client = client;
    this.#topics = options.topics;
    this.#events = events;
    this.#pollMs = options.pollMs;
    this.#topicWatch = topicWatch;
    this.#watching = { topics: options.topics, found: (leaders) => this.#found(leaders) };
    const { skipsCorrupt } = options;
    this.#policyOf = (topic) => ({ recordMaxBytes: options.recordMaxBytes(topic), skipsCorrupt });
    const assigner = ownMembersOnly(
      PartitionAssigners.roundRobin,
      options.clientId,
      events.foreignMembers,
    );
    this.#consumer = client.kafka.consumer({
      groupId: options.groupId,
      sessionTimeout: options.sessionTimeoutMs,
      rebalanceTimeout: options.rebalanceTimeoutMs,
      heartbeatInterval: options.idleHeartbeatMs,
      maxWaitTimeInMs: options.pollMs,
      maxBytes: options.fetchMaxBytes,
      maxBytesPerPartition: options.fetchMaxBytes,
      metadataMaxAge: METADATA_AGE_MAX_MS,
      allowAutoTopicCreation: false,
      // Every crash ends this member. kafkajs would restart with connections in an inconsistent state.
      retry: { restartOnFailure: async () => false },
      ...consumerGroupHooks(assigner, {
        beforeJoin: (group) => events.beforeJoin(this.#memberOf(group)),
        offsetsFetched: events.offsetsFetched,
        joinsAgain: events.joinsAgain,
      }),
    });
    const { GROUP_JOIN, CRASH } = this.#consumer.events;
    this.#consumer.on(GROUP_JOIN, ({ payload }) => {
      const leader = clientIdOf(payload.leaderId);
      if (!payload.isLeader) events.foreignMembers(leader === options.clientId ? [] : [leader]);
      events.assigned(payload.memberAssignment);
    });
    this.#consumer.on(CRASH, ({ payload }) => events.failed(payload.error));
  }

  connect(): Promise<void> {
    return this.#consumer.connect();
  }

  subscribe(): Promise<void> {
    return this.#consumer.subscribe({ topics: [...this.#topics], fromBeginning: true });
  }

  run(): Promise<void> {
    return this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async () => undefined,
    });
  }

  endFetches(): void {
    this.#fetches?.end();
  }

  fetchRespondedAtMs(): number | null {
    return this.#client.fetches?.respondedAtMs() ?? null;
  }

  stop(): Promise<void> {
    this.#topicWatch.delete(this.#watching);
    // Without this, kafkajs would join again if a heartbeat reported a rebalance now.
    if (this.#group !== null) this.#group.heartbeat = async () => undefined;
    return this.#consumer.stop();
  }

  disconnect(): Promise<void> {
    return this.#consumer.disconnect();
  }

  destroy(): void {
    this.#topicWatch.delete(this.#watching);
    this.#client.destroy();
  }

  /** If leaders have changed, makes the next fetch refresh the metadata, as kafkajs does when its metadata is old. */
  #found(leaders: TopicLeaders): void {
    const group = this.#group;
    const pool = group?.cluster.brokerPool;
    if (group === null || pool === undefined) return;
    const isOld = this.#topics.some((topic) => {
      const found = leaders.get(topic);
      return found !== undefined && isStale(group, topic, found);
    });
    if (!isOld) return;
    pool.metadataExpireAt = null;
    this.endFetches();
  }

  /** The member for a group object. kafkajs creates a new group object for each `run`. */
  #memberOf(group: ConsumerGroup): Member {
    if (this.#member !== null && this.#group === group) return this.#member;
    const endShared = (): void => this.#client.fetches?.end();
    const fetches = new MemberFetches(group, this.#pollMs, endShared);
    const member = new KafkajsMember(group, () => fetches.markResumed());
    this.#group = group;
    this.#fetches = fetches;
    this.#member = member;
    this.#topicWatch.add(this.#watching);
    const takes = new Map<string, TakeBatches>();
    addPolicy(group, this.#policyOf, takes, fetches);
    watch(group, member, this.#events, fetches, takes);
    return member;
  }
}

/**
 * Passes the group's fetches and heartbeats through `GroupEvents`.
 *
 * @param takes for each node, the callback for batches that arrive while a fetch continues.
 */
export function watch(
  group: ConsumerGroup,
  member: Member,
  events: Pick<GroupEvents, "fetch" | "heartbeat">,
  fetches: MemberFetches,
  takes: Map<string, TakeBatches> = new Map(),
): void {
  const { fetch } = group;
  group.fetch = async (nodeId) => {
    await events.fetch(member, nodeId, async (only, take) => {
      if (only === null && take !== undefined) takes.set(nodeId, take);
      else takes.delete(nodeId);
      return (await fetches.fetch(nodeId, fetch, only)).map(batchOf);
    });
    return [];
  };
  const heartbeat = heartbeatOf(group);
  group.heartbeat = (request) =>
    events.heartbeat(member, () => atCoordinator(group, () => heartbeat(request)));
}

export class KafkajsMember implements Member {
  readonly #group: ConsumerGroup;
  readonly #onResumed: () => void;

  constructor(group: ConsumerGroup, onResumed: () => void = () => undefined) {
    this.#group = group;
    this.#onResumed = onResumed;
  }

  get pollMs(): number {
    return this.#group.maxWaitTime;
  }

  set pollMs(pollMs: number) {
    this.#group.maxWaitTime = pollMs;
  }

  get partitionMaxBytes(): number {
    return this.#group.maxBytesPerPartition;
  }

  set partitionMaxBytes(bytes: number) {
    this.#group.maxBytesPerPartition = bytes;
  }

  get heardAtMs(): number {
    return this.#group.lastRequest;
  }

  set heardAtMs(atMs: number) {
    this.#group.lastRequest = atMs;
  }

  heartbeat(agoMs: number): Promise<void> {
    return this.#group.heartbeat({ interval: agoMs });
  }

  readsFrom(nodeId: string, isWanted: IsWanted): boolean {
    return readsFrom(this.#group, nodeId, isWanted);
  }

  /** The position, which kafkajs itself moves when it resets an offset. */
  positionOf(topic: string, partition: number): number {
    const { offsetManager } = this.#group;
    // In the usual case, no `Long` is created.
    const resolved = Number(offsetManager.resolvedOffsets[topic]?.[partition]);
    if (resolved >= 0) return resolved;
    return Number(offsetManager.nextOffset(topic, partition).toString());
  }

  advance(topic: string, partition: number, offset: number): void {
    const ofTopic = this.#group.offsetManager.resolvedOffsets[topic];
    if (ofTopic !== undefined) ofTopic[partition] = `${offset + 1}`;
  }

  commit(offsets: readonly OffsetToCommit[]): Promise<void> {
    return atCoordinator(this.#group, () => commit(this.#group, offsets));
  }

  pause(topic: string, partition: number): void {
    this.#group.pause([{ topic, partitions: [partition] }]);
  }

  resume(topic: string, partition: number): void {
    this.#group.resume([{ topic, partitions: [partition] }]);
    this.#onResumed();
  }

  /** Needed because kafkajs keeps pauses across rebalances, even for partitions that were lost and regained. */
  resumeAll(): void {
    this.#group.resume(this.#group.paused());
  }
}

const UUID_LENGTH = 36;

/** The coordinator builds a member ID from the client ID, a hyphen and a UUID. */
export function clientIdOf(memberId: string): string {
  return memberId.slice(0, -(UUID_LENGTH + 1));
}

/**
 * Assigns partitions only to Switchyard's processes. Otherwise another program that joins one of Switchyard's groups
 * could read and commit calls, and these calls would never be delivered.
 *
 *   the leader of the group is      a member that is another program     reported to
 *   a Switchyard process            gets no partitions                   the leader
 *   another program                 gets what that program assigns       all processes, only about the leader
 *
 * @param report the leader calls this at each rebalance, with the client IDs of other programs.
 */
export function ownMembersOnly(
  assigner: PartitionAssigner,
  ownClientId: string,
  report: (clientIds: readonly string[]) => void,
): PartitionAssigner {
  return (config): Assigner => {
    const own = assigner(config);
    // Clients in other languages cannot read an assignment of zero bytes.
    const nothing = AssignerProtocol.MemberAssignment.encode({
      version: own.version,
      assignment: {},
      userData: Buffer.alloc(0),
    });
    const assign: Assigner["assign"] = async ({ members, topics }) => {
      const isOwn = ({ memberId }: { readonly memberId: string }) =>
        clientIdOf(memberId) === ownClientId;
      const others = members.filter((member) => !isOwn(member));
      report(others.map(({ memberId }) => clientIdOf(memberId)));
      const assigned = await own.assign({ members: members.filter(isOwn), topics });
      const none = others.map(({ memberId }) => ({
        memberId,
        memberAssignment: nothing,
      }));
      return [...assigned, ...none];
    };
    return { ...own, assign };
  };
}
