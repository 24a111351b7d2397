/** The part of the metrics table that is about the cluster, and about the consumers' life in it. */

const PRODUCE_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export const CLUSTER_METRICS = {
  kafkaConnected: {
    name: "switchyard_kafka_broker_reachable",
    type: "gauge",
    labels: ["broker"],
    help: "1 while the broker answers this process, 0 while it is away; asked every 5 s. Alert on 0.",
  },
  brokerUnreachableSince: {
    name: "switchyard_kafka_broker_unreachable_since_timestamp_seconds",
    type: "gauge",
    labels: ["broker"],
    help: "Since when the broker does not answer; 0: it does.",
  },
  kafkaThrottle: {
    name: "switchyard_kafka_throttle_seconds_total",
    type: "counter",
    labels: ["broker"],
    help: "Sum of the throttle times in responses from the broker: pauses on single connections, because this process is above one of its quotas in Kafka. Pauses on several connections overlap, so the rate can be above 1.",
  },
  lag: {
    name: "switchyard_consumer_lag_records",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "Records between the committed position and the end of the log, in the partitions owned here, at most 15 s old; destination is empty for shared stages. Absent while it is not known.",
  },
  oldestUnfinished: {
    name: "switchyard_consumer_oldest_unprocessed_age_seconds",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "Age of the oldest record that is not finished, at least; 0 when there is none. Absent while it is not known.",
  },
  lagUnknown: {
    name: "switchyard_consumers_with_unknown_lag",
    type: "gauge",
    labels: ["stage"],
    help: "Consumers whose lag is not known: Kafka is away, or they join, or start again. Alert on minutes of it.",
  },
  lagAge: {
    name: "switchyard_consumer_lag_age_seconds",
    type: "gauge",
    labels: [],
    help: "Time since all brokers last told the ends of logs: the age of lags. They are asked every 10 s.",
  },
  topicRetention: {
    name: "switchyard_topic_retention_seconds",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "How long Kafka keeps the records that the consumer reads, looked up every 10 min; as planned, where the topic's settings may not be seen. Absent where they are kept for ever.",
  },
  lastFetch: {
    name: "switchyard_consumer_last_fetch_timestamp_seconds",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "The last answer to a fetch; of several consumers, the earliest. A consumer that has enough in hand fetches nothing. 0: not yet.",
  },
  lastHeartbeat: {
    name: "switchyard_consumer_last_heartbeat_timestamp_seconds",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "The last time that the coordinator knew the consumer; of several, the earliest. It rises while the consumer lives. 0: not yet.",
  },
  foreignMembers: {
    name: "switchyard_consumer_foreign_members",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "Other programs that are members of the consumer group, or were in the last 2 minutes, by client ID. The process that leads the group sees all of them. Absent: there are none.",
  },
  commitFailures: {
    name: "switchyard_consumer_commit_failures_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Commits that failed and are tried again. Rebalances make a few.",
  },
  produceErrors: {
    name: "switchyard_produce_errors_total",
    type: "counter",
    labels: ["error"],
    help: "Batches that were not acknowledged and are tried again, by Kafka's name of the error, or no-answer.",
  },
  produceDuration: {
    name: "switchyard_produce_duration_seconds",
    type: "histogram",
    labels: [],
    buckets: PRODUCE_S,
    help: "From a request to write until the broker's answer, acknowledged by all in-sync replicas.",
  },
} as const;
