/** The state of brokers and consumers. A part of the port. */

/** The results of the checks of the cluster. */
export interface ClusterView {
  /** All brokers of the cluster; before the first response, the configured addresses. */
  brokers(): readonly BrokerState[];
  /** The last check of log end offsets to which every broker responded; null: none yet. */
  endsAtMs(): number | null;
  /** By broker: the sum of the throttle times in its responses since the start, in milliseconds. */
  throttledMs(): ReadonlyMap<string, number>;
}

export interface BrokerState {
  /** `host:port` */
  readonly broker: string;
  /** The start of its outage, and the error; null if it is reachable. */
  readonly outage: { readonly sinceMs: number; readonly error: string } | null;
}

/** Signs that a consumer is alive. Times are epoch milliseconds; null: not yet. */
export interface ConsumerVitals {
  /** `true` if it has an assignment, perhaps an empty one, that is not revoked. */
  readonly isAssigned: boolean;
  /** The last response to a fetch. */
  readonly fetchedAtMs: number | null;
  /** The last time that the coordinator knew it: a join, or a response to a heartbeat. */
  readonly heardAtMs: number | null;
  /** Since the start. Rebalances cause some. */
  readonly commitFailures: number;
  /** Client IDs of other programs that are in its group, or were in the last 2 minutes. */
  readonly foreignMembers: readonly string[];
}

export interface PartitionProgress {
  readonly topic: string;
  readonly partition: number;
  /** Offset at which a restart would start. */
  readonly position: number;
  /** The first offset that is not fetched yet. */
  readonly next: number;
  /** The log end offset as last returned by the broker. */
  readonly end: number;
  /** When that was returned, in epoch milliseconds; null: never, and `end` is `position`. */
  readonly endAtMs: number | null;
  /** Unprocessed records in flight. */
  readonly inFlight: number;
  /** Timestamp of the oldest record that was fetched and is unprocessed; null if there is none. */
  readonly oldestUnfinishedMs: number | null;
}
