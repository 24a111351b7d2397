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

import { hostAndPort } from "../../runtime/listening.ts";
import type { Signal } from "../../runtime/signal.ts";
import type { Brokers } from "../cluster/brokers.ts";
import { errorTypes, NO_COORDINATOR, protocolError } from "../cluster/kafka-error.ts";
import type { OffsetFetchResponse } from "../cluster/offsets.ts";
import type { DirectRequest } from "../kafkajs/broker-connection.ts";
import { DRIVER_OUTAGE } from "../kafkajs/error-names.ts";
import type { RequestName } from "../kafkajs/internals.ts";
import type { SharedBroker, SharedConnections } from "../kafkajs/shared-connections.ts";
import type { OffsetToCommit } from "../membership.ts";
import {
  encodeCommit,
  encodeHeartbeat,
  type GroupResponse,
  readCommitResponse,
  readHeartbeatResponse,
} from "../wire/group-requests.ts";
import { COMMIT, HEARTBEAT } from "../wire/request-kinds.ts";
import { commonVersion, type RequestKind } from "../wire/request-version.ts";
import { PROTOCOL, readSubscription, type Subscriber } from "./assignment.ts";

/** After a regular handover, brokers return the new coordinator within a second or two. */
const WAITS_MS = [0, 100, 300, 600, 1_000];
const UNREACHABLE: ReadonlySet<string> = new Set(DRIVER_OUTAGE);
const MEMBER_ID_REQUIRED = 79;
const CONSUMER = "consumer";

/** This process in its group, as of its latest join. */
export interface MemberIdentity {
  readonly memberId: string;
  readonly generationId: number;
}

export interface JoinOptions {
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

interface JoinResponse {
  readonly errorCode: number;
  readonly generationId: number;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly { readonly memberId: string; readonly memberMetadata: Buffer }[];
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
    const send = (as: string): Promise<JoinResponse> =>
      this.#request(broker, "JoinGroup", {
        memberId: as,
        sessionTimeout: times.sessionTimeoutMs,
        rebalanceTimeout: times.rebalanceTimeoutMs,
        protocolType: CONSUMER,
        groupProtocols: [{ name: PROTOCOL, metadata: subscription }],
      });
    let joined = await send(memberId);
    if (joined.errorCode === MEMBER_ID_REQUIRED) {
      onMemberId(joined.memberId);
      joined = await send(joined.memberId);
    }
    this.#assertDone(joined.errorCode);
    const members = joined.members.map(({ memberId: id, memberMetadata }) => {
      return { memberId: id, topics: readSubscription(memberMetadata) };
    });
    return { ...joined, members };
  }

  /** @param assignments from the leader; otherwise empty. @returns this member's assignment. */
  async sync(member: MemberIdentity, assignments: readonly object[]): Promise<Buffer> {
    const broker = this.#broker ?? (await this.find());
    const options = { ...member, groupAssignment: assignments };
    const response = await this.#request<{ errorCode: number; memberAssignment: Buffer }>(
      broker,
      "SyncGroup",
      options,
    );
    this.#assertDone(response.errorCode);
    return response.memberAssignment;
  }

  heartbeat(member: MemberIdentity): Promise<void> {
    const as = { groupId: this.#options.groupId, ...member };
    const encode = (roomBytes: number): Buffer => encodeHeartbeat(as, roomBytes);
    // Repeatable, because a broker that throttles reads requests late.
    return this.#exchange({
      ...sent(HEARTBEAT),
      isRepeatable: true,
      encode,
      read: readHeartbeatResponse,
    });
  }

  commit(member: MemberIdentity, offsets: readonly OffsetToCommit[]): Promise<void> {
    const as = { groupId: this.#options.groupId, ...member };
    const byTopic = Map.groupBy(offsets, ({ topic }) => topic);
    const topics = [...byTopic].map(([topic, partitions]) => ({ topic, partitions }));
    const encode = (roomBytes: number): Buffer => encodeCommit(as, topics, roomBytes);
    // Not repeatable, because the earlier of two commits could arrive after the later one.
    return this.#exchange({
      ...sent(COMMIT),
      isRepeatable: false,
      encode,
      read: readCommitResponse,
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
    return await this.#at(async (broker) => {
      const response = await this.#request<OffsetFetchResponse>(broker, "OffsetFetch", {
        topics: wanted,
      });
      this.#assertDone(response.errorCode ?? 0);
      return response.responses.flatMap(({ topic, partitions }) =>
        partitions.map(({ partition, offset, metadata, errorCode }) => {
          if (errorCode !== 0) throw protocolError(errorCode, topic);
          return { topic, partition, offset: Number(offset), metadata: metadata ?? "" };
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
    await broker.request("LeaveGroup", { groupId, memberId }, never).catch(() => undefined);
  }

  async #find(): Promise<SharedBroker> {
    const { brokers, connections, groupId } = this.#options;
    const address = await brokers.coordinatorOf(groupId);
    const broker = connections.broker(address);
    const { versions } = await broker.open();
    const name = hostAndPort(address.host, address.port);
    for (const kind of [HEARTBEAT, COMMIT]) commonVersion(kind, versions?.[kind.apiKey], name);
    this.#broker = broker;
    return broker;
  }

  #request<Response>(broker: SharedBroker, name: RequestName, options: object): Promise<Response> {
    const { groupId, signal } = this.#options;
    return broker.request<Response>(name, { groupId, ...options }, signal);
  }

  async #exchange(request: DirectRequest<GroupResponse>): Promise<void> {
    await this.#at(async (broker) => {
      this.#assertDone((await broker.sendDirect(request)).errorCode);
    });
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

/** The fields of a request that has only one version. */
function sent({ apiKey, apiName, versions }: RequestKind) {
  return { apiKey, apiName, apiVersion: Math.max(...versions) };
}

function isElsewhere(error: unknown): boolean {
  const types = errorTypes(error);
  if (NO_COORDINATOR.some((type) => types.has(type))) return true;
  return error instanceof Error && UNREACHABLE.has(error.name);
}
