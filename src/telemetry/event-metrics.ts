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
    help: "Posts of operator events to the operator's webhook: accepted, rejected, failed and to be retried (retry), or not sent because the event is a day old (too-old).",
  },
  attemptRecords: {
    name: "switchyard_attempt_records_total",
    type: "counter",
    labels: ["outcome"],
    help: "Attempt records: written, or dropped because the topic is not writable or they arrive too fast. Deliveries do not wait for them.",
  },
} as const;
