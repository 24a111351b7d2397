/**
 * The metrics: one table, from which come the instruments, their types and `docs/metrics.md`.
 *
 * Labels are bounded: destinations, stages, retry delays, reasons and outcome classes; never a URL, a
 * user id or a message id. Durations are seconds, sizes bytes, as Prometheus asks.
 */

import { AUDIENCE_METRICS } from "./audience-metrics.ts";
import { CLUSTER_METRICS } from "./cluster-metrics.ts";
import { DESTINATION_METRICS } from "./destination-metrics.ts";
import { EVENT_METRICS } from "./event-metrics.ts";
import { PROCESS_METRICS } from "./process-metrics.ts";
import { REGISTRY_METRICS } from "./registry-metrics.ts";
import { WAITING_METRICS } from "./waiting-metrics.ts";

export interface MetricSpec {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
  /** Zeros are left out unless `metrics.destinations` is `full`. */
  readonly isSparse?: boolean;
  /** Upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

const LATENCY_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 14400];
const ATTEMPT_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const LATENESS_S = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 300];

/** Every instrument; `instruments.ts` makes them. */
export const METRICS = {
  recordsIn: {
    name: "switchyard_records_in_total",
    type: "counter",
    labels: ["stage"],
    help: "Records that a stage took from its topics.",
  },
  recordsOut: {
    name: "switchyard_records_out_total",
    type: "counter",
    labels: ["stage"],
    help: "Records that a stage wrote and the brokers acknowledged.",
  },
  recordsRefused: {
    name: "switchyard_records_rejected_total",
    type: "counter",
    labels: ["stage", "reason"],
    help: "Records that a stage could not use, by dead-letter reason.",
  },
  callsRouted: {
    name: "switchyard_route_deliveries_total",
    type: "counter",
    labels: ["destination"],
    help: "Deliveries that route wrote for a destination.",
  },
  callsUnrouted: {
    name: "switchyard_route_calls_without_destination_total",
    type: "counter",
    labels: ["source"],
    help: "Valid calls that no destination gets.",
  },
  callsSkipped: {
    name: "switchyard_route_calls_skipped_total",
    type: "counter",
    labels: ["destination", "reason"],
    help: "Valid calls that a destination does not get, and will not get later, by the first reason: not-connected counts all calls from sources that are not connected to it, disabled those that it would get if it were enabled, named-false and all-false those that `integrations` keeps from it, no-consent, sampled-out and filtered those that its rules keep from it.",
  },
  deletesWritten: {
    name: "switchyard_deletion_notifications_total",
    type: "counter",
    labels: ["destination"],
    help: "Delete notifications that deletion wrote for a destination.",
  },
  deletesSkipped: {
    name: "switchyard_deletion_notifications_skipped_total",
    type: "counter",
    labels: ["destination"],
    help: "Delete notifications that were not written, because the destination's rules take every user ID away.",
  },
  deletionsUnheard: {
    name: "switchyard_deletion_requests_without_destination_total",
    type: "counter",
    labels: [],
    help: "Valid deletion requests that no webhook destination is told of.",
  },
  attempts: {
    name: "switchyard_delivery_attempts_total",
    type: "counter",
    labels: ["destination", "outcome"],
    help: "Attempts by the decision taken: accepted, retry, expired, rejected.",
  },
  requests: {
    name: "switchyard_delivery_requests_total",
    type: "counter",
    labels: ["destination", "outcome"],
    help: "HTTP requests by outcome: 2xx, 3xx, 4xx, 429, 5xx or the cause why there was no response.",
  },
  attemptDuration: {
    name: "switchyard_delivery_attempt_duration_seconds",
    type: "histogram",
    labels: ["destination"],
    buckets: ATTEMPT_S,
    help: "From handing the requests of an attempt to connections until the last one ended.",
  },
  deliveryLatency: {
    name: "switchyard_delivery_latency_seconds",
    type: "histogram",
    labels: ["destination"],
    buckets: LATENCY_S,
    help: "From the call's receipt to its acceptance.",
  },
  inFlight: {
    name: "switchyard_delivery_attempts_in_flight",
    type: "gauge",
    labels: ["destination"],
    help: "Deliveries in attempt now.",
  },
  ...EVENT_METRICS,
  retriesScheduled: {
    name: "switchyard_delivery_retries_scheduled_total",
    type: "counter",
    labels: ["destination", "delay"],
    help: "Deliveries put into a delay topic.",
  },
  ...DESTINATION_METRICS,
  expiredWaiting: {
    name: "switchyard_deliveries_expired_while_due_total",
    type: "counter",
    labels: ["destination", "reason"],
    help: "Deliveries whose window ended while they were due and waited, by reason: circuit-open, retry-after, paused, disabled, or late where they came back too late.",
  },
  numbersRounded: {
    name: "switchyard_delivery_rounded_numbers_total",
    type: "counter",
    labels: ["destination"],
    help: "Calls sent with an integer beyond 2^53 that JavaScript rounds.",
  },
  ...AUDIENCE_METRICS,
  ...CLUSTER_METRICS,
  waiting: {
    name: "switchyard_delay_records",
    type: "gauge",
    labels: ["delay"],
    help: "Records waiting in the partitions of a delay topic owned here, at most 15 s old. Absent while it is not known.",
  },
  ...WAITING_METRICS,
  delayLateness: {
    name: "switchyard_delay_overdue_seconds",
    type: "histogram",
    labels: ["delay"],
    buckets: LATENESS_S,
    help: "How long after its due time a record was back on its destination's topic.",
  },
  rerouted: {
    name: "switchyard_deliveries_rerouted_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Deliveries written to a delay topic because their own topic took nothing.",
  },
  topicBlockedSince: {
    name: "switchyard_topic_not_writable_since_timestamp_seconds",
    type: "gauge",
    labels: ["topic", "destination"],
    help: "Since when a topic takes nothing, in whole or in a partition; 0: it takes records.",
  },
  deadLetters: {
    name: "switchyard_dead_letters_total",
    type: "counter",
    labels: ["stage", "reason", "destination"],
    help: "Dead letters written; destination is empty where the record was no delivery.",
  },
  rebalances: {
    name: "switchyard_consumer_rebalances_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Times that a consumer was given an assignment, the first one included; destination is empty for shared stages.",
  },
  offsetResets: {
    name: "switchyard_consumer_offset_resets_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Times that records of a partition were deleted, mostly by retention, before they were read: calls or deliveries are lost. Alert on any.",
  },
  consumerRestarts: {
    name: "switchyard_consumer_restarts_total",
    type: "counter",
    labels: ["stage", "destination"],
    help: "Times that a crashed consumer was started again.",
  },
  consumerHalted: {
    name: "switchyard_consumer_halted",
    type: "gauge",
    labels: ["stage", "destination"],
    help: "1 while a damaged batch halts the consumer; /readyz names its offset. Alert on any. Zeros are only shown with metrics.destinations: full.",
    isSparse: true,
  },
  haltedOffset: {
    name: "switchyard_consumer_halted_offset",
    type: "gauge",
    labels: ["stage", "destination", "topic", "partition"],
    help: "The first offset of the damaged batch that halts the consumer; absent when none does.",
  },
  batchesSkipped: {
    name: "switchyard_corrupt_batches_skipped_total",
    type: "counter",
    labels: ["stage", "topic"],
    help: "Damaged batches of an input topic that were passed over, because kafka.onCorruptBatch says skip.",
  },
  ingestRequests: {
    name: "switchyard_ingest_requests_total",
    type: "counter",
    labels: ["code"],
    help: "Requests for calls by the response code: ok, a code of docs/ingest.md, ignored-metrics and ignored-merge for bodies that are not stored, or client-closed if the client closed the connection first.",
  },
  ingestCalls: {
    name: "switchyard_ingest_calls_total",
    type: "counter",
    labels: ["source"],
    help: "Calls taken over HTTP and acknowledged by the brokers.",
  },
  ingestCallsRejected: {
    name: "switchyard_ingest_calls_rejected_total",
    type: "counter",
    labels: ["source", "reason"],
    help: "Calls left out of requests that were answered: invalid-call, too-large.",
  },
  ingestCallsRepaired: {
    name: "switchyard_ingest_calls_repaired_total",
    type: "counter",
    labels: ["source"],
    help: "Calls with values that are not JSON, read as null (not a number, infinities) or as escapes (control characters).",
  },
  ingestDuration: {
    name: "switchyard_ingest_request_duration_seconds",
    type: "histogram",
    labels: [],
    buckets: ATTEMPT_S,
    help: "From the head of a request for calls until its answer.",
  },
  ingestInFlightBytes: {
    name: "switchyard_ingest_in_flight_bytes",
    type: "gauge",
    labels: [],
    help: "Bodies being read, and records that are not acknowledged.",
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
    help: "Times that the configuration was read while running, by outcome: applied, unchanged, invalid, failed.",
  },
  configInfo: {
    name: "switchyard_config_info",
    type: "gauge",
    labels: ["hash"],
    help: "1, with the hash of the configuration that the process runs.",
  },
  configReadAt: {
    name: "switchyard_config_last_success_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "When a configuration was last read that could be used, the one at the start included.",
  },
  configInvalidSince: {
    name: "switchyard_config_invalid_since_timestamp_seconds",
    type: "gauge",
    labels: [],
    help: "Since when the configuration on disk cannot be used, so that an earlier one runs; 0: it can.",
  },
  configNeedsRestart: {
    name: "switchyard_config_settings_pending_restart",
    type: "gauge",
    labels: [],
    help: "Settings of the configuration on disk that count after a restart.",
  },
  configHeldBack: {
    name: "switchyard_config_destinations_pending_topics",
    type: "gauge",
    labels: [],
    help: "Destinations of the configuration on disk that wait for their topics.",
  },
  ...PROCESS_METRICS,
} as const satisfies Record<string, MetricSpec>;
