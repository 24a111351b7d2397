/**
 * Sends a member's requests to its group's coordinator, which is the leader of a partition of `__consumer_offsets`. It
 * therefore changes when a broker restarts or another leader is elected.
 *
 *   the broker                             then
 *   responds                               done
 *   is not the coordinator any more, is    the coordinator is looked up, and gets the request
 *   unreachable, or is loading the group
 *   accepts no version of the request      the member fails, with an error that names the request
 *
 * Members keep their partitions when their coordinator moves. Otherwise all members of the group would lose
 * their partitions, and everything that was processed but not committed yet would be repeated.
 */

import { hostAndPort } from "../../base/runtime/listening.ts";
import type { Signal } from "../../base/runtime/signal.ts";
import { OUTAGE_ERRORS } from "../broker/errors.ts";
import type { Request } from "../broker/request.ts";
import { commonVersion } from "../broker/request-version.ts";
import * as requests from "../broker/requests.ts";
import type { SharedBroker, SharedConnections } from "../broker/shared-connections.ts";
import type { Brokers } from "../cluster/brokers.ts";
import { offsetsRequest, onlyGroup } from "../cluster/groups-offsets.ts";
import { errorTypes, NO_COORDINATOR, protocolError } from "../cluster/kafka-error.ts";
import type { OffsetToCommit } from "../membership.ts";
import {
  type MemberAssignment,
  PROTOCOL,
  readSubscription,
  type Subscriber,
} from "./assignment.ts";

/** After a regular handover, brokers return the new coordinator within a second or two. */
const WAITS_MS = [0, 100, 300, 600, 1_000];
const UNREACHABLE: ReadonlySet<string> = new Set(OUTAGE_ERRORS);
const MEMBER_ID_REQUIRED = 79;
const CONSUMER = "consumer";
/** Members have no instance ID. */
const NOT_STATIC = null;
/** The time beyond the rebalance timeout, within which the members join. */
const RESPONSE_LIMIT_MS = 5_000;

/** This process in its group, as of its latest join. */
export interface MemberIdentity {
  readonly memberId: string;
  readonly generationId: number;
}

interface JoinOptions {
  /** Empty if this process is not in the group. */
  readonly memberId: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly subscription: Buffer;
  /** Called with the ID that the coordinator gives to a new member, before that member joins. */
  readonly onMemberId: (memberId: string) => void;
}

export interface Joined extends MemberIdentity {
  readonly leaderId: string;
  /** Only for the leader; otherwise empty. */
  readonly members: readonly Subscriber[];
}

interface CoordinatorOptions {
  readonly groupId: string;
  readonly brokers: Pick<Brokers, "coordinatorOf">;
  readonly connections: Pick<SharedConnections, "broker">;
  /** Aborted when the member is stopped, which ends joins in progress. */
  readonly signal: AbortSignal;
  /** Fired when waits must not last any longer. */
  readonly wake: Signal;
}

export class Coordinator {
  readonly #options: CoordinatorOptions;
  #broker: SharedBroker | null = null;
  /** The lookup in progress. */
  #finding: Promise<SharedBroker> | null = null;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
  }

  /** Queries a broker, because the coordinator may have moved since the last join. */
  find(): Promise<SharedBroker> {
    this.#finding ??= this.#find().finally(() => {
      this.#finding = null;
    });
    return this.#finding;
  }

  /** Makes one attempt, which may last as long as the group waits for its members. Call `find` before. */
  async join({ memberId, subscription, onMemberId, ...times }: JoinOptions): Promise<Joined> {
    const broker = this.#broker ?? (await this.find());
    const { groupId, signal } = this.#options;
    const { sessionTimeoutMs, rebalanceTimeoutMs } = times;
    const protocols = [{ name: PROTOCOL, metadata: subscription }];
    const limitMs = rebalanceTimeoutMs + RESPONSE_LIMIT_MS;
    const send = (as: string) => {
      const request = requests.joinGroup(
        groupId,
        sessionTimeoutMs,
        rebalanceTimeoutMs,
        as,
        NOT_STATIC,
        CONSUMER,
        protocols,
      );
      return broker.request({ ...request, limitMs }, signal);
    };
    let joined = await send(memberId);
    if (joined.errorCode === MEMBER_ID_REQUIRED) {
      onMemberId(joined.memberId);
      joined = await send(joined.memberId);
    }
    this.#assertDone(joined.errorCode);
    const members = joined.members.map(({ memberId: id, metadata }) => {
      return { memberId: id, topics: readSubscription(metadata) };
    });
    const { generationId, leader: leaderId } = joined;
    return { memberId: joined.memberId, generationId, leaderId, members };
  }

  /** @param assignments from the leader; otherwise empty. @returns this member's assignment. */
  async sync(
    { memberId, generationId }: MemberIdentity,
    assignments: readonly MemberAssignment[],
  ): Promise<Buffer> {
    const broker = this.#broker ?? (await this.find());
    const { groupId, signal } = this.#options;
    const request = requests.syncGroup(
      groupId,
      generationId,
      memberId,
      NOT_STATIC,
      CONSUMER,
      PROTOCOL,
      [...assignments],
    );
    const response = await broker.request(request, signal);
    this.#assertDone(response.errorCode);
    return response.assignment;
  }

  async heartbeat({ memberId, generationId }: MemberIdentity): Promise<void> {
    const request = requests.heartbeat(this.#options.groupId, generationId, memberId);
    await this.#at(async (broker) => {
      this.#assertDone((await this.#request(broker, request)).errorCode);
    });
  }

  async commit(
    { memberId, generationId }: MemberIdentity,
    offsets: readonly OffsetToCommit[],
  ): Promise<void> {
    const { groupId } = this.#options;
    const topics = [...Map.groupBy(offsets, ({ topic }) => topic)].map(([name, ofTopic]) => ({
      name,
      partitions: ofTopic.map(({ partition, offset, metadata }) => ({
        partitionIndex: partition,
        committedOffset: BigInt(offset),
        committedLeaderEpoch: requests.NO_EPOCH,
        committedMetadata: metadata,
      })),
    }));
    const request = requests.offsetCommit(groupId, generationId, memberId, NOT_STATIC, topics);
    await this.#at(async (broker) => {
      const response = await this.#request(broker, request);
      const codes = response.topics.flatMap(({ partitions }) => partitions);
      this.#assertDone(codes.find(({ errorCode }) => errorCode !== 0)?.errorCode ?? 0);
    });
  }

  /** Returns the group's committed offsets; -1 for a partition without a commit. */
  async offsets(
    topics: readonly { readonly topic: string; readonly partitions: readonly number[] }[],
  ): Promise<readonly OffsetToCommit[]> {
    const wanted = topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map((partition) => ({ partition })),
    }));
    const request = offsetsRequest([this.#options.groupId, wanted]);
    return await this.#at(async (broker) => {
      const { errorCode: ofGroup, topics: committed } = onlyGroup(
        await this.#request(broker, request),
      );
      this.#assertDone(ofGroup);
      return committed.flatMap(({ name: topic, partitions }) =>
        partitions.map(({ partitionIndex, committedOffset, metadata, errorCode }) => {
          if (errorCode !== 0) throw protocolError(errorCode, topic);
          const offset = Number(committedOffset);
          return { topic, partition: partitionIndex, offset, metadata: metadata ?? "" };
        }),
      );
    });
  }

  /** Makes one attempt. Never rejects. */
  async leave(memberId: string): Promise<void> {
    const broker = this.#broker;
    if (broker === null || memberId === "") return;
    const { groupId } = this.#options;
    const never = new AbortController().signal;
    // If this request is lost, the group waits until this member's session expires.
    await broker
      .request(requests.leaveGroup(groupId, [{ memberId }]), never)
      .catch(() => undefined);
  }

  async #find(): Promise<SharedBroker> {
    const { brokers, connections, groupId } = this.#options;
    const address = await brokers.coordinatorOf(groupId);
    const broker = connections.broker(address);
    const { versions } = await broker.open();
    const name = hostAndPort(address.host, address.port);
    for (const kind of requests.OF_MEMBERS) commonVersion(kind, versions[kind.apiKey], name);
    this.#broker = broker;
    return broker;
  }

  #request<Response>(broker: SharedBroker, request: Request<Response>): Promise<Response> {
    return broker.request(request, this.#options.signal);
  }

  /** @param send may be called several times, so its request must be idempotent. */
  async #at<Result>(send: (broker: SharedBroker) => Promise<Result>): Promise<Result> {
    let broker = this.#broker ?? (await this.find());
    for (const waitMs of WAITS_MS) {
      try {
        return await send(broker);
      } catch (error) {
        if (!isElsewhere(error) || this.#options.signal.aborted) throw error;
      }
      if (waitMs > 0) await this.#options.wake.wait(waitMs);
      broker = await this.find();
    }
    return await send(broker);
  }

  #assertDone(errorCode: number): void {
    if (errorCode !== 0) throw protocolError(errorCode, this.#options.groupId);
  }
}

function isElsewhere(error: unknown): boolean {
  const types = errorTypes(error);
  if (NO_COORDINATOR.some((type) => types.has(type))) return true;
  return error instanceof Error && UNREACHABLE.has(error.name);
}
