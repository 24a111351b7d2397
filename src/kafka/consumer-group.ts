/**
 * Lets whoever builds a consumer act at two points that kafkajs keeps to itself:
 *
 *   before each join     finish and commit what is under way, while the partitions are still ours
 *   offsets fetched      read the metadata of the group's commits, which kafkajs drops
 *
 * Both modules are changed in place: `ConsumerGroup.joinAndSync` and `OffsetManager.resolveOffsets`.
 * A consumer is recognised by its cluster object: kafkajs makes one for each consumer and shows it
 * to the assigners of that consumer's configuration, which is why the hooks travel as an assigner.
 */

import type { Assigner, Cluster, ConsumerConfig, KafkaMessage, PartitionAssigner } from "kafkajs";

import type { Replacement } from "./load-kafkajs.ts";
import { type RequestTarget, readTopicIds } from "./topic-id.ts";

export interface FetchedOffset {
  readonly topic: string;
  /** Tells a topic from an earlier one of the same name; null when the broker knows no ids. */
  readonly topicId: string | null;
  readonly partition: number;
  /** The committed offset, or -1 when there is none (-2 after an offset out of range). */
  readonly offset: number;
  /** As committed; empty when there is none. */
  readonly metadata: string;
}

export interface ConsumerGroupHooks {
  /**
   * Called before each join, the first one included, when kafkajs has decided to join; the join
   * waits for it. Handlers of other brokers' fetch loops may still run. Called once for joins
   * that are asked for at the same time. It should not reject: that counts as a failed join.
   */
  readonly beforeJoin: (group: ConsumerGroup) => Promise<void>;
  /**
   * Called after each join with all assigned partitions, when the group's offsets have been read
   * and before the first fetch; called again for a partition whose offset was out of range.
   * Must not throw.
   */
  readonly offsetsFetched: (fetched: readonly FetchedOffset[]) => void;
  /** Called when joining has failed; resolves with whether to try once more. */
  readonly joinsAgain: (error: unknown) => Promise<boolean>;
}

const hooksOf = new WeakMap<object, ConsumerGroupHooks>();

/**
 * The part of a consumer's configuration that connects the hooks:
 * `kafka.consumer({ groupId, ...consumerGroupHooks(roundRobin, hooks) })`. Two consumers of the
 * same group have hooks of their own. Without the replacements the hooks are never called.
 */
export function consumerGroupHooks(
  assigner: PartitionAssigner,
  hooks: ConsumerGroupHooks,
): Required<Pick<ConsumerConfig, "partitionAssigners">> {
  const hooked = (config: Parameters<PartitionAssigner>[0]): Assigner => {
    hooksOf.set(config.cluster, hooks);
    return assigner(config);
  };
  return { partitionAssigners: [hooked] };
}

interface TopicPartitions {
  readonly topic: string;
  readonly partitions: number[];
}

/** What kafkajs keeps about its membership of a group; a new one for each `run`. */
export interface ConsumerGroup {
  readonly cluster: Cluster;
  /** Read anew for each fetch. */
  maxWaitTime: number;
  /** Likewise. */
  maxBytesPerPartition: number;
  /** When the last heartbeat was answered, in epoch milliseconds. */
  lastRequest: number;
  /** A new one for each join. */
  readonly offsetManager: {
    /** Where the next fetch of the partition begins: a `Long`. */
    nextOffset(topic: string, partition: number): { toString(): string };
  };
  joinAndSync(): Promise<void>;
  /** Batches of the node's partitions, an empty one for each without records. */
  fetch(nodeId: string): Promise<FetchedBatch[]>;
  /** Sends one when the last one was `interval` milliseconds ago or more. */
  heartbeat(request: { readonly interval: number }): Promise<void>;
  /** The next fetch of the partition begins after `offset`. */
  resolveOffset(at: {
    readonly topic: string;
    readonly partition: number;
    readonly offset: string;
  }): void;
  /** One attempt, as the member of the latest join. */
  commitOffsets(request: { readonly topics: readonly OffsetsOfTopic[] }): Promise<void>;
  pause(topicPartitions: readonly TopicPartitions[]): void;
  resume(topicPartitions: readonly TopicPartitions[]): void;
  paused(): TopicPartitions[];
}

export interface OffsetsOfTopic {
  readonly topic: string;
  readonly partitions: readonly {
    readonly partition: number;
    readonly offset: string;
    readonly metadata: string;
  }[];
}

/** kafkajs' `Batch`: what one fetch returned of one partition. */
export interface FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly fetchedOffset: string;
  readonly highWatermark: string;
  /** Without control records, aborted transactions and records before the fetched offset. */
  readonly messages: readonly KafkaMessage[];
  /** With all of them. */
  readonly rawMessages: readonly unknown[];
  lastOffset(): string;
}

interface OffsetManager {
  readonly cluster: Cluster;
  getCoordinator(): Promise<Coordinator>;
  resolveOffsets(): Promise<void>;
}

interface Coordinator extends RequestTarget {
  offsetFetch(request: unknown): Promise<OffsetFetchResponse>;
}

interface OffsetFetchResponse {
  readonly responses: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly offset: string;
      readonly metadata: string | null;
    }[];
  }[];
}

export const joinHook: Replacement = {
  name: "join-hook",
  module: "src/consumer/consumerGroup.js",
  replace: (load) => {
    const group = load("src/consumer/consumerGroup.js") as { prototype: ConsumerGroup };
    const join = group.prototype.joinAndSync;
    const joining = new WeakMap<ConsumerGroup, Promise<void>>();
    group.prototype.joinAndSync = function joinAndSync(this: ConsumerGroup) {
      const underWay = joining.get(this);
      if (underWay !== undefined) return underWay;
      const joined = (async () => {
        try {
          const hooks = hooksOf.get(this.cluster);
          for (let isIn = false; !isIn; ) {
            await hooks?.beforeJoin(this);
            try {
              await join.call(this);
              isIn = true;
            } catch (error) {
              if (hooks === undefined || !(await hooks.joinsAgain(error))) throw error;
            }
          }
        } finally {
          joining.delete(this);
        }
      })();
      joining.set(this, joined);
      return joined;
    };
    return group;
  },
};

export const commitMetadataHook: Replacement = {
  name: "commit-metadata",
  module: "src/consumer/offsetManager/index.js",
  replace: (load) => {
    const manager = load("src/consumer/offsetManager/index.js") as { prototype: OffsetManager };
    const resolve = manager.prototype.resolveOffsets;
    manager.prototype.resolveOffsets = function resolveOffsets(this: OffsetManager) {
      const hooks = hooksOf.get(this.cluster);
      if (hooks === undefined) return resolve.call(this);
      // The original runs on an object that differs from `this` in the coordinator alone.
      const getCoordinator = async (): Promise<Pick<Coordinator, "offsetFetch">> => {
        const coordinator = await this.getCoordinator();
        return {
          offsetFetch: async (request) => {
            const response = await coordinator.offsetFetch(request);
            const topics = response.responses.map(({ topic }) => topic);
            const ids = await readTopicIds(coordinator, topics);
            hooks.offsetsFetched(fetchedOffsets(response, ids));
            return response;
          },
        };
      };
      return resolve.call(Object.create(this, { getCoordinator: { value: getCoordinator } }));
    };
    return manager;
  },
};

function fetchedOffsets(
  { responses }: OffsetFetchResponse,
  topicIds: ReadonlyMap<string, string>,
): FetchedOffset[] {
  return responses.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset, metadata }) => ({
      topic,
      topicId: topicIds.get(topic) ?? null,
      partition,
      offset: Number(offset),
      metadata: metadata ?? "",
    })),
  );
}
