/** The metrics of operator events and of attempt records. */

export const EVENT_METRICS = {
  operatorEvents: {
    name: "switchyard_operator_events_total",
    type: "counter",
    labels: ["kind"],
    help: "Operator events written, by kind.",
  },
  operatorEventPosts: {
    name: "switchyard_operator_event_posts_total",
    type: "counter",
    labels: ["outcome"],
    help:
      "Posts of operator events to the operator's webhook, by outcome: accepted, rejected, " +
      "retry (will be posted again), or too-old (a day old, not posted).",
  },
  attemptRecords: {
    name: "switchyard_attempt_records_total",
    type: "counter",
    labels: ["outcome"],
    help:
      "Attempt records by outcome: written, or dropped because the topic is not writable or the " +
      "records arrive too fast.",
  },
} as const;
