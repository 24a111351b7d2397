/**
 * The table of metrics. The instruments, their types and `docs/metrics.md` are derived from it.
 *
 * The number of label values is limited: labels contain destinations, stages, retry delays, reasons and outcome
 * classes, but never URLs, user IDs or message IDs. As Prometheus recommends, durations are in seconds, and sizes
 * are in bytes.
 */

import { AUDIENCE_METRICS } from "./audience-metrics.ts";
import { CLUSTER_METRICS } from "./cluster-metrics.ts";
import { DESTINATION_METRICS, WAITING_METRICS } from "./destination-metrics.ts";
import { EVENT_METRICS, PROCESS_METRICS, REGISTRY_METRICS } from "./process-metrics.ts";

export interface MetricSpec {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
  /** If `true`, zeros are omitted unless `metrics.destinations` is `full`. */
  readonly isSparse?: boolean;
  /** If `true`, `GET /status?metrics` reports the metric, for `switchyard status` and the console. */
  readonly inStatus?: boolean;
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

const LATENCY_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 14400];
const ATTEMPT_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LATENESS_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300];

/** All metrics. `instruments.ts` creates an instrument for each of them. */
export const METRICS = {
  recordsIn: {
    name: "switchyard_records_in_total",
    type: "counter",
    labels: ["stage"],
    help: "Records that a stage read from its topics.",
    inStatus: true,
  },
  recordsOut: {
    name: "switchyard_records_out_total",
    type: "counter",
    labels: ["stage"],
    help: "Records that a stage wrote and the brokers acknowledged.",
    inStatus: true,
  },
  recordsRefused: {
    name: "switchyard_records_rejected_total",
    type: "counter",
    labels: ["stage", "reason"],
    help: "Records that a stage could not use, by dead-letter reason.",
    inStatus: true,
  },
  callsRouted: {
    name: "switchyard_route_deliveries_total",
    type: "counter",
    labels: ["destination"],
    help: "Deliveries that the route stage wrote for a destination.",
    inStatus: true,
  },
  callsUnrouted: {
    name: "switchyard_route_calls_without_destination_total",
    type: "counter",
    labels: ["source"],
    help: "Valid calls that were routed to no destination.",
  },
  callsTimeUnread: {
    name: "switchyard_route_calls_with_unread_time_total",
    type: "counter",
    labels: ["source"],
    help: "Calls with a time that cannot be read, and is therefore ignored (docs/calls.md#timestamps).",
  },
  callsSkipped: {
    name: "switchyard_route_calls_skipped_total",
    type: "counter",
    labels: ["destination", "reason"],
    help:
      "Valid calls that a destination does not get, by the first reason that applies " +
      "(docs/rules.md#order).",
    inStatus: true,
  },
  deletesWritten: {
    name: "switchyard_deletion_notifications_total",
    type: "counter",
    labels: ["destination"],
    help: "Delete notifications that the deletion stage wrote for a destination.",
  },
  deletesSkipped: {
    name: "switchyard_deletion_notifications_skipped_total",
    type: "counter",
    labels: ["destination"],
    help: "Delete notifications not written, because the destination's rules remove every user ID.",
  },
  deletionsUnheard: {
    name: "switchyard_deletion_requests_without_destination_total",
    type: "counter",
    labels: [],
    help: "Valid deletion requests that are not sent to any webhook destination.",
  },
  attempts: {
    name: "switchyard_delivery_attempts_total",
    type: "counter",
    labels: ["destination", "outcome"],
    help: "Attempts by decision: accepted, retry, expired, rejected.",
    inStatus: true,
  },
  requests: {
    name: "switchyard_delivery_requests_total",
    type: "counter",
    labels: ["destination", "outcome"],
    help:
      "HTTP requests by outcome: 2xx, 3xx, 4xx, 429, 5xx, the reason why there was no response, or " +
      "what was missing to send it: proxy, token.",
    inStatus: true,
  },
  batchResponsesUnreadable: {
    name: "switchyard_delivery_batch_responses_unreadable_total",
    type: "counter",
    labels: ["destination"],
    help:
      "Successful responses to batches without a status for each call, although the " +
      "destination has `responses: each`.",
  },
  attemptDuration: {
    name: "switchyard_delivery_attempt_duration_seconds",
    type: "histogram",
    labels: ["destination"],
    buckets: ATTEMPT_S,
    help: "Duration of an attempt, until the last of its requests has ended.",
    inStatus: true,
  },
  deliveryLatency: {
    name: "switchyard_delivery_latency_seconds",
    type: "histogram",
    labels: ["destination"],
    buckets: LATENCY_S,
    help: "Time from the receipt of a call to its acceptance.",
  },
  inFlight: {
    name: "switchyard_delivery_attempts_in_flight",
    type: "gauge",
    labels: ["destination"],
    help: "Deliveries that are being attempted.",
  },
  ...EVENT_METRICS,
  ...DESTINATION_METRICS,
  expiredWaiting: {
    name: "switchyard_deliveries_expired_while_due_total",
    type: "counter",
    labels: ["destination", "reason"],
    help:
      "Deliveries whose retry window ended while they were due, by reason: circuit-open, " +
      "retry-after, token, proxy, gone, paused, disabled, or late (returned by the delay topic after the " +
      "end).",
  },
  numbersRounded: {
    name: "switchyard_delivery_rounded_numbers_total",
    type: "counter",
    labels: ["destination"],
    help: "Calls with an integer beyond 2^53, which JavaScript rounds.",
  },
  ...AUDIENCE_METRICS,
  ...CLUSTER_METRICS,
  ...WAITING_METRICS,
  delayLateness: {
    name: "switchyard_delay_overdue_seconds",
    type: "histogram",
    labels: ["delay"],
    buckets: LATENESS_S,
    help: "Time between a record's due time and its return to the destination's topic.",
  },
  rerouted: {
    name: "switchyard_deliveries_rerouted_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Deliveries written to a delay topic because their own topic is not writable.",
    inStatus: true,
  },
  topicBlockedSince: {
    name: "switchyard_topic_not_writable_since_timestamp_seconds",
    type: "gauge",
    labels: ["topic", "destination"],
    help: "Unix time at which a topic, or one of its partitions, became unwritable; 0 if it is writable.",
    inStatus: true,
  },
  deadLetters: {
    name: "switchyard_dead_letters_total",
    type: "counter",
    labels: ["stage", "reason", "destination"],
    help: "Dead letters written. The label `destination` is empty if the record was not a delivery.",
    inStatus: true,
  },
  rebalances: {
    name: "switchyard_consumer_rebalances_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Partition assignments that a consumer received, including the first.",
  },
  offsetResets: {
    name: "switchyard_consumer_offset_resets_total",
    type: "counter",
    labels: ["stage", "destination"],
    help:
      "Number of times that records were deleted before they were read, by retention or with " +
      "their topic.",
  },
  consumerRestarts: {
    name: "switchyard_consumer_restarts_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Number of times that a crashed consumer was restarted.",
  },
  consumerHalted: {
    name: "switchyard_consumer_halted",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "1 while a corrupt batch halts the consumer.",
    isSparse: true,
  },
  haltedOffset: {
    name: "switchyard_consumer_halted_offset",
    type: "gauge",
    labels: ["stage", "destination", "topic", "partition"],
    help: "First offset of the corrupt batch that halts the consumer; absent if there is none.",
    inStatus: true,
  },
  recordsLost: {
    name: "switchyard_consumer_records_lost",
    type: "gauge",
    labels: ["stage", "destination", "topic"],
    help:
      "Maximum number of records of the topic that were deleted before they were processed, for 24 h after the " +
      "last loss; 0 if the number is unknown, absent if no records were lost.",
    inStatus: true,
  },
  batchesSkipped: {
    name: "switchyard_corrupt_batches_skipped_total",
    type: "counter",
    labels: ["stage", "topic"],
    help: "Corrupt batches skipped because kafka.onCorruptBatch is skip.",
  },
  ingestRequests: {
    name: "switchyard_ingest_requests_total",
    type: "counter",
    labels: ["code"],
    help:
      "Requests to the ingest stage by outcome: ok, an error code from docs/http-apis.md, " +
      "ignored-metrics, ignored-merge, or client-closed (before the response).",
  },
  ingestCalls: {
    name: "switchyard_ingest_calls_total",
    type: "counter",
    labels: ["source"],
    help: "Calls accepted over HTTP and acknowledged by the brokers.",
  },
  ingestCallsRejected: {
    name: "switchyard_ingest_calls_rejected_total",
    type: "counter",
    labels: ["source", "reason"],
    help: "Calls rejected in requests whose other calls were accepted: invalid-call, too-large.",
  },
  ingestCallsRepaired: {
    name: "switchyard_ingest_calls_repaired_total",
    type: "counter",
    labels: ["source"],
    help: "Calls that were stored after a repair of their JSON (docs/http-apis.md#broken-calls).",
  },
  ingestDuration: {
    name: "switchyard_ingest_request_duration_seconds",
    type: "histogram",
    labels: [],
    buckets: ATTEMPT_S,
    help: "Time from when the head of a request with calls is received until its response is sent.",
  },
  ingestInFlightBytes: {
    name: "switchyard_ingest_in_flight_bytes",
    type: "gauge",
    labels: [],
    help: "Bytes of bodies being read, and of records that are not acknowledged.",
  },
  ingestConnections: {
    name: "switchyard_ingest_connections",
    type: "gauge",
    labels: [],
    help: "Open connections.",
  },
  ingestConnectionsClosed: {
    name: "switchyard_ingest_connections_closed_total",
    type: "counter",
    labels: ["reason"],
    help: "Connections closed because a limit was reached: per-address-limit or total-limit.",
  },
  ...REGISTRY_METRICS,
  configReloads: {
    name: "switchyard_config_reloads_total",
    type: "counter",
    labels: ["outcome"],
    help: "Reloads of the configuration by outcome: applied, unchanged, invalid, failed.",
  },
  configInfo: {
    name: "switchyard_config_info",
    type: "gauge",
    labels: ["hash"],
    help: "1, with the hash of the configuration in use.",
  },
  configInvalidSince: {
    name: "switchyard_config_invalid_since_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "Unix time at which the configuration on disk became invalid; 0 if it is valid.",
    inStatus: true,
  },
  configNeedsRestart: {
    name: "switchyard_config_settings_pending_restart",
    type: "gauge",
    labels: [],
    help: "Changed settings in the configuration on disk that take effect only after a restart.",
    inStatus: true,
  },
  configHeldBack: {
    name: "switchyard_config_destinations_pending_topics",
    type: "gauge",
    labels: [],
    help: "New destinations that are waiting for their topics.",
    inStatus: true,
  },
  ...PROCESS_METRICS,
} as const satisfies Record<string, MetricSpec>;
