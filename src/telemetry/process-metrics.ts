/** The metrics of the process itself. */

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
    labels: ["quantile"],
    help: "Event loop delay since the last scrape.",
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
  tracingSpans: {
    name: "switchyard_tracing_spans_total",
    type: "counter",
    labels: ["outcome"],
    help: "Spans by outcome: posted, or dropped because they could not be posted.",
  },
} as const;
