/** Log lines of the stages: about records, deliveries, audiences, and requests to the ingest stage. */

import type { LineTable } from "./line-spec.ts";

export const STAGE_LINES = {
  "delivery.attempted": {
    levels: ["info", "warn", "error"],
    meaning:
      "An attempt ended. The level is info if it was accepted, error if a request timed out or " +
      "a certificate was invalid, and otherwise warn.",
    action: "See [Log lines](retries.md#log-lines).",
    fields: ["stage", "destination", "source", "messageId", "attempt", "decision", "requests"],
    optional: ["batchId", "batchCalls", "retryDelay", "retryInMs", "retryAt"],
  },
  "delivery.dead-lettered": {
    levels: ["warn"],
    meaning: "A delivery was dead-lettered.",
    action: "Look up the [reason](troubleshooting.md#dead-letters).",
    fields: [
      ...(["stage", "destination", "reason", "error"] as const),
      ...(["topic", "partition", "offset", "omittedLines"] as const),
    ],
    optional: ["messageId", "source", "retryDelay"],
  },
  "attempts.records-dropped": {
    levels: ["warn"],
    meaning: "Attempt records were dropped, `count` since the previous line.",
    action: "Run `switchyard topics`, and check that all brokers are running.",
    fields: ["stage", "topic", "count", "error"],
  },
  "endpoint.circuit-changed": {
    levels: ["info", "warn"],
    meaning: "An endpoint's circuit breaker changed its state. The level is warn if it opened.",
    action: "See [Circuit breakers](retries.md#circuit-breakers).",
    fields: ["stage", "destination", "endpointId", "endpointName", "state"],
  },
  "endpoint.gone": {
    levels: ["warn"],
    meaning: "An endpoint responded 410, so it gets no more requests.",
    action: "See [Gone endpoints](webhooks.md#gone-endpoints).",
    fields: ["stage", "destination", "endpointId", "endpointName"],
  },
  "endpoint.proxy-failed": {
    levels: ["warn"],
    meaning: "The proxy in front of an endpoint failed, so the deliveries to the endpoint wait.",
    action: "Check the proxy that `error` names.",
    fields: ["stage", "destination", "endpointId", "endpointName", "error"],
  },
  "endpoint.proxy-works": {
    levels: ["info"],
    meaning: "The proxy in front of an endpoint works again.",
    action: null,
    fields: ["stage", "destination", "endpointId", "endpointName"],
  },
  "destination.paused": {
    levels: ["warn"],
    meaning: "A destination was paused, and its deliveries now wait.",
    action: "Run `switchyard resume`, or set `paused: false` in the configuration.",
    fields: ["stage", "destination", "by", "since"],
    optional: ["until"],
  },
  "destination.resumed": {
    levels: ["info"],
    meaning: "The pause of a destination ended, because it was resumed or disabled.",
    action: null,
    fields: ["stage", "destination"],
  },
  "destination.token-missing": {
    levels: ["warn"],
    meaning: "There is no token for a destination's requests, so its deliveries wait.",
    action: null,
    fields: ["stage", "destination", "error", "since"],
  },
  "destination.token-obtained": {
    levels: ["info"],
    meaning: "Switchyard has a token again.",
    action: null,
    fields: ["stage", "destination"],
  },
  "destination.consumer-restarting": {
    levels: ["error"],
    meaning: "A destination's consumer failed and is being restarted.",
    action: null,
    fields: ["stage", "destination", "error", "retryAt"],
  },
  "order.read-failed": {
    levels: ["error"],
    meaning:
      "The topic `order.<destination>` could not be read, or a delivery that waits could not be read back from its queue. The users who wait go on waiting, and reading is tried again.",
    action: "Run `switchyard topics`, and check the brokers.",
    fields: ["topic", "error"],
  },
  "order.lost": {
    levels: ["error"],
    meaning:
      "The topic `order.<destination>` was recreated, or lost records. What this process knows stays in force; another process that takes over its partitions does not know which users wait.",
    action: "Do not delete the topic while users wait.",
    fields: ["topic"],
  },
  "order.delivery-lost": {
    levels: ["error"],
    meaning:
      "A delivery that waited behind an earlier one of its user was deleted from its queue before it was attempted. The user's next delivery follows.",
    action:
      "Replay the call, and keep the records of `deliveries.<destination>` for as long as `switchyard topics` says.",
    fields: ["topic", "partition", "offset"],
  },
  "call.time-unread": {
    levels: ["warn"],
    meaning: "A call has a time that cannot be read, and the next of its times is used instead.",
    action: "Send times in a [form that can be read](calls.md#timestamps).",
    fields: ["stage", "source", "error", "topic", "partition", "offset", "omittedLines"],
  },
  "record.dead-lettered": {
    levels: ["warn"],
    meaning: "A stage could not use a record, and dead-lettered it.",
    action: "Look up the [reason](troubleshooting.md#dead-letters).",
    fields: ["stage", "reason", "error", "topic", "partition", "offset", "omittedLines"],
    optional: ["messageId", "source", "destination"],
  },
  "deletion.blocked": {
    levels: ["error"],
    meaning: "Deletions are blocked, because the partitions of a topic cannot be counted.",
    action: "Create the topic, or grant the permission to describe it.",
    fields: ["stage", "topic", "error", "fix"],
  },
  "deletion.unknown-sources": {
    levels: ["warn"],
    meaning:
      "A deletion request named unknown sources. Destinations of all other sources are notified.",
    action: "Correct the request, and send it again.",
    fields: ["stage", "sources", "count", "topic", "partition", "offset", "omittedLines"],
  },
  "audience.sync.started": {
    levels: ["info"],
    meaning: "A sync started.",
    action: null,
    fields: ["stage", "audience", "key", "sync"],
  },
  "audience.sync.ended": {
    levels: ["info", "warn"],
    meaning: "A sync ended. The level is warn if its removals were not applied.",
    action: null,
    fields: [
      ...(["stage", "audience", "key", "sync", "outcome"] as const),
      ...(["members", "received", "removed", "durationMs"] as const),
    ],
  },
  "audience.topic.recreated": {
    levels: ["warn"],
    meaning: "The topic `audience-syncs` was recreated. Its records are treated as new.",
    action: "Send a sync for each audience.",
    fields: ["stage", "partition"],
  },
  "audience.store.opened": {
    levels: ["info"],
    meaning: "The local store of a partition was opened and brought up to date.",
    action: null,
    fields: ["stage", "partition", "storeState"],
  },
  "audience.store.rebuilding": {
    levels: ["warn"],
    meaning: "The local store of a partition was unusable and is being rebuilt from the changelog.",
    action: "If it happens at each start, check the disk.",
    fields: ["stage", "partition", "storeState"],
  },
  "audience.store.restoring": {
    levels: ["info"],
    meaning: "A partition's changelog is being read. `offset` and `end` show the progress.",
    action: null,
    fields: ["stage", "partition", "offset", "end"],
  },
  "audience.store.in-use": {
    levels: ["warn"],
    meaning: "Another process has the local store of a partition open. This process waits for it.",
    action: "Give each process its own `audience.stateDir`.",
    fields: ["stage", "partition", "error"],
  },
  "audience.store.compaction-failed": {
    levels: ["warn"],
    meaning: "Removed memberships could not be deleted from the disk yet.",
    action: "Check the disk.",
    fields: ["stage", "partition", "error"],
  },
  "ingest.listening": {
    levels: ["info"],
    meaning: "The ingest stage started to listen.",
    action: null,
    fields: ["stage", "host", "port", "connections"],
  },
  "ingest.no-write-keys": {
    levels: ["warn"],
    meaning: "No source has a write key, so every call is rejected.",
    action: "Give a source a `writeKey`, or remove ingest from the stages.",
    fields: ["stage", "fix"],
  },
  "ingest.request-rejected": {
    levels: ["warn"],
    meaning: "A request was rejected.",
    action: "Look up the [code](http-apis.md#errors).",
    fields: ["stage", "code", "omittedLines"],
  },
  "ingest.calls-rejected": {
    levels: ["warn"],
    meaning: "Some calls in a batch were rejected, and the others accepted.",
    action: null,
    fields: ["stage", "source", "reason", "count", "error", "omittedLines"],
  },
  "ingest.internal-error": {
    levels: ["error"],
    meaning: "An internal error occurred, and the request got a 503.",
    action: null,
    fields: ["stage", "error", "omittedLines"],
  },
} as const satisfies LineTable;
