/** The part of the port that reports the state of brokers and consumers. */

/** The results of the checks of the cluster. */
export interface ClusterView {
  /** Returns all brokers of the cluster. Before the first response, these are the configured addresses. */
  brokers(): readonly BrokerState[];
  /**
   * Returns the time of the last check of log end offsets to which every broker responded; null if there has been none.
   */
  endsAtMs(): number | null;
  /** Returns, for each broker, the sum of the throttle times in its responses since the start, in milliseconds. */
  throttledMs(): ReadonlyMap<string, number>;
}

export interface BrokerState {
  /** `host:port` */
  readonly broker: string;
  /** The start of the broker's outage, and the error; null if the broker is reachable. */
  readonly outage: { readonly sinceMs: number; readonly error: string } | null;
}

/**
 * Signs that a consumer is alive. Times are in milliseconds since the epoch; a time is null if the event has not
 * happened yet.
 */
export interface ConsumerVitals {
  /** `true` if the consumer has an assignment that is not revoked. The assignment may be empty. */
  readonly isAssigned: boolean;
  readonly fetchedAtMs: number | null;
  /** The last time that the coordinator recognized this consumer: at a join, or in a response to a heartbeat. */
  readonly heardAtMs: number | null;
  /** Failed commits since the start. Rebalances cause some of them. */
  readonly commitFailures: number;
  /** Client IDs of other programs that are in the consumer's group, or were in the last 2 minutes. */
  readonly foreignMembers: readonly string[];
  /** Topics that only other processes in the group read, and nobody gets, because this one leads and cannot see them. */
  readonly unreadTopics: readonly string[];
  /** For each owned partition that is halted at a corrupt batch, an error that names the batch. */
  readonly halts: readonly Error[];
}

export interface PartitionProgress {
  readonly topic: string;
  readonly partition: number;
  /** The offset at which reading would continue after a restart. */
  readonly position: number;
  /** The first offset that has not been fetched yet. */
  readonly next: number;
  /** The log end offset as last returned by the broker. */
  readonly end: number;
  /**
   * When the broker returned `end`, in milliseconds since the epoch. Null if it never has; in this case, `end` equals
   * `position`.
   */
  readonly endAtMs: number | null;
  readonly inFlight: number;
  /** Timestamp of the oldest fetched record that is still unprocessed; null if there is none. */
  readonly oldestUnfinishedMs: number | null;
}
