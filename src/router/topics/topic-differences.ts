/**
 * Compares the topic plan with the topics on a cluster.
 *
 *   on the cluster                                   difference   `topics --apply`
 *   the topic does not exist                         missing      creates it
 *   another cleanup policy, or timestamps of         setting      sets it
 *     another type
 *   shorter retention, smaller maximum record        setting      sets it
 *   later compaction, or tombstones kept for         setting      sets it
 *     another time
 *   longer retention, larger maximum record          none         leaves it: it was set on purpose
 *   another number of partitions or replicas         count        leaves it
 *   retention above the brokers' offset retention    offsets      leaves it
 *   no permission to see the topic or its settings   hidden       leaves it
 *   a delay topic whose delay is not configured      retired      leaves it; it is still drained
 *   a topic of a destination that is not configured  orphaned     leaves it; used again if the ID returns
 *   the order of a destination that is loose now     none         leaves it; used again with order: strict
 *
 * Partition counts are never changed, because calls with the same key could then be processed out of order. If the
 * brokers keep offsets for a shorter time than records, a group that was stopped for longer than this time reads all
 * records again.
 */

import { delayOfTopic, ownerOfTopic, type TopicNames } from "../../domain/topics.ts";
import { PLANNED_KEYS, type PlannedKey, type PlannedTopic } from "./topic-plan.ts";

/** A topic on the cluster; compatible with the port's `TopicState`. */
export interface ActualTopic {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** The values of the settings in `PLANNED_KEYS`; empty without the permission to see them. */
  readonly config: Readonly<Record<string, string>>;
  /** The permission that is missing, if the topic or its settings cannot be seen. */
  readonly lacks?: "Describe" | "DescribeConfigs";
}

export interface Cluster {
  /** Names of all topics on the cluster. */
  readonly names: readonly string[];
  /** The planned topics that exist, or that cannot be seen. */
  readonly topics: readonly ActualTopic[];
  /** Null if the brokers do not report it. */
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
      /** `Infinity` if records are kept forever. */
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

/** Kafka's -1 means unlimited. */
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
  // If `--apply` is going to change the retention, the new value is compared.
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
  return existing
    .filter((name) => !planned.has(name))
    .toSorted()
    .flatMap((topic): TopicDifference[] => {
      if (delayOfTopic(topic, names) !== null) return [{ kind: "retired", topic }];
      const owner = ownerOfTopic(topic, names);
      if (owner === null) return [];
      const isLoose = topic === names.order(owner) && planned.has(names.deliveries(owner));
      return isLoose ? [] : [{ kind: "orphaned", topic }];
    });
}
