/** The response of `GET /status` of the admin port. Instants are ISO 8601 strings. */

import type { DestinationStatus } from "./destination-status.ts";
import type { StageName } from "./stages.ts";

export interface ProcessStatus {
  readonly version: string;
  readonly node: string;
  readonly startedAt: string;
  /** The stages that the process runs; `partitions` is empty until it owns some. */
  readonly stages: readonly {
    readonly name: StageName;
    /** By topic. */
    readonly partitions: Readonly<Record<string, readonly number[]>>;
  }[];
  readonly configuration: {
    readonly hash: string;
    /** Null if the stages have not started. */
    readonly appliedAt: string | null;
  };
  /** Kafka brokers that are unreachable. */
  readonly unreachableBrokers: readonly UnreachableBroker[];
  readonly destinations: readonly DestinationStatus[];
}

export interface UnreachableBroker {
  readonly broker: string;
  readonly since: string;
  readonly error: string;
}
