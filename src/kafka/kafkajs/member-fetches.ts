/**
 * Decides how long a member's fetches last, and ends them. kafkajs checks leaders, partitions and the assignment only
 * when a fetch starts, so a fetch that was started before a change would not include a new partition until it ends.
 *
 *   a fetch                                        lasts
 *   in the shared session                          until there are records, at most 5 to 15 minutes; the
 *                                                  limit is random, so that fetches end at different times
 *   the same, while a partition is paused          as long as a poll of the member: 250 ms
 *   on its own connection (an old broker)          as long as a poll of the member
 *   from a broker that leads none of its           like the first two, without a request
 *   partitions
 *
 *   the group                                      then fetches
 *   refreshed its metadata, and leaders,           end, including those that have started but not sent a
 *   partitions or brokers have changed             request yet
 *   has an assignment                              end, in the same way
 *   drops a broker                                 end, in the same way
 *   resumes a partition                            end if they have started but not sent a request yet:
 *                                                  the others last no longer than 250 ms
 */

import { Signal } from "../../runtime/signal.ts";
import type { FetchOnly, IsWanted } from "../membership.ts";
import type { ConsumerGroup, KafkajsBatch, TopicMetadata } from "./consumer-group.ts";

/** This limit is only a safety net, because every known kind of change ends a fetch earlier. */
const FETCH_MIN_MS = 300_000;
/** Node keeps a list of timers for each duration, so only 61 durations are used. */
const FETCH_STEP_MS = 10_000;
const FETCH_STEPS = 60;

export class MemberFetches {
  readonly #group: ConsumerGroup;
  readonly #pollMs: number;
  readonly #endShared: () => void;
  /** Fires when fetches without a request have to end. */
  readonly #ends = new Signal();
  /** Incremented with each change that a new fetch would detect. */
  #changes = 0;
  /** By node: the value of `#changes` when the fetch started. */
  readonly #started = new Map<string, number>();

  /**
   * Makes changes in the group's metadata end fetches.
   *
   * @param pollMs the member's longest poll.
   * @param endShared ends the fetches in the shared sessions.
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

  /** Ends all fetches without records, so that new ones start. */
  end(): void {
    this.#changes += 1;
    this.#endShared();
    this.#ends.fire();
  }

  /** Call when a partition is resumed, because a fetch that is about to be sent may not include that partition. */
  markResumed(): void {
    this.#changes += 1;
  }

  /** @param fetch the group's own `fetch`. */
  async fetch(nodeId: string, fetch: GroupFetch, only: FetchOnly | null): Promise<KafkajsBatch[]> {
    const group = this.#group;
    this.#started.set(nodeId, this.#changes);
    if (only !== null) return await fetchOnly(group, fetch, nodeId, only.maxWaitMs, only.isWanted);
    if (group.maxWaitTime < this.#pollMs || readsFrom(group, nodeId, all)) {
      return await fetch.call(group, nodeId);
    }
    // The broker leads none of the partitions. kafkajs would check its metadata and then sleep, and many groups would
    // wake up without a reason.
    const found = await fetchOnly(group, fetch, nodeId, 0, all);
    const isChanged = this.#started.get(nodeId) !== this.#changes;
    if (found.length === 0 && !isChanged) await this.#ends.wait(someMinutes());
    return found;
  }

  /**
   * The maximum duration of a fetch that is about to use the shared session; null if the fetch must end immediately.
   */
  lastsMs(nodeId: string, pollMs: number): number | null {
    if (this.#started.get(nodeId) !== this.#changes) return null;
    return pollMs < this.#pollMs ? pollMs : someMinutes();
  }
}

/** `true` if the leaders known to the group differ from these leaders of the topic's partitions. */
export function isStale(group: ConsumerGroup, topic: string, leaders: readonly number[]): boolean {
  const known = group.cluster.brokerPool?.metadata?.topicMetadata.find(
    (each) => each.topic === topic,
  );
  if (known === undefined) return false;
  const { partitionMetadata } = known;
  if (partitionMetadata.length !== leaders.length) return true;
  return partitionMetadata.some(({ partitionId, leader }) => leaders[partitionId] !== leader);
}

/**
 * Returns 5 to 15 minutes. If a thousand fetches ended together, a fetch that starts at that time would be
 * delayed by a second.
 */
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

/**
 * `true` if a fetch from the node would request any of the wanted partitions; `false` if not, or if that is unknown.
 */
export function readsFrom(group: ConsumerGroup, nodeId: string, isWanted: IsWanted): boolean {
  const wanted = Object.entries(activeOnly(group, isWanted))
    .map(([topic, partitions]) => ({ topic, partitions: [...partitions] }))
    .filter(({ partitions }) => partitions.length > 0);
  if (wanted.length === 0) return false;
  try {
    const here = group.filterPartitionsByNode(nodeId, wanted);
    return here.some(({ partitions }) => partitions.length > 0);
  } catch {
    // The topic's leaders are unknown at the moment: the next fetch of all partitions looks them up.
    return false;
  }
}

/**
 * Fetches only some of a consumer's partitions. Pausing the other partitions instead would affect fetches from
 * other brokers, in which records that arrive for a paused partition are dropped.
 *
 * @param maxWaitMs how long the broker may wait for a record.
 */
function fetchOnly(
  group: ConsumerGroup,
  fetch: GroupFetch,
  nodeId: string,
  maxWaitMs: number,
  isWanted: IsWanted,
): Promise<KafkajsBatch[]> {
  // The original method runs on an object that differs from the group only in these properties.
  const narrowed = Object.create(group, {
    maxWaitTime: { value: maxWaitMs },
    getActiveTopicPartitions: { value: () => activeOnly(group, isWanted) },
    // A join must make its changes in the group itself.
    recoverFromFetch: { value: (error: unknown) => group.recoverFromFetch(error) },
  }) as ConsumerGroup;
  return fetch.call(narrowed, nodeId);
}

/** Contains every topic, because kafkajs looks up each of them. */
function activeOnly(group: ConsumerGroup, isWanted: IsWanted): Record<string, Set<number>> {
  return Object.fromEntries(
    Object.entries(group.getActiveTopicPartitions()).map(([topic, partitions]) => [
      topic,
      new Set([...partitions].filter((partition) => isWanted(topic, partition))),
    ]),
  );
}
