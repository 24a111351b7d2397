/** The metrics of the process itself. */

export const PROCESS_METRICS = {
  buildInfo: {
    name: "switchyard_build_info",
    type: "gauge",
    labels: ["version", "node"],
    help: "1, with the version of Switchyard and of Node.js as labels.",
  },
  memoryLimit: {
    name: "switchyard_memory_limit_bytes",
    type: "gauge",
    labels: [],
    help: "Memory limit of the process's container, to compare with process_resident_memory_bytes. 0 if there is no limit.",
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
    help: "How far the process's clock is ahead of the brokers' clock; negative if it is behind. The stages use the brokers' clock. Absent if it cannot be measured.",
    inStatus: true,
  },
  clockTimestamp: {
    name: "switchyard_clock_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "Unix time by the process's own clock. Alerts compare it with Prometheus' clock if the brokers' clock cannot be measured.",
  },
  routesMissing: {
    name: "switchyard_routes_missing",
    type: "gauge",
    labels: [],
    help:
      "Destinations that get calls or deletions of a source from another process that runs " +
      "the same stage, but not from this process.",
    inStatus: true,
  },
  tracingSpans: {
    name: "switchyard_tracing_spans_total",
    type: "counter",
    labels: ["outcome"],
    help: "Spans by outcome: posted, or dropped because they could not be posted.",
  },
} as const;
