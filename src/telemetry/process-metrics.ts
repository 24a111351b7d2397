/** The part of the metrics table that is about the process itself. */

export const PROCESS_METRICS = {
  buildInfo: {
    name: "switchyard_build_info",
    type: "gauge",
    labels: ["version", "node"],
    help: "1; the labels say which version runs, on which Node.js.",
  },
  memoryLimit: {
    name: "switchyard_memory_limit_bytes",
    type: "gauge",
    labels: [],
    help: "Memory that the process may use, as its container is set; to compare with process_resident_memory_bytes. 0: no limit.",
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
    help: "How far the process's clock is ahead of the brokers'; negative: behind. The stages go by the brokers' clock. Absent: it cannot be measured.",
  },
  clockTimestamp: {
    name: "switchyard_clock_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "The process's own clock. Prometheus compares it with its own clock where the brokers' clock cannot be measured.",
  },
  routesMissing: {
    name: "switchyard_routes_missing",
    type: "gauge",
    labels: [],
    help: "Destinations that another process of the cluster sends calls or deletions of a source to, and this one, whose work is the same, does not.",
  },
  tracingSpans: {
    name: "switchyard_tracing_spans_total",
    type: "counter",
    labels: ["outcome"],
    help: "Spans by outcome: posted, or dropped because they could not be posted.",
  },
} as const;
