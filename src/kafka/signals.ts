/** Signs of life, of brokers and of consumers. A part of the port. */

/** The findings of the looks at the cluster. */
export interface ClusterView {
  /** All brokers of the cluster; before the first answer, the configured addresses. */
  brokers(): readonly BrokerState[];
  /** The last look at the ends of logs that every broker answered; null: none yet. */
  endsAtMs(): number | null;
  /** By broker: the sum of the throttle times in its responses since the start, in milliseconds. */
  throttledMs(): ReadonlyMap<string, number>;
}

export interface BrokerState {
  /** `host:port` */
  readonly broker: string;
  /** Since when it doesn't answer, and what fails; null: it does. */
  readonly outage: { readonly sinceMs: number; readonly error: string } | null;
}

/** Signs that a consumer is alive. Times are epoch milliseconds; null: not yet. */
export interface ConsumerVitals {
  /** Whether the group has given it its partitions, perhaps none, and it has not given them up. */
  readonly isAssigned: boolean;
  /** The last answer to a fetch. */
  readonly fetchedAtMs: number | null;
  /** The last time that the coordinator knew it: a join, or an answer to a heartbeat. */
  readonly heardAtMs: number | null;
  /** Since the start. Rebalances make some. */
  readonly commitFailures: number;
  /** Client IDs of other programs that are in its group, or were in the last 2 minutes. */
  readonly foreignMembers: readonly string[];
}

export interface PartitionProgress {
  readonly topic: string;
  readonly partition: number;
  /** Offset that a restart would begin at. */
  readonly position: number;
  /** The first offset that is not fetched yet. */
  readonly next: number;
  /** End of the partition as last heard from the broker. */
  readonly end: number;
  /** When that was heard, in epoch milliseconds; null: never, and `end` is `position`. */
  readonly endAtMs: number | null;
  /** Unfinished records in flight. */
  readonly inFlight: number;
  /** Record time of the oldest record that was fetched and is unfinished; null: there is none. */
  readonly oldestUnfinishedMs: number | null;
}
