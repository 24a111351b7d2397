/** The part of the metrics table that is about topics for people: events, attempts. */

export const EVENT_METRICS = {
  operatorEvents: {
    name: "switchyard_operator_events_total",
    type: "counter",
    labels: ["kind"],
    help: "Events for people that this process has written, by kind.",
  },
  operatorEventPosts: {
    name: "switchyard_operator_event_posts_total",
    type: "counter",
    labels: ["outcome"],
    help: "Posts of events to the operator's webhook: accepted, rejected, to be tried again (retry), or not made because the event is a day old (too-old).",
  },
  attemptRecords: {
    name: "switchyard_attempt_records_total",
    type: "counter",
    labels: ["outcome"],
    help: "Records of the topic of attempts: written, or dropped because the topic took nothing or they came too fast. No delivery waits for them.",
  },
} as const;
