/** The part of the port for administering the cluster. */

export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  /** If null, the broker's default applies. */
  readonly replicationFactor: number | null;
  /** Required topic configuration, such as `retention.ms`. */
  readonly config: Readonly<Record<string, string>>;
}

export interface TopicState {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** The values of the requested keys, including defaults, as strings. */
  readonly config: Readonly<Record<string, string>>;
  /**
   * The missing permission, if any; `config` is then empty. If `Describe` is missing, `partitions` is 0, and it is
   * unknown whether the topic exists.
   */
  readonly lacks?: "Describe" | "DescribeConfigs";
}

/** A setting of a topic that the cluster does not allow. */
export interface RejectedSetting {
  readonly topic: string;
  readonly setting: string;
  readonly planned: string;
  /** The value that was set instead; null if no value was set, in which case a new topic has the cluster's default. */
  readonly instead: string | null;
  /** The reason that the cluster gave. */
  readonly error: string;
}

export type OnRejected = (rejected: RejectedSetting) => void;

/** Calls run one at a time, each with a time limit. A call that fails throws an error. */
export interface Admin {
  /** Returns the names of all topics that this process may describe. */
  topics(): Promise<readonly string[]>;
  /**
   * Distinguishes missing topics from topics that the brokers hide: `topics` returns neither.
   *
   * @throws MissingPermissionError with the topics in `names` that the brokers hide.
   */
  assertVisible(names: readonly string[]): Promise<void>;
  /**
   * Describes the topics in `names` that exist, with the requested configuration keys.
   *
   * @param isPartial if `true`, a hidden topic is returned with the permission that it `lacks`;
   *   otherwise the call fails.
   */
  describe(
    names: readonly string[],
    configKeys: readonly string[],
    isPartial?: boolean,
  ): Promise<readonly TopicState[]>;
  /**
   * Creates topics and returns when they can be used. An existing topic stays unchanged. A topic whose
   * settings the cluster does not allow is created with as many of these settings as possible.
   *
   * @param onRejected called for each setting that was not allowed. Must not throw.
   * @throws Error with the topics that could not be created, and the reason; all other topics were created.
   */
  create(topics: readonly TopicSpec[], onRejected?: OnRejected): Promise<void>;
  /**
   * Sets only the given keys, and of these only the ones that the cluster allows.
   *
   * @param is the current values of the keys, if known. They are needed because `max.message.bytes` is never lowered.
   */
  alterConfig(
    topic: string,
    config: Readonly<Record<string, string>>,
    onRejected?: OnRejected,
    is?: Readonly<Record<string, string>>,
  ): Promise<void>;
  deleteTopics(names: readonly string[]): Promise<void>;
  /** Returns the first offset and the end of each partition. The end is before transactions that are open. */
  offsets(topic: string): Promise<readonly PartitionOffsets[]>;
  /**
   * Returns, for each partition, the offset of the first record that was written at `atMs` or later. If there is none,
   * returns the end, which is the same as in `offsets`.
   */
  offsetsAt(topic: string, atMs: number): Promise<readonly PartitionOffset[]>;
  /** Returns a group's committed offsets in a topic. Partitions without a committed offset are omitted. */
  committed(groupId: string, topic: string): Promise<readonly CommittedOffset[]>;
  /**
   * Like `offsets`, but for many topics in one call, and with the log end offset, which is after open transactions.
   * Missing topics are omitted.
   */
  offsetsOf(
    topics: readonly string[],
    onUnknown?: OnUnknown,
  ): Promise<ReadonlyMap<string, readonly PartitionOffsets[]>>;
  /**
   * Like `committed`, but for many groups in one call, each with several topics. The result is by group, then by topic.
   */
  committedOf(
    groups: ReadonlyMap<string, readonly string[]>,
    onUnknown?: OnUnknown,
  ): Promise<ReadonlyMap<string, ReadonlyMap<string, readonly CommittedOffset[]>>>;
  /** Returns topic IDs by name. Topics that do not exist, or have no ID, are omitted. */
  topicIds(topics: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Commits offsets for a group, which is created if necessary. Rejects if the group has members. */
  commit(groupId: string, topic: string, offsets: readonly CommittedOffset[]): Promise<void>;
  deleteGroup(groupId: string): Promise<void>;
  requestVersions(): Promise<ClusterVersions>;
  /** Returns a setting of the brokers, such as `offsets.retention.minutes`; null if it is not visible. */
  brokerSetting(key: string): Promise<string | null>;
}

/**
 * Called for each topic for which the cluster returned an error, for example because a permission is missing or a partition has no
 * leader. The topic is then omitted from the result. If there is no callback, an error is thrown at the first such
 * topic.
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
    /** Why the broker is unreachable; null if it has responded. Only brokers that responded are compared. */
    readonly error: string | null;
  }[];
  readonly requests: readonly RequestVersions[];
}

export interface RequestVersions {
  /** Kafka's name for the request. */
  readonly request: string;
  /** Versions that can be sent. */
  readonly known: VersionRange;
  /** Versions that are accepted by every broker that responded; null if there is no such version. */
  readonly accepted: VersionRange | null;
  /**
   * The versions in use. There are several if the brokers accept different versions, and none if a broker accepts no
   * known version.
   */
  readonly sent: readonly number[];
  /**
   * `near`: Switchyard sends the lowest version that the cluster accepts, or the one above it, and cannot send the
   * newer versions that the cluster accepts. A later release of Kafka may drop the version that is sent.
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
  /** At most 4,096 bytes with the brokers' default settings. */
  readonly metadata: string;
}
