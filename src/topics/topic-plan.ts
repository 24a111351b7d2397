/**
 * The topics that Switchyard needs (docs/topics.md), and how they should be set.
 *
 *   topic                       retention.ms                     max.message.bytes
 *   calls                       7 d                              1 MiB
 *   audience-syncs              7 d                              1 MiB
 *   deletion-requests           7 d                              1 MiB
 *   deliveries.<destination>    7 d                              16 KiB more
 *   retries.<destination>       7 d, one partition               16 KiB more
 *   delays.<delay>               the larger of 8 h and 2 windows  16 KiB more
 *   dead-letters                14 d                             64 KiB more
 *   attempts                    attempts.retention               1 MiB; only if attempts.enabled
 *   dead-letter-replays            compacted, one partition         1 MiB
 *   audience-members            compacted                        1 MiB
 *   audiences                   compacted, one partition         1 MiB
 *   operator-actions            compacted, one partition,        1 MiB
 *                               message.timestamp.type=LogAppendTime
 *   operator-events             compacted, one partition         1 MiB; only if operatorEvents.enabled
 *
 * No size is above `kafka.maxMessageBytes`: a cluster may allow less. All others are
 * `cleanup.policy=delete`. Where nothing else is said a topic has `kafka.partitions`
 * partitions, and that of a destination as many as its `partitions` says. A value that is removed from a compacted topic is gone within two days. Compaction comes within one
 * day. It keeps tombstones for another day, in which owners of audiences read them. A delivery is a
 * call and headers of ours, a dead letter a delivery and more headers. Hence the growing sizes.
 * `topic-differences.ts` compares the plan with a cluster.
 */

import type { DestinationId } from "../domain/ids.ts";
import { readerOf, type TopicKind } from "../domain/stages.ts";
import { delayName, type TopicNames } from "../domain/topics.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CALL_MAX_BYTES = 1_048_576;
const DELIVERY_MAX_BYTES = CALL_MAX_BYTES + 16 * 1_024;
const DEAD_LETTER_MAX_BYTES = CALL_MAX_BYTES + 64 * 1_024;
const RETENTION_MS = 7 * DAY_MS;
const DEAD_LETTER_RETENTION_MS = 14 * DAY_MS;
const DELAY_RETENTION_MIN_MS = 8 * HOUR_MS;

export interface TopicPlanOptions {
  readonly topics: TopicNames;
  readonly destinations: readonly DestinationId[];
  /** Those of them that deliver posts to. */
  readonly webhooks: readonly DestinationId[];
  /** Of the tiers; equal ones share a topic. */
  readonly retryDelaysMs: readonly number[];
  readonly retryWindowMs: number;
  readonly partitions: number;
  /** Of the deliveries of those destinations that have another number. */
  readonly partitionsOf?: ReadonlyMap<DestinationId, number>;
  /** Null: the broker's default. */
  readonly replicationFactor: number | null;
  /** The cluster allows no larger records; null: it allows all sizes of the table. */
  readonly maxMessageBytes?: number | null;
  /** Of the topic of attempts; null: there is none. */
  readonly attemptsRetentionMs: number | null;
  readonly hasOperatorEvents: boolean;
}

/** Fits the port's `TopicSpec`. */
export interface PlannedTopic {
  readonly kind: TopicKind;
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number | null;
  readonly config: PlannedConfig;
  /** Whether a consumer group reads it; committed offsets should then outlive its records. */
  readonly isConsumed: boolean;
}

export const PLANNED_KEYS = [
  "cleanup.policy",
  "retention.ms",
  "max.message.bytes",
  "max.compaction.lag.ms",
  "delete.retention.ms",
  "message.timestamp.type",
] as const;
export type PlannedKey = (typeof PLANNED_KEYS)[number];
/** A key that is left out may be as it is. */
export type PlannedConfig = Readonly<Partial<Record<PlannedKey, string>>>;

/** Each topic once: those that platforms write, then in the order in which calls pass them. */
export function topicPlan(options: TopicPlanOptions): readonly PlannedTopic[] {
  const { topics, destinations, webhooks, retryDelaysMs, retryWindowMs } = options;
  const { partitions, replicationFactor, attemptsRetentionMs, hasOperatorEvents } = options;
  const largest = recordMaxBytes(topics);
  const allowed = options.maxMessageBytes ?? Number.POSITIVE_INFINITY;
  const maxBytes = (name: string) => Math.min(largest(name), allowed);
  const planned = (
    kind: TopicKind,
    name: string,
    retentionMs: number,
    count = partitions,
  ): PlannedTopic => ({
    kind,
    name,
    partitions: count,
    replicationFactor,
    config: {
      "cleanup.policy": "delete",
      "retention.ms": `${retentionMs}`,
      "max.message.bytes": `${maxBytes(name)}`,
    },
    isConsumed: readerOf(kind) !== null,
  });
  const compacted = (
    kind: TopicKind,
    name: string,
    count: number,
    own: PlannedConfig = {},
  ): PlannedTopic => ({
    kind,
    name,
    partitions: count,
    replicationFactor,
    config: {
      "cleanup.policy": "compact",
      "max.message.bytes": `${maxBytes(name)}`,
      "max.compaction.lag.ms": `${DAY_MS}`,
      "delete.retention.ms": `${DAY_MS}`,
      ...own,
    },
    isConsumed: readerOf(kind) !== null,
  });
  const delayRetentionMs = Math.max(DELAY_RETENTION_MIN_MS, 2 * retryWindowMs);
  const delays = [
    ...new Map(retryDelaysMs.map((delayMs) => [delayName(delayMs), delayMs])).values(),
  ];
  return [
    planned("calls", topics.calls, RETENTION_MS),
    planned("audienceSyncs", topics.audienceSyncs, RETENTION_MS),
    planned("deletionRequests", topics.deletionRequests, RETENTION_MS),
    ...destinations.map((id) =>
      planned("deliveries", topics.deliveries(id), RETENTION_MS, options.partitionsOf?.get(id)),
    ),
    ...webhooks.map((id) => planned("retries", topics.retries(id), RETENTION_MS, 1)),
    ...delays.map((delayMs) => planned("delays", topics.delays(delayMs), delayRetentionMs)),
    planned("deadLetters", topics.deadLetters, DEAD_LETTER_RETENTION_MS),
    ...(attemptsRetentionMs === null
      ? []
      : [planned("attempts", topics.attempts, attemptsRetentionMs)]),
    compacted("deadLetterReplays", topics.deadLetterReplays, 1),
    compacted("audienceMembers", topics.audienceMembers, partitions),
    compacted("audiences", topics.audiences, 1),
    // Processes measure by it how far their clocks are from the brokers'.
    compacted("operatorActions", topics.operatorActions, 1, {
      "message.timestamp.type": "LogAppendTime",
    }),
    ...(hasOperatorEvents ? [compacted("operatorEvents", topics.operatorEvents, 1)] : []),
  ];
}

/**
 * The largest record (key, value and headers) that is written to a topic of the plan and read from it,
 * by its name. The brokers may allow less, but they count a batch as it is compressed.
 */
export function recordMaxBytes(topics: TopicNames): (topic: string) => number {
  const grown = [
    `${topics.prefix}deliveries.`,
    `${topics.prefix}retries.`,
    `${topics.prefix}delays.`,
  ];
  // They may have names of their own, which may begin like others.
  const written = [topics.calls, topics.audienceSyncs, topics.deletionRequests];
  return (topic) => {
    if (written.includes(topic)) return CALL_MAX_BYTES;
    if (topic === topics.deadLetters) return DEAD_LETTER_MAX_BYTES;
    return grown.some((start) => topic.startsWith(start)) ? DELIVERY_MAX_BYTES : CALL_MAX_BYTES;
  };
}
