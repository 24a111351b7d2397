/**
 * How long the fetches of a member last, and what ends them. kafkajs looks at leaders, partitions and
 * the assignment when a fetch begins, and at nothing while it goes on. So a fetch that was asked with
 * what has changed since would leave out a partition for as long as it lasts.
 *
 *   a fetch                                        lasts
 *   in the shared session                          until there are records, at most 5 to 15 minutes,
 *                                                  which differ: those of a start would end together
 *   the same, while a partition is paused          as long as the member polls: 250 ms
 *   by a connection of its own (an old broker)     as long as the member polls
 *   of a broker that leads nothing of it           as the first two. It asks for nothing
 *
 *   the group                                      then fetches
 *   refreshed its metadata, and leaders,           end, those too that have begun and not yet asked
 *   partitions or brokers are others
 *   has an assignment                              the same
 *   drops a broker                                 the same
 *   resumes a partition                            that have begun and not yet asked end: the others
 *                                                  last no longer than 250 ms
 */

import { Signal } from "../../runtime/signal.ts";
import type { FetchOnly, IsWanted } from "../membership.ts";
import type { ConsumerGroup, KafkajsBatch, TopicMetadata } from "./consumer-group.ts";

/** Nothing is known that only this finds: it is a net. */
const FETCH_MIN_MS = 300_000;
/** Node keeps a list for each length of a timer, so there are 61 of them. */
const FETCH_STEP_MS = 10_000;
const FETCH_STEPS = 60;

export class MemberFetches {
  readonly #group: ConsumerGroup;
  readonly #pollMs: number;
  readonly #endShared: () => void;
  /** Fires when fetches that ask for nothing are to end. */
  readonly #ends = new Signal();
  /** Changes with whatever a fetch that begins looks at. */
  #changes = 0;
  /** By node: what it was when the fetch began. */
  readonly #started = new Map<string, number>();

  /**
   * From now on a change of the group's metadata ends fetches.
   *
   * @param pollMs the member's longest poll.
   * @param endShared ends those in the shared sessions.
   */
  constructor(group: ConsumerGroup, pollMs: number, endShared: () => void) {
    this.#group = group;
    this.#pollMs = pollMs;
    this.#endShared = endShared;
    group.endFetches = () => this.end();
    const pool = group.cluster.brokerPool;
    if (pool === undefined) return;
    const { refreshMetadata, removeBroker } = pool;
    let known = stateOf(group);
    const look = (): void => {
      const now = stateOf(group);
      if (now !== known) this.end();
      known = now;
    };
    pool.refreshMetadata = async (topics) => {
      await refreshMetadata.call(pool, topics);
      look();
    };
    pool.removeBroker = (address) => {
      removeBroker.call(pool, address);
      look();
    };
  }

  /** All fetches end with nothing, and begin again. */
  end(): void {
    this.#changes += 1;
    this.#endShared();
    this.#ends.fire();
  }

  /** A fetch that is about to ask may lack a partition. */
  markResumed(): void {
    this.#changes += 1;
  }

  /** @param fetch the group's own. */
  async fetch(nodeId: string, fetch: GroupFetch, only: FetchOnly | null): Promise<KafkajsBatch[]> {
    const group = this.#group;
    this.#started.set(nodeId, this.#changes);
    if (only !== null) return await fetchOnly(group, fetch, nodeId, only.maxWaitMs, only.isWanted);
    if (group.maxWaitTime < this.#pollMs || readsFrom(group, nodeId, all)) {
      return await fetch.call(group, nodeId);
    }
    // kafkajs would sleep, however many groups wake up for nothing. It looks at its metadata first.
    const found = await fetchOnly(group, fetch, nodeId, 0, all);
    const isChanged = this.#started.get(nodeId) !== this.#changes;
    if (found.length === 0 && !isChanged) await this.#ends.wait(someMinutes());
    return found;
  }

  /** How long a fetch lasts that is about to ask by the shared session; null: it ends at once. */
  lastsMs(nodeId: string, pollMs: number): number | null {
    if (this.#started.get(nodeId) !== this.#changes) return null;
    return pollMs < this.#pollMs ? pollMs : someMinutes();
  }
}

/** Whether the group knows other leaders of the topic than these, by partition. */
export function isStale(group: ConsumerGroup, topic: string, leaders: readonly number[]): boolean {
  const known = group.cluster.brokerPool?.metadata?.topicMetadata.find(
    (each) => each.topic === topic,
  );
  if (known === undefined) return false;
  const { partitionMetadata } = known;
  if (partitionMetadata.length !== leaders.length) return true;
  return partitionMetadata.some(({ partitionId, leader }) => leaders[partitionId] !== leader);
}

/** 5 to 15 minutes. A thousand fetches that end together are a second of work for one that begins then. */
function someMinutes(): number {
  return FETCH_MIN_MS + FETCH_STEP_MS * Math.floor(Math.random() * (FETCH_STEPS + 1));
}

function all(): boolean {
  return true;
}

function stateOf({ cluster }: ConsumerGroup): string {
  const { brokerPool: pool } = cluster;
  const topics = pool?.metadata?.topicMetadata.map(leadersOf) ?? [];
  return [pool?.getNodeIds().join(), ...topics].join(";");
}

function leadersOf({ topic, partitionMetadata }: TopicMetadata): string {
  const leaders = partitionMetadata.map(({ partitionId, leader }) => `${partitionId}:${leader}`);
  return [topic, ...leaders.sort()].join();
}

/** The group's own `fetch`, before it is wrapped. */
type GroupFetch = (this: ConsumerGroup, nodeId: string) => Promise<KafkajsBatch[]>;

/** Whether a fetch from the node would ask for any of them. False while that cannot be told. */
export function readsFrom(group: ConsumerGroup, nodeId: string, isWanted: IsWanted): boolean {
  const wanted = Object.entries(activeOnly(group, isWanted))
    .map(([topic, partitions]) => ({ topic, partitions: [...partitions] }))
    .filter(({ partitions }) => partitions.length > 0);
  if (wanted.length === 0) return false;
  try {
    const here = group.filterPartitionsByNode(nodeId, wanted);
    return here.some(({ partitions }) => partitions.length > 0);
  } catch {
    // The topic's leaders are not known at the moment: the next fetch of all asks for them.
    return false;
  }
}

/**
 * Fetches some of a consumer's partitions alone. They are not chosen by pausing the others: that
 * would reach into fetches of other brokers, which drop what has come of a partition that is paused.

 * @param maxWaitMs how long the broker may wait for a record.
 */
function fetchOnly(
  group: ConsumerGroup,
  fetch: GroupFetch,
  nodeId: string,
  maxWaitMs: number,
  isWanted: IsWanted,
): Promise<KafkajsBatch[]> {
  // The original runs on an object that differs from the group in these alone.
  const narrowed = Object.create(group, {
    maxWaitTime: { value: maxWaitMs },
    getActiveTopicPartitions: { value: () => activeOnly(group, isWanted) },
    // The changes of a join have to be made in the group itself.
    recoverFromFetch: { value: (error: unknown) => group.recoverFromFetch(error) },
  }) as ConsumerGroup;
  return fetch.call(narrowed, nodeId);
}

/** kafkajs looks every topic up, so that each has to be there. */
function activeOnly(group: ConsumerGroup, isWanted: IsWanted): Record<string, Set<number>> {
  return Object.fromEntries(
    Object.entries(group.getActiveTopicPartitions()).map(([topic, partitions]) => [
      topic,
      new Set([...partitions].filter((partition) => isWanted(topic, partition))),
    ]),
  );
}
