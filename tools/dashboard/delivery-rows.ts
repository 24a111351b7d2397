/** The dashboard's rows about calls and deliveries, with the most important panels first. */

import { counted, least, look, most, of, quantile, type Row, rate } from "./panel.ts";

const ENDED = 'outcome=~"accepted|expired|rejected"';
const ACCEPTED = 'outcome="accepted"';
const BREAKER = { 0: "closed", 1: "recovering", 2: "open", 3: "half-open" };

export const DELIVERY_ROWS: readonly Row[] = [
  {
    title: "Do calls arrive?",
    height: 7,
    panels: [
      {
        title: "Delivered share",
        description:
          "Share of completed deliveries that an endpoint accepted. The others became dead letters.",
        ...look("stat", 4, "percentunit"),
        limits: [0.999, 0.99],
        queries: { "": `sum(${rate("attempts", ACCEPTED)}) / sum(${rate("attempts", ENDED)})` },
      },
      {
        title: "p99 from receipt",
        description:
          "Time from the receipt of a call until an endpoint accepted it, including retries.",
        ...look("stat", 4, "s"),
        limits: [10, 300],
        queries: { "": quantile(0.99, "deliveryLatency") },
      },
      {
        title: "Accepted per second",
        description: "Attempts that an endpoint accepted.",
        ...look("stat", 4, "reqps"),
        queries: { "": `sum(${rate("attempts", ACCEPTED)})` },
      },
      {
        title: "Delivered share by destination",
        description: "Share of completed deliveries that an endpoint accepted.",
        ...look("timeseries", 6, "percentunit"),
        queries: {
          "{{destination}}": least(
            `sum by (destination) (${rate("attempts", ACCEPTED)}) / sum by (destination) (${rate("attempts", ENDED)})`,
          ),
        },
      },
      {
        title: "Time from receipt by destination",
        description:
          "p99. Unless metrics.destinations is full, some or all destinations are combined.",
        ...look("timeseries", 6, "s"),
        queries: { "{{destination}}": most(quantile(0.99, "deliveryLatency", ["destination"])) },
      },
    ],
  },
  {
    title: "Which destinations fail?",
    height: 8,
    panels: [
      {
        title: "Failing for",
        description:
          "Time for which a destination has been failing: at least half of its attempts in a minute failed, and it has not recovered since. Normally empty.",
        ...look("bargauge", 6, "s"),
        limits: [300, 1_800],
        queries: {
          "{{destination}}": most(
            `time() - min by (destination) (${of("destinationFailingSince")} > 0)`,
          ),
        },
      },
      {
        title: "Failed requests by cause",
        description:
          "The response status, or the reason why there was no response. Most of these attempts are retried.",
        ...look("timeseries", 9, "reqps"),
        queries: {
          "{{destination}} {{outcome}}": most(
            `sum by (destination, outcome) (${rate("requests", 'outcome!="2xx"')}) > 0`,
          ),
        },
      },
      {
        title: "Time of an attempt",
        description: "p99 of the receivers' response times, up to the timeout of an attempt.",
        ...look("timeseries", 9, "s"),
        queries: { "{{destination}}": most(quantile(0.99, "attemptDuration", ["destination"])) },
      },
    ],
  },
  {
    title: "What is waiting?",
    height: 8,
    panels: [
      {
        title: "Age of the oldest record",
        description:
          "Age of the oldest unprocessed record of each stage. For the delay stage, this is the retry delay.",
        ...look("timeseries", 8, "s"),
        queries: {
          "{{stage}} {{destination}}": most(
            `max by (stage, destination) (${of("oldestUnfinished")})`,
          ),
        },
      },
      {
        title: "Lag by stage",
        description:
          "Consumer lag, at most 15 s old. A gap means that the lag is unknown, for example while Kafka is unreachable.",
        ...look("timeseries", 8, "short"),
        queries: {
          "{{stage}} {{destination}}": most(`sum by (stage, destination) (${of("lag")})`),
        },
      },
      {
        title: "Share of retention used",
        description:
          "Share of its retention that the oldest unprocessed record has used. At 100 %, Kafka deletes the record.",
        ...look("timeseries", 8, "percentunit"),
        limits: [0.5, 0.75],
        queries: {
          "{{stage}} {{destination}}": most(
            `max by (stage, destination) (${of("oldestUnfinished")}) / min by (stage, destination) (${of("topicRetention")})`,
          ),
        },
      },
      {
        title: "Deliveries awaiting retry by retry delay",
        description: "Deliveries that wait in delay topics for their next attempt.",
        ...look("timeseries", 8, "short"),
        queries: { "{{delay}}": `sum by (delay) (${of("deliveriesWaiting")})` },
      },
      {
        title: "Deliveries awaiting retry by destination",
        description: "Deliveries that wait in delay topics for their next attempt.",
        ...look("timeseries", 8, "short"),
        queries: {
          "{{destination}}": most(`sum by (destination) (${of("deliveriesWaiting")}) > 0`),
        },
      },
      {
        title: "Time until the first delivery expires",
        description:
          "Time until the retry window of the first delivery in a delay topic ends. The delivery then becomes a dead letter.",
        ...look("timeseries", 8, "s"),
        queries: {
          "{{destination}}": least(`min by (destination) (${of("firstWindowEnd")} > 0) - time()`),
        },
      },
      {
        title: "Blocked users",
        description:
          "With order: strict, users whose deliveries wait because an earlier one awaits a retry or is a dead letter.",
        ...look("timeseries", 12, "short"),
        queries: {
          "{{destination}}": most(`sum by (destination) (${of("orderBlockedUsers")}) > 0`),
        },
      },
      {
        title: "Deliveries of blocked users",
        description:
          "With order: strict, deliveries that wait behind an earlier one of their user.",
        ...look("timeseries", 12, "short"),
        queries: {
          "{{destination}}": most(`sum by (destination) (${of("orderWaitingDeliveries")}) > 0`),
        },
      },
    ],
  },
  {
    title: "Circuits and holds",
    height: 8,
    panels: [
      {
        title: "Circuits",
        description:
          "Circuit of each endpoint. While the circuit is open, the endpoint gets no requests. While the circuit is half-open, the endpoint gets only probes.",
        ...look("state-timeline", 14, "none"),
        names: BREAKER,
        queries: {
          "{{destination}} {{endpoint_name}}": most(
            `max by (destination, endpoint_name, endpoint_id) (${of("circuitBreakerState")})`,
          ),
        },
      },
      {
        title: "Destinations on hold",
        description: "Destinations whose queue is on hold, and the reason.",
        ...look("state-timeline", 10, "none"),
        names: { 0: "delivering", 1: "on hold" },
        queries: {
          "{{destination}}: {{reason}}": most(
            `max by (destination, reason) (${of("destinationOnHold")}) == 1`,
          ),
        },
      },
    ],
  },
  {
    title: "Dead letters",
    height: 8,
    panels: [
      {
        title: "Dead letters per second",
        description: "Dead letters by stage and reason.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{stage}} {{reason}}": `sum by (stage, reason) (${rate("deadLetters")})` },
      },
      {
        title: "Dead letters in the selected time",
        description:
          "Dead letters by destination and reason. The label `destination` is empty if the record was not a delivery.",
        ...look("table", 8, "short"),
        queries: {
          "": most(`sum by (stage, destination, reason) (${counted("deadLetters")}) > 0`),
        },
      },
      {
        title: "Replay",
        description:
          "Commands for the destination that is selected above. Dead letters are kept for 14 days.",
        look: "text",
        width: 8,
        markdown: [
          "Fix the cause first. To see it:",
          "```\nswitchyard dead-letters list --destination $destination --since 1h\n```",
          "To replay the dead letters, run this and then the same without `--dry-run`:",
          "```\nswitchyard dead-letters replay --destination $destination --since 1h --dry-run\n```",
          "Dead letters from the route, deletion and audience stages have no destination: omit the option.",
        ].join("\n\n"),
      },
    ],
  },
];
