/**
 * Compares the topic plan with what a cluster has.
 *
 *   what is there                                   difference   `topics --apply`
 *   no such topic                                   missing      creates it
 *   another cleanup policy, times of records that   setting      sets it
 *     are not the brokers'
 *   less retention, smaller records                 setting      sets it
 *   compaction later, or tombstones kept for        setting      sets it
 *     another time
 *   more retention, larger records                  none         leaves it: somebody wanted that
 *   another number of partitions or replicas        count        leaves it
 *   retention above the brokers' offset retention   offsets      leaves it
 *   the topic or its settings may not be seen       hidden       leaves it
 *   a delay topic of no tier of the configuration   retired      leaves it; it is still drained
 *   a destination's topic without the destination   orphaned     leaves it; it goes on if the id returns
 *
 * Partition counts are never changed, since calls of one key would then be out of order. Offsets
 * kept for less time than records: a group that was stopped for long would read them all again.
 */

import { delayMsOfTopic, type TopicNames } from "../domain/topics.ts";
import { PLANNED_KEYS, type PlannedKey, type PlannedTopic } from "./topic-plan.ts";

/** A topic as the cluster has it; fits the port's `TopicState`. */
export interface ActualTopic {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Holds the keys of `PLANNED_KEYS`; nothing where they may not be seen. */
  readonly config: Readonly<Record<string, string>>;
  /** The permission without which its settings, or all of it, cannot be seen. */
  readonly lacks?: "Describe" | "DescribeConfigs";
}

export interface Cluster {
  /** Names of all its topics. */
  readonly names: readonly string[];
  /** Those of the plan that exist, or that cannot be seen. */
  readonly topics: readonly ActualTopic[];
  /** Null: the brokers do not tell. */
  readonly offsetsRetentionMs: number | null;
}

export type TopicDifference =
  | { readonly kind: "missing"; readonly topic: PlannedTopic }
  | {
      readonly kind: "setting";
      readonly topic: string;
      readonly key: PlannedKey;
      readonly planned: string;
      readonly actual: string;
    }
  | {
      readonly kind: "count";
      readonly topic: string;
      readonly of: "partitions" | "replicas";
      readonly planned: number;
      readonly actual: number;
    }
  | {
      readonly kind: "offsets";
      readonly topic: string;
      /** `Infinity`: records are kept for ever. */
      readonly retentionMs: number;
      readonly offsetsRetentionMs: number;
    }
  | {
      readonly kind: "hidden";
      readonly topic: string;
      readonly permission: "Describe" | "DescribeConfigs";
    }
  | { readonly kind: "retired" | "orphaned"; readonly topic: string };

const AS_PLANNED: ReadonlySet<PlannedKey> = new Set([
  "cleanup.policy",
  "delete.retention.ms",
  "message.timestamp.type",
]);

/** The action of `topics --apply`. */
export type TopicChange = Extract<TopicDifference, { kind: "missing" | "setting" }>;

export function isChange(difference: TopicDifference): difference is TopicChange {
  return difference.kind === "missing" || difference.kind === "setting";
}

export function topicDifferences(
  plan: readonly PlannedTopic[],
  names: TopicNames,
  cluster: Cluster,
): readonly TopicDifference[] {
  const actual = new Map(cluster.topics.map((topic) => [topic.name, topic]));
  const found = plan.flatMap((planned) => {
    const there = actual.get(planned.name);
    if (there === undefined) return [{ kind: "missing", topic: planned } as const];
    if (there.lacks !== undefined) {
      const hidden = { kind: "hidden", topic: planned.name, permission: there.lacks } as const;
      return there.lacks === "Describe" ? [hidden] : [hidden, ...counts(planned, there)];
    }
    return [
      ...settings(planned, there),
      ...counts(planned, there),
      ...offsets(planned, there, cluster.offsetsRetentionMs),
    ];
  });
  return [...found, ...leftovers(plan, names, cluster.names)];
}

function settings(planned: PlannedTopic, actual: ActualTopic): TopicDifference[] {
  return PLANNED_KEYS.flatMap((key) => {
    const want = planned.config[key];
    const have = actual.config[key] ?? "";
    if (want === undefined || suffices(key, want, have)) return [];
    return [{ kind: "setting", topic: planned.name, key, planned: want, actual: have }];
  });
}

function suffices(key: PlannedKey, planned: string, actual: string): boolean {
  if (AS_PLANNED.has(key)) return planned === actual;
  if (key === "max.compaction.lag.ms") return actual !== "" && Number(actual) <= Number(planned);
  return actual !== "" && unlimited(actual) >= Number(planned);
}

/** Kafka's -1 is no limit. */
function unlimited(actual: string): number {
  return actual === "-1" ? Number.POSITIVE_INFINITY : Number(actual);
}

function counts(planned: PlannedTopic, actual: ActualTopic): TopicDifference[] {
  const base = { kind: "count", topic: planned.name } as const;
  const differences: TopicDifference[] = [];
  if (planned.partitions !== actual.partitions) {
    const { partitions } = planned;
    differences.push({ ...base, of: "partitions", planned: partitions, actual: actual.partitions });
  }
  const replicas = planned.replicationFactor;
  if (replicas !== null && replicas !== actual.replicationFactor) {
    differences.push({
      ...base,
      of: "replicas",
      planned: replicas,
      actual: actual.replicationFactor,
    });
  }
  return differences;
}

function offsets(
  planned: PlannedTopic,
  actual: ActualTopic,
  offsetsRetentionMs: number | null,
): TopicDifference[] {
  const kept = unlimited(actual.config["retention.ms"] ?? "");
  // A difference that `--apply` removes is judged by what it will be.
  const retentionMs = Math.max(kept, Number(planned.config["retention.ms"] ?? 0));
  if (!planned.isConsumed || offsetsRetentionMs === null) return [];
  if (!(retentionMs > offsetsRetentionMs)) return [];
  return [{ kind: "offsets", topic: planned.name, retentionMs, offsetsRetentionMs }];
}

function leftovers(
  plan: readonly PlannedTopic[],
  names: TopicNames,
  existing: readonly string[],
): TopicDifference[] {
  const planned = new Set(plan.map(({ name }) => name));
  const delays = `${names.prefix}delays.`;
  const ofDestinations = [`${names.prefix}deliveries.`, `${names.prefix}retries.`];
  return existing
    .filter((name) => !planned.has(name))
    .toSorted()
    .flatMap((topic): TopicDifference[] => {
      const isDelayTopic =
        topic.startsWith(delays) && delayMsOfTopic(topic.slice(delays.length)) !== null;
      if (isDelayTopic) return [{ kind: "retired", topic }];
      const isOrphaned = ofDestinations.some((start) => topic.startsWith(start));
      return isOrphaned ? [{ kind: "orphaned", topic }] : [];
    });
}
