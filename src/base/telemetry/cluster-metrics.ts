/** The metrics of the Kafka cluster, and of the consumers in it. */

const PRODUCE_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export const CLUSTER_METRICS = {
  kafkaConnected: {
    name: "switchyard_kafka_broker_reachable",
    type: "gauge",
    labels: ["broker"],
    help: "1 while the broker responds to this process, 0 while it is unreachable; checked every 5 s.",
  },
  brokerUnreachableSince: {
    name: "switchyard_kafka_broker_unreachable_since_timestamp_seconds",
    type: "gauge",
    labels: ["broker"],
    help: "Unix time at which the broker became unreachable; 0 if it is reachable.",
  },
  kafkaThrottle: {
    name: "switchyard_kafka_throttle_seconds_total",
    type: "counter",
    labels: ["broker"],
    help:
      "Sum of the throttle times in the broker's responses. Those of several connections can " +
      "overlap, so the rate can be above 1.",
  },
  lag: {
    name: "switchyard_consumer_lag_records",
    type: "gauge",
    labels: ["stage", "destination"],
    help:
      "Records between the committed offset and the end of the log. At most 15 s old, and " +
      "absent while unknown.",
    inStatus: true,
  },
  oldestUnfinished: {
    name: "switchyard_consumer_oldest_unprocessed_age_seconds",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "Lower bound of the age of the oldest unprocessed record; 0 if there is none. Absent while unknown.",
    inStatus: true,
  },
  lagUnknown: {
    name: "switchyard_consumers_with_unknown_lag",
    type: "gauge",
    labels: ["stage"],
    help: "Consumers whose lag is unknown, for example because they are joining.",
  },
  lagAge: {
    name: "switchyard_consumer_lag_age_seconds",
    type: "gauge",
    labels: [],
    help: "Time since the log end offsets, from which lag is computed, were refreshed from all brokers.",
  },
  topicRetention: {
    name: "switchyard_topic_retention_seconds",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "How long Kafka keeps the records that the consumer reads. Absent if they are kept forever.",
  },
  lastFetch: {
    name: "switchyard_consumer_last_fetch_timestamp_seconds",
    type: "gauge",
    labels: ["stage", "destination"],
    help:
      "Unix time of the last response to a fetch; 0 before the first. A consumer with enough " +
      "records in flight does not fetch.",
  },
  lastHeartbeat: {
    name: "switchyard_consumer_last_heartbeat_timestamp_seconds",
    type: "gauge",
    labels: ["stage", "destination"],
    help:
      "Unix time at which the coordinator last confirmed that the consumer is a member; 0 before " +
      "the first.",
  },
  foreignMembers: {
    name: "switchyard_consumer_foreign_members",
    type: "gauge",
    labels: ["stage", "destination"],
    help:
      "Other programs that were members of the consumer group in the last 2 minutes. Only the " +
      "process that leads the group sees all of them.",
  },
  commitFailures: {
    name: "switchyard_consumer_commit_failures_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Commits that failed and are retried. Each rebalance causes a few.",
  },
  produceErrors: {
    name: "switchyard_produce_errors_total",
    type: "counter",
    labels: ["error"],
    help:
      "Batches that were not acknowledged and are retried, by Kafka's name for the error, or " +
      "no-answer.",
  },
  produceDuration: {
    name: "switchyard_produce_duration_seconds",
    type: "histogram",
    labels: [],
    buckets: PRODUCE_S,
    help: "Time from a write request to its acknowledgment by all in-sync replicas.",
  },
} as const;
