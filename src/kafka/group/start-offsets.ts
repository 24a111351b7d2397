/**
 * Finds where a member starts to read its partitions.
 *
 *   the group has                    reading starts at
 *   a commit of the same topic       the committed offset
 *   no commit, or one of an earlier  the log's first offset
 *   topic of the same name
 *
 * Temporary errors (a broker restarts, a partition has no leader) are retried without a limit. If a topic was deleted or
 * recreated after the join, the member joins again.
 */

import type { Signal } from "../../base/runtime/signal.ts";
import { corruptBatchOf } from "../../domain/corrupt-batch.ts";
import type { BrokerAddress } from "../broker/address.ts";
import type { SharedConnections } from "../broker/shared-connections.ts";
import { errorKind, errorTypes, protocolError } from "../cluster/kafka-error.ts";
import type { LeaderTable } from "../cluster/leader-table.ts";
import { EARLIEST, listOffsets } from "../cluster/offsets.ts";
import { type FetchedOffset, OUT_OF_RANGE } from "../membership.ts";
import type { Coordinator } from "./coordinator.ts";

type PartitionPlace = Pick<FetchedOffset, "topic" | "partition">;

interface Looking<P> {
  readonly isWanted: () => boolean;
  readonly found: (place: P, offset: number) => void;
  readonly unknown: Set<string>;
}

const AGAIN_MS = 300;

export class StartOffsets {
  readonly #coordinator: Pick<Coordinator, "offsets">;
  readonly #leaders: LeaderTable;
  readonly #connections: Pick<SharedConnections, "broker">;
  /** Fired when waits must not last any longer. */
  readonly #wake: Signal;
  /** Updated when commits are read, and when an offset is out of range. */
  #topicIds: ReadonlyMap<string, string> = new Map();

  constructor(
    coordinator: Pick<Coordinator, "offsets">,
    leaders: LeaderTable,
    connections: Pick<SharedConnections, "broker">,
    wake: Signal,
  ) {
    this.#wake = wake;
    this.#coordinator = coordinator;
    this.#leaders = leaders;
    this.#connections = connections;
  }

  /** Reads the group's commits. @param isWanted `false` ends the attempts. */
  async committed(
    places: readonly PartitionPlace[],
    isWanted: () => boolean,
  ): Promise<readonly FetchedOffset[]> {
    const byTopic = Map.groupBy(places, ({ topic }) => topic);
    const topics = [...byTopic].map(([topic, ofTopic]) => ({
      topic,
      partitions: ofTopic.map(({ partition }) => partition),
    }));
    while (isWanted() && topics.length > 0) {
      try {
        const [offsets, topicIds] = await Promise.all([
          this.#coordinator.offsets(topics),
          this.#leaders.topicIds([...byTopic.keys()]),
        ]);
        this.#topicIds = topicIds;
        return offsets.map(({ topic, partition, offset, metadata }) => {
          return { topic, partition, offset, metadata, topicId: this.#idOf(topic) };
        });
      } catch (error) {
        if (errorKind(error) !== "outage") throw error;
        await this.#wake.wait(AGAIN_MS);
      }
    }
    return [];
  }

  /** Returns the entry for a partition whose offset was out of range. */
  async outOfRange({ topic, partition }: PartitionPlace): Promise<FetchedOffset> {
    const ids = await this.#leaders.topicIds([topic]).catch(() => this.#topicIds);
    this.#topicIds = new Map([...this.#topicIds, ...ids]);
    return { topic, partition, topicId: this.#idOf(topic), offset: OUT_OF_RANGE, metadata: "" };
  }

  /**
   * Returns `true` if one of the topics was deleted, or is not certainly the one whose commits were read; `false` if the
   * brokers do not respond.
   */
  async areRecreated(topics: readonly string[]): Promise<boolean> {
    if (topics.length === 0) return false;
    try {
      const ids = await this.#leaders.topicIds(topics);
      return topics.some((topic) => {
        const id = ids.get(topic);
        return id === undefined || id !== this.#topicIds.get(topic);
      });
    } catch (error) {
      if (errorKind(error) !== "outage") throw error;
      return false;
    }
  }

  /**
   * Finds the first offsets of the partitions' logs.
   *
   * @param isWanted `false` ends the attempts.
   * @param onStale called instead if a topic was deleted or recreated.
   */
  async first<P extends PartitionPlace>(
    places: readonly P[],
    isWanted: () => boolean,
    found: (place: P, offset: number) => void,
    onStale: () => void,
  ): Promise<void> {
    const unknown = new Set<string>();
    for (let rest = places; rest.length > 0; unknown.clear()) {
      const byLeader = Map.groupBy(rest, ({ topic, partition }) =>
        this.#leaders.leaderOf(topic, partition),
      );
      const asked = [...byLeader].map(([leader, of]) =>
        this.#firstAt(leader, of, { isWanted, found, unknown }),
      );
      rest = (await Promise.all(asked)).flat();
      if (rest.length === 0) return;
      this.#leaders.refresh(rest.map(({ topic }) => topic));
      await this.#wake.wait(AGAIN_MS);
      if (!isWanted()) return;
      const areRecreated = await this.areRecreated([...unknown]);
      if (!isWanted()) return;
      if (areRecreated) return onStale();
    }
  }

  /** Returns the places that have to be looked up again. Adds topics whose partitions the brokers do not know. */
  async #firstAt<P extends PartitionPlace>(
    leader: BrokerAddress | null,
    places: readonly P[],
    { isWanted, found, unknown }: Looking<P>,
  ): Promise<readonly P[]> {
    if (leader === null) {
      const missing = places.filter((place) => !this.#leaders.has(place.topic, place.partition));
      for (const { topic } of missing) unknown.add(topic);
      return places;
    }
    const rest = new Set(places);
    try {
      const broker = await this.#connections.broker(leader).open();
      const listed = await listOffsets(broker, places, EARLIEST);
      if (!isWanted()) return [];
      for (const { topic, partition, errorCode, offset } of listed) {
        const place = places.find((each) => each.topic === topic && each.partition === partition);
        if (place === undefined) continue;
        if (errorCode !== 0) {
          const error = protocolError(errorCode, topic);
          const step = stepAfter(error);
          if (step === "fail") throw error;
          if (step === "compare-topic") unknown.add(topic);
          continue;
        }
        rest.delete(place);
        found(place, offset);
      }
    } catch (error) {
      if (errorKind(error) !== "outage") throw error;
    }
    return [...rest];
  }

  #idOf(topic: string): string | null {
    return this.#topicIds.get(topic) ?? null;
  }
}

/**
 * Decides what follows from an error in the response to a fetch of a partition.
 *
 *   the error                            then
 *   the offset is out of range           reading starts at the log's first offset, and that is counted
 *   the leader has moved, or there is    leaders are looked up, and the partition is fetched from its leader
 *   none
 *   the topic is unknown, as after a     the same, if the topic's ID is still the same; otherwise the member
 *   broker's restart                     joins again, which compares the ID with that of the commits
 *   any other temporary one              the partition is fetched again
 *   a corrupt batch                      this partition halts: it is fetched again after 1 to 60 s, and only
 *                                        the others continue
 *   anything else                        the member fails
 */
type PartitionStep = "reset" | "find-leader" | "compare-topic" | "again" | "halt" | "fail";

const MOVED = [
  "LEADER_NOT_AVAILABLE",
  "NOT_LEADER_OR_FOLLOWER",
  "FENCED_LEADER_EPOCH",
  "UNKNOWN_LEADER_EPOCH",
  "REPLICA_NOT_AVAILABLE",
];

export function stepAfter(error: unknown): PartitionStep {
  const types = errorTypes(error);
  if (types.has("OFFSET_OUT_OF_RANGE")) return "reset";
  if (MOVED.some((type) => types.has(type))) return "find-leader";
  if (types.has("UNKNOWN_TOPIC_OR_PARTITION")) return "compare-topic";
  if (corruptBatchOf(error) !== null) return "halt";
  return errorKind(error) === "outage" ? "again" : "fail";
}
