/**
 * Hooks for two events that kafkajs does not expose:
 *
 *   before each join     finish and commit what is in flight, while the partitions are still ours
 *   offsets fetched      read the metadata of the group's commits, which kafkajs drops
 *
 * Both modules are changed in place: `ConsumerGroup.joinAndSync` and `OffsetManager.resolveOffsets`. A consumer is
 * recognized by its cluster object. kafkajs creates one such object for each consumer and passes it to the assigners in
 * that consumer's configuration, so the hooks are passed as an assigner.
 */

import type { Assigner, Cluster, ConsumerConfig, PartitionAssigner } from "kafkajs";
import type { FetchedOffset } from "../membership.ts";
import type { ConsumerGroup } from "./consumer-group.ts";
import type { Replacement } from "./load-kafkajs.ts";
import type { RawTarget } from "./raw-request.ts";
import { readTopicIds } from "./raw-request.ts";

export interface ConsumerGroupHooks {
  /**
   * Called before each join, including the first, and only once for concurrent joins. The join waits for the returned
   * promise. Handlers of other brokers' fetch loops may still be running. The promise should not reject, because a
   * rejection counts as a failed join.
   */
  readonly beforeJoin: (group: ConsumerGroup) => Promise<void>;
  /**
   * Called after each join with all assigned partitions, when the group's offsets have been read and before
   * the first fetch; called again for a partition whose offset was out of range. Returns the partitions to
   * read from their first offset. Must not throw.
   */
  readonly offsetsFetched: (fetched: readonly FetchedOffset[]) => readonly FetchedOffset[];
  /** Called when a join has failed. Resolves with `true` if there should be another attempt. */
  readonly joinsAgain: (error: unknown) => Promise<boolean>;
}

const NOT_COMMITTED = "-1";

const hooksOf = new WeakMap<object, ConsumerGroupHooks>();

/**
 * The part of a consumer's configuration that connects the hooks:
 * `kafka.consumer({ groupId, ...consumerGroupHooks(roundRobin, hooks) })`. Two consumers in the same
 * group have separate hooks. Without the replacements the hooks are never called.
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

interface OffsetManager {
  readonly cluster: Cluster;
  getCoordinator(): Promise<Coordinator>;
  resolveOffsets(): Promise<void>;
}

interface Coordinator extends RawTarget {
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
      const inFlight = joining.get(this);
      if (inFlight !== undefined) return inFlight;
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
      // The original method runs on an object that differs from `this` only in its coordinator.
      const getCoordinator = async (): Promise<Pick<Coordinator, "offsetFetch">> => {
        const coordinator = await this.getCoordinator();
        return {
          offsetFetch: async (request) => {
            const response = await coordinator.offsetFetch(request);
            const topics = response.responses.map(({ topic }) => topic);
            const ids = await readTopicIds(coordinator, topics);
            const restarted = hooks.offsetsFetched(fetchedOffsets(response, ids));
            return restarted.length === 0 ? response : withoutOffsets(response, restarted);
          },
        };
      };
      return resolve.call(Object.create(this, { getCoordinator: { value: getCoordinator } }));
    };
    return manager;
  },
};

/** The response as it would be if nothing had been committed for these partitions. */
function withoutOffsets(
  { responses }: OffsetFetchResponse,
  restarted: readonly FetchedOffset[],
): OffsetFetchResponse {
  const isRestarted = (topic: string, partition: number) =>
    restarted.some((one) => one.topic === topic && one.partition === partition);
  return {
    responses: responses.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map((each) =>
        isRestarted(topic, each.partition)
          ? { ...each, offset: NOT_COMMITTED, metadata: null }
          : each,
      ),
    })),
  };
}

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
