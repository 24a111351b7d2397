/** The metrics of operator events and of attempt records. */

export const EVENT_METRICS = {
  operatorEvents: {
    name: "switchyard_operator_events_total",
    type: "counter",
    labels: ["kind"],
    help: "Operator events that this process has written, by kind.",
  },
  operatorEventPosts: {
    name: "switchyard_operator_event_posts_total",
    type: "counter",
    labels: ["outcome"],
    help:
      "Posts of operator events to the operator's webhook, by outcome: accepted, rejected, " +
      "retry (the post failed and will be retried), or too-old (the event was a day old and was " +
      "not sent).",
  },
  attemptRecords: {
    name: "switchyard_attempt_records_total",
    type: "counter",
    labels: ["outcome"],
    help: "Attempt records by outcome: written, or dropped because the topic is not writable or the records arrive too fast. Deliveries do not wait for attempt records.",
  },
} as const;
