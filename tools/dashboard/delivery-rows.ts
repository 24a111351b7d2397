/** The dashboard's rows about calls and deliveries: first what a person wants to know first. */

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
          "Of the deliveries that ended, those that an endpoint accepted. The others are dead letters.",
        ...look("stat", 4, "percentunit"),
        limits: [0.999, 0.99],
        queries: { "": `sum(${rate("attempts", ACCEPTED)}) / sum(${rate("attempts", ENDED)})` },
      },
      {
        title: "p99 from receipt",
        description: "From the receipt of a call to its acceptance, retries included.",
        ...look("stat", 4, "s"),
        limits: [10, 300],
        queries: { "": quantile(0.99, "deliveryLatency") },
      },
      {
        title: "Accepted a second",
        description: "Attempts that an endpoint accepted.",
        ...look("stat", 4, "reqps"),
        queries: { "": `sum(${rate("attempts", ACCEPTED)})` },
      },
      {
        title: "Delivered share by destination",
        description: "Of the deliveries that ended, those that an endpoint accepted.",
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
          "p99. With metrics.destinations other than full, all or some destinations are one line.",
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
          "Destinations of which at least half of the attempts in a minute failed and that have not recovered since, and for how long. Empty is good.",
        ...look("bargauge", 6, "s"),
        limits: [300, 1_800],
        queries: {
          "{{destination}}": most(
            `time() - min by (destination) (${of("destinationFailingSince")} > 0)`,
          ),
        },
      },
      {
        title: "Requests that fail, by cause",
        description:
          "A status, or the reason why there was no response. Most of these attempts are made again.",
        ...look("timeseries", 9, "reqps"),
        queries: {
          "{{destination}} {{outcome}}": most(
            `sum by (destination, outcome) (${rate("requests", 'outcome!="2xx"')}) > 0`,
          ),
        },
      },
      {
        title: "Time of an attempt",
        description: "p99 of the receivers' answers, up to the time limit of an attempt.",
        ...look("timeseries", 9, "s"),
        queries: { "{{destination}}": most(quantile(0.99, "attemptDuration", ["destination"])) },
      },
    ],
  },
  {
    title: "What waits?",
    height: 8,
    panels: [
      {
        title: "Age of the oldest record",
        description:
          "How long the oldest record has waited for its stage. Of delay it is the delay itself.",
        ...look("timeseries", 8, "s"),
        queries: {
          "{{stage}} {{destination}}": most(
            `max by (stage, destination) (${of("oldestUnfinished")})`,
          ),
        },
      },
      {
        title: "Records that wait for a stage",
        description: "Lag, at most 15 s old. A gap: it is not known, such as while Kafka is away.",
        ...look("timeseries", 8, "short"),
        queries: {
          "{{stage}} {{destination}}": most(`sum by (stage, destination) (${of("lag")})`),
        },
      },
      {
        title: "Share of retention used",
        description: "At 100 % Kafka deletes the oldest record unread.",
        ...look("timeseries", 8, "percentunit"),
        limits: [0.5, 0.75],
        queries: {
          "{{stage}} {{destination}}": most(
            `max by (stage, destination) (${of("oldestUnfinished")}) / min by (stage, destination) (${of("topicRetention")})`,
          ),
        },
      },
      {
        title: "Deliveries awaiting retry, by retry delay",
        description: "In delay topics, for their next attempt.",
        ...look("timeseries", 8, "short"),
        queries: { "{{delay}}": `sum by (delay) (${of("deliveriesWaiting")})` },
      },
      {
        title: "Deliveries that wait, by destination",
        description: "In delay topics, for their next attempt.",
        ...look("timeseries", 8, "short"),
        queries: {
          "{{destination}}": most(`sum by (destination) (${of("deliveriesWaiting")}) > 0`),
        },
      },
      {
        title: "Time until the first one is given up",
        description: "Until the window of a waiting delivery ends. It is a dead letter then.",
        ...look("timeseries", 8, "s"),
        queries: {
          "{{destination}}": least(`min by (destination) (${of("firstWindowEnd")} > 0) - time()`),
        },
      },
    ],
  },
  {
    title: "Breakers and held lines",
    height: 8,
    panels: [
      {
        title: "Breakers",
        description: "Of each endpoint. While it is open or half-open, the endpoint is left alone.",
        ...look("state-timeline", 14, "none"),
        names: BREAKER,
        queries: {
          "{{destination}} {{endpoint_name}}": most(
            `max by (destination, endpoint_name, endpoint_id) (${of("circuitBreakerState")})`,
          ),
        },
      },
      {
        title: "Held lines",
        description: "Nothing is taken from the line of a destination, and why.",
        ...look("state-timeline", 10, "none"),
        names: { 0: "goes", 1: "on hold" },
        queries: {
          "{{destination}}: {{reason}}": most(
            `max by (destination, reason) (${of("lineHeld")}) == 1`,
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
        title: "Dead letters a second",
        description: "Records that were given up, by reason.",
        ...look("timeseries", 8, "reqps"),
        queries: { "{{stage}} {{reason}}": `sum by (stage, reason) (${rate("deadLetters")})` },
      },
      {
        title: "Dead letters in this time",
        description: "By destination and reason. An empty destination: the record was no delivery.",
        ...look("table", 8, "short"),
        queries: {
          "": most(`sum by (stage, destination, reason) (${counted("deadLetters")}) > 0`),
        },
      },
      {
        title: "Sending them again",
        description:
          "Commands for one destination: choose it above. Dead letters are kept for 14 days.",
        look: "text",
        width: 8,
        markdown: [
          "Repair the cause first. See why:",
          "```\nswitchyard dead-letters list --destination $destination --since 1h\n```",
          "See where they would go, then leave out `--dry-run`:",
          "```\nswitchyard dead-letters replay --destination $destination --since 1h --dry-run\n```",
          "Dead letters of route, deletion and audience have no destination: leave the option out.",
        ].join("\n\n"),
      },
    ],
  },
];
