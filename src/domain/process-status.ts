/**
 * The response of `GET /status` of the admin port. Instants are ISO 8601 strings. `GET /status?metrics` adds the metrics that
 * `switchyard status` and the console need.
 */

import type { DestinationStatus } from "./destination-status.ts";
import type { StageName } from "./stages.ts";

export interface ProcessStatus {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  /** The stages that the process runs. `partitions` is empty while a stage owns no partitions. */
  readonly stages: readonly {
    readonly name: StageName;
    /** The partitions by topic. */
    readonly partitions: Readonly<Record<string, readonly number[]>>;
  }[];
  readonly configuration: {
    readonly hash: string;
    /** Null if the stages have not started. */
    readonly appliedAt: string | null;
  };
  readonly unreachableBrokers: readonly UnreachableBroker[];
  readonly destinations: readonly DestinationStatus[];
}

export interface UnreachableBroker {
  readonly broker: string;
  readonly since: string;
  readonly error: string;
}

/** Indexed by the name of the metric. */
export type MetricValues = Readonly<Record<string, readonly MetricValue[]>>;

export interface MetricValue {
  readonly labels: Readonly<Record<string, string>>;
  /** For a histogram, the number of its observations. */
  readonly value: number;
  /**
   * For a histogram, the number of observations in each bucket. The last bucket contains the observations above all
   * bounds.
   */
  readonly buckets?: readonly number[];
}

export interface MeasuredStatus extends ProcessStatus {
  readonly metrics: MetricValues;
  /** The counters from which rates are computed, as they were up to a minute ago; null if they are unknown. */
  readonly earlier: { readonly agoMs: number; readonly metrics: MetricValues } | null;
}
