/**
 * The topics that Switchyard needs (docs/topics.md), and their settings.
 *
 *   topic                       retention.ms                     max.message.bytes
 *   calls                       7 d                              1 MiB
 *   audience-syncs              7 d                              1 MiB
 *   deletion-requests           7 d                              1 MiB
 *   deliveries.<destination>    7 d                              16 KiB more
 *   retries.<destination>       7 d, one partition               16 KiB more
 *   delays.<delay>              twice the retry window, at       16 KiB more
 *                               least 8 h
 *   dead-letters                14 d                             64 KiB more
 *   attempts                    attempts.retention               1 MiB; only if attempts.enabled
 *   ledger                      7 d                              1 MiB; only if audit.enabled
 *   order.<destination>         compacted, one partition         1 MiB; only with order: strict
 *   dead-letter-replays         compacted, one partition         1 MiB
 *   audience-members            compacted                        1 MiB
 *   audiences                   compacted, one partition         1 MiB
 *   operator-actions            compacted, one partition,        1 MiB
 *                               message.timestamp.type=LogAppendTime
 *   suppressions                compacted, one partition         1 MiB
 *   operator-events             compacted, one partition         1 MiB; only if operatorEvents.enabled
 *
 * A cluster may allow less than the table, so no maximum exceeds `kafka.maxMessageBytes`. Topics that are not
 * compacted have `cleanup.policy=delete`. Unless the table gives a number of partitions, a destination's topic has
 * the destination's `partitions`, if set, and all other topics have `kafka.partitions`. A value that is removed from
 * a compacted topic is gone within two days: compaction happens within one day, and tombstones are kept for another
 * day so that the owners of audiences can read them. A delivery is a call with additional headers, and a dead letter
 * is a delivery with further headers, so the maximum sizes increase in this order. `topic-differences.ts` compares
 * the plan with a cluster.
 */

import type { DestinationId } from "../../domain/ids.ts";
import { readerOf, type TopicKind } from "../../domain/stages.ts";
import { delayName, type TopicNames } from "../../domain/topics.ts";

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
  /** The webhook destinations among `destinations`. */
  readonly webhooks: readonly DestinationId[];
  /** The destinations among `webhooks` whose order is strict. */
  readonly strict: readonly DestinationId[];
  /** Delays that are equal share a topic. */
  readonly retryDelaysMs: readonly number[];
  readonly retryWindowMs: number;
  readonly partitions: number;
  /** Partitions of `deliveries.<destination>` for destinations that set their own number. */
  readonly partitionsOf?: ReadonlyMap<DestinationId, number>;
  /** Null for the broker's default. */
  readonly replicationFactor: number | null;
  /** The cluster's maximum record size; null if it allows every size in the table. */
  readonly maxMessageBytes?: number | null;
  /** Retention of the `attempts` topic; null if there is none. */
  readonly attemptsRetentionMs: number | null;
  readonly hasOperatorEvents: boolean;
  readonly hasLedger: boolean;
}

/** Has the same fields as the port's `TopicSpec`. */
export interface PlannedTopic {
  readonly kind: TopicKind;
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number | null;
  readonly config: PlannedConfig;
  /**
   * `true` if a consumer group reads the topic; the group's committed offsets should then outlive the topic's records.
   */
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
/** If a key is not set, any value on the cluster is accepted. */
export type PlannedConfig = Readonly<Partial<Record<PlannedKey, string>>>;

/**
 * Lists each topic once: first the topics to which other programs write, then the others in the order in which calls
 * pass through them.
 */
export function topicPlan(options: TopicPlanOptions): readonly PlannedTopic[] {
  const { topics, destinations, webhooks, strict, retryDelaysMs, retryWindowMs } = options;
  const { partitions, replicationFactor, attemptsRetentionMs } = options;
  const largest = recordMaxBytes(topics);
  const allowed = options.maxMessageBytes ?? Number.POSITIVE_INFINITY;
  const maxBytes = (name: string) => Math.min(largest(name), allowed);
  const topic = (
    kind: TopicKind,
    name: string,
    count: number,
    config: PlannedConfig,
  ): PlannedTopic => {
    const isConsumed = readerOf(kind) !== null;
    return { kind, name, partitions: count, replicationFactor, config, isConsumed };
  };
  const planned = (kind: TopicKind, name: string, retentionMs: number, count = partitions) =>
    topic(kind, name, count, {
      "cleanup.policy": "delete",
      "retention.ms": `${retentionMs}`,
      "max.message.bytes": `${maxBytes(name)}`,
    });
  const compacted = (kind: TopicKind, name: string, count: number, own: PlannedConfig = {}) =>
    topic(kind, name, count, {
      "cleanup.policy": "compact",
      "max.message.bytes": `${maxBytes(name)}`,
      "max.compaction.lag.ms": `${DAY_MS}`,
      "delete.retention.ms": `${DAY_MS}`,
      ...own,
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
    ...(options.hasLedger ? [planned("ledger", topics.ledger, RETENTION_MS)] : []),
    ...strict.map((id) => compacted("order", topics.order(id), 1)),
    compacted("deadLetterReplays", topics.deadLetterReplays, 1),
    compacted("audienceMembers", topics.audienceMembers, partitions),
    compacted("audiences", topics.audiences, 1),
    // From these timestamps, processes compute how far their clocks differ from the brokers' clocks.
    compacted("operatorActions", topics.operatorActions, 1, {
      "message.timestamp.type": "LogAppendTime",
    }),
    compacted("suppressions", topics.suppressions, 1),
    ...(options.hasOperatorEvents ? [compacted("operatorEvents", topics.operatorEvents, 1)] : []),
  ];
}

/**
 * Returns the maximum size of a record (key, value and headers) for a topic name. The brokers may allow less, but
 * they measure a batch after compression.
 */
export function recordMaxBytes(topics: TopicNames): (topic: string) => number {
  const grown = [
    `${topics.prefix}deliveries.`,
    `${topics.prefix}retries.`,
    `${topics.prefix}delays.`,
  ];
  // These names are configurable, and may have the prefix of another kind of topic.
  const written = [topics.calls, topics.audienceSyncs, topics.deletionRequests];
  return (topic) => {
    if (written.includes(topic)) return CALL_MAX_BYTES;
    if (topic === topics.deadLetters) return DEAD_LETTER_MAX_BYTES;
    return grown.some((start) => topic.startsWith(start)) ? DELIVERY_MAX_BYTES : CALL_MAX_BYTES;
  };
}
