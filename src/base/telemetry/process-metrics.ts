/** The metrics of the process itself, of what it reports to operators, and of its schema registry. */

export const PROCESS_METRICS = {
  buildInfo: {
    name: "switchyard_build_info",
    type: "gauge",
    labels: ["version", "node"],
    help: "1, with the versions of Switchyard and of Node.",
  },
  memoryLimit: {
    name: "switchyard_memory_limit_bytes",
    type: "gauge",
    labels: [],
    help: "Memory limit of the process's container; 0 if there is none.",
  },
  eventLoopDelay: {
    name: "switchyard_event_loop_delay_seconds",
    type: "gauge",
    labels: ["percentile"],
    help: "Event loop delay since the last scrape, by percentile: 50, 99 or 100.",
  },
  logLinesDropped: {
    name: "switchyard_log_lines_dropped_total",
    type: "counter",
    labels: [],
    help: "Log lines dropped because standard output could not be written.",
  },
  clockOffset: {
    name: "switchyard_clock_offset_seconds",
    type: "gauge",
    labels: [],
    help:
      "How far the process's clock is ahead of the brokers' clock; negative if it is behind. " +
      "Absent if it cannot be measured.",
    inStatus: true,
  },
  clockTimestamp: {
    name: "switchyard_clock_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "Unix time by the process's own clock, for comparison with Prometheus' clock.",
  },
  routesMissing: {
    name: "switchyard_routes_missing",
    type: "gauge",
    labels: [],
    help:
      "Destinations that get calls or deletions of a source from another process, but not from " +
      "this one.",
    inStatus: true,
  },
  suppressedUsers: {
    name: "switchyard_suppressed_users",
    type: "gauge",
    labels: [],
    help: "Suppressed users that this process knows.",
    inStatus: true,
  },
  suppressionsChangedAt: {
    name: "switchyard_suppressions_changed_timestamp_seconds",
    type: "gauge",
    labels: [],
    help:
      "Unix time of the last suppression, or end of one, that this process has read from the topic `suppressions`. It is " +
      "0 before the first one.",
    inStatus: true,
  },
  suppressionsUnreadableSince: {
    name: "switchyard_suppressions_unreadable_since_timestamp_seconds",
    type: "gauge",
    labels: [],
    help:
      "Unix time since which this process could not read the topic `suppressions`, or since which it knows that the " +
      "topic was recreated or lost records; 0 if neither is the case.",
    inStatus: true,
  },
  suppressed: {
    name: "switchyard_suppressed_total",
    type: "counter",
    labels: ["stage", "destination"],
    help:
      "Calls that ingest did not write, deliveries that route did not write, that deliver did not attempt or that delay " +
      "did not dead-letter, and users whom audience skipped in syncs, because the user is suppressed. The destination " +
      "is empty for ingest and audience.",
    inStatus: true,
    isSparse: true,
  },
  tracingSpans: {
    name: "switchyard_tracing_spans_total",
    type: "counter",
    labels: ["outcome"],
    help: "Spans by outcome: posted or dropped.",
  },
} as const;

/** The metrics of operator events and of attempt records. */
export const EVENT_METRICS = {
  operatorEventPosts: {
    name: "switchyard_operator_event_posts_total",
    type: "counter",
    labels: ["outcome"],
    help:
      "Posts of operator events to the operator's webhook, by outcome: accepted, rejected, " +
      "retry, or too-old (not posted after a day).",
  },
  attemptRecords: {
    name: "switchyard_attempt_records_total",
    type: "counter",
    labels: ["outcome"],
    help: "Attempt records by outcome: written or dropped.",
  },
} as const;

/** The metrics of a schema registry. */
export const REGISTRY_METRICS = {
  registrySchemas: {
    name: "switchyard_registry_schemas",
    type: "gauge",
    labels: [],
    help: "Compiled schemas that this process has cached.",
  },
  registryWaiting: {
    name: "switchyard_registry_pending_schemas",
    type: "gauge",
    labels: [],
    help: "Schemas that are being looked up. Partitions wait for them.",
  },
  registryUnreachableSince: {
    name: "switchyard_registry_unreachable_since_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "Unix time since which no lookup has had a usable response; 0 if the last lookup had one.",
  },
} as const;
