/** The part of the metrics table that is about the process itself. */

export const PROCESS_METRICS = {
  buildInfo: {
    name: "switchyard_build_info",
    type: "gauge",
    labels: ["version", "node"],
    help: "1; the labels say which version runs, on which Node.js.",
  },
  eventLoopDelay: {
    name: "switchyard_event_loop_delay_seconds",
    type: "gauge",
    labels: ["quantile"],
    help: "Event loop delay since the last scrape.",
  },
} as const;
