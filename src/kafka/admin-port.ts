/** The administration of the cluster. A part of the port. */

export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  /** Null: the broker's default. */
  readonly replicationFactor: number | null;
  /** Topic configuration that must hold, such as `retention.ms`. */
  readonly config: Readonly<Record<string, string>>;
}

export interface TopicState {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** The values of the asked keys that differ from the broker's default or not, as strings. */
  readonly config: Readonly<Record<string, string>>;
  /**
   * It cannot be told in whole without this permission: `config` is empty. Without
   * `Describe` there are no partitions either, and the topic may be missing.
   */
  readonly lacks?: "Describe" | "DescribeConfigs";
}

/** A setting of a topic that the cluster does not allow. */
export interface RejectedSetting {
  readonly topic: string;
  readonly setting: string;
  readonly planned: string;
  /** The value that was set instead; null: nothing. A new topic then has the cluster's default. */
  readonly instead: string | null;
  /** The cluster's own reason. */
  readonly error: string;
}

export type OnRejected = (rejected: RejectedSetting) => void;

/** Calls run one at a time, each with a time limit; a failed one throws. */
export interface Admin {
  /** Names of all topics that the cluster lets us see. */
  topics(): Promise<readonly string[]>;
  /**
   * Tells topics that are missing from topics that the brokers do not show: `topics` has neither.
   *
   * @throws MissingPermissionError naming those of `names` that they do not show.
   */
  assertVisible(names: readonly string[]): Promise<void>;
  /**
   * Those of `names` that exist, with the configuration keys asked for.
   *
   * @param isPartial a topic that may not be seen is told with the permission that it `lacks`, where the
   *   call would fail else.
   */
  describe(
    names: readonly string[],
    configKeys: readonly string[],
    isPartial?: boolean,
  ): Promise<readonly TopicState[]>;
  /**
   * Creates topics; one that exists already is left as it is. Returns when they can be used. A topic
   * whose settings the cluster does not allow is created with as much of them as it allows.
   *
   * @param onRejected called for each setting that was not allowed. Must not throw.
   * @throws Error naming the topics that were not created, with the reason; all others are.
   */
  create(topics: readonly TopicSpec[], onRejected?: OnRejected): Promise<void>;
  /**
   * Sets only the given keys, and of these as much as the cluster allows.
   *
   * @param is what they are now, if that is known: `max.message.bytes` is never lowered.
   */
  alterConfig(
    topic: string,
    config: Readonly<Record<string, string>>,
    onRejected?: OnRejected,
    is?: Readonly<Record<string, string>>,
  ): Promise<void>;
  deleteTopics(names: readonly string[]): Promise<void>;
  /** First offset and end of each partition of the topic. */
  offsets(topic: string): Promise<readonly PartitionOffsets[]>;
  /**
   * For each partition the first offset whose record was written at `atMs` or later; the end where
   * there is none.
   */
  offsetsAt(topic: string, atMs: number): Promise<readonly PartitionOffset[]>;
  /** Committed offsets of a group in a topic; partitions without one are left out. */
  committed(groupId: string, topic: string): Promise<readonly CommittedOffset[]>;
  /** As `offsets`, of many topics together. One that does not exist is left out. */
  offsetsOf(
    topics: readonly string[],
    onUnknown?: OnUnknown,
  ): Promise<ReadonlyMap<string, readonly PartitionOffsets[]>>;
  /** As `committed`, of many groups together, each in some topics: by group, then by topic. */
  committedOf(
    groups: ReadonlyMap<string, readonly string[]>,
    onUnknown?: OnUnknown,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly CommittedOffset[]>>>;
  /** Ids of topics by name. One that does not exist, or that brokers know no id of, is left out. */
  topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Commits for a group, which is made where there is none. A group with members is refused. */
  commit(groupId: string, topic: string, offsets: readonly CommittedOffset[]): Promise<void>;
  deleteGroup(groupId: string): Promise<void>;
  /** The versions of requests that are sent to the brokers, and those that they accept. */
  requestVersions(): Promise<ClusterVersions>;
  /** A setting of the brokers, such as `offsets.retention.minutes`, or null when it is not shown. */
  brokerSetting(key: string): Promise<string | null>;
}

/**
 * Called for a topic that the cluster does not answer for: a permission is missing, a partition has no
 * leader. It is left out then, and the others are there. Without it the first such topic throws.
 */
export type OnUnknown = (topic: string, error: Error) => void;

export interface VersionRange {
  readonly min: number;
  readonly max: number;
}

export interface ClusterVersions {
  readonly brokers: readonly {
    readonly nodeId: number;
    readonly address: string;
    /** Why it cannot be reached; null: it has responded, and counts. */
    readonly error: string | null;
  }[];
  readonly requests: readonly RequestVersions[];
}

/** One kind of request. */
export interface RequestVersions {
  /** Kafka's name of it. */
  readonly request: string;
  /** Can be sent. */
  readonly known: VersionRange;
  /** By every broker that has responded; null: there is no such version. */
  readonly accepted: VersionRange | null;
  /** One; several if brokers differ; empty: a broker accepts none. */
  readonly sent: readonly number[];
  /**
   * `near`: it is sent in the lowest version that the cluster accepts, or the one above it, and the
   * cluster accepts newer ones, which cannot be sent. A later release of Kafka may drop it.
   */
  readonly state: "ok" | "near" | "none";
}

export interface PartitionOffsets {
  readonly partition: number;
  readonly first: number;
  readonly end: number;
}

export interface PartitionOffset {
  readonly partition: number;
  readonly offset: number;
}

export interface CommittedOffset extends PartitionOffset {
  /** At most 4,096 bytes by the brokers' default. */
  readonly metadata: string;
}
