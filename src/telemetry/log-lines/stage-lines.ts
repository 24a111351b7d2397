/** Lines of the stages: records, deliveries, audiences, callers of ingest. */

import type { LineTable } from "./line-spec.ts";

export const STAGE_LINES = {
  "delivery.attempted": {
    levels: ["info", "warn", "error"],
    meaning:
      "One attempt. Error: a request timed out or met a bad certificate. Warn: it failed otherwise. Info: it was accepted.",
    action: "[Log lines](requests.md#log-lines).",
    fields: ["stage", "destination", "source", "messageId", "attempt", "decision", "requests"],
    optional: ["retryDelay", "retryInMs", "retryAt"],
  },
  "delivery.dead-lettered": {
    levels: ["warn"],
    meaning:
      "A delivery was given up. `topic`, `partition` and `offset` are where its record stood.",
    action: "`switchyard dead-letters list`. Replay when the reason is gone.",
    fields: [
      ...(["stage", "destination", "reason", "error"] as const),
      ...(["topic", "partition", "offset", "omittedLines"] as const),
    ],
    optional: ["messageId", "source", "retryDelay"],
  },
  "attempts.records-dropped": {
    levels: ["warn"],
    meaning:
      "Records of the topic of attempts were dropped since the last such line, at most one a minute. Deliveries go on.",
    action: "`switchyard topics`, and look at the brokers.",
    fields: ["stage", "topic", "count", "error"],
  },
  "endpoint.circuit-changed": {
    levels: ["info", "warn"],
    meaning: "An endpoint's breaker changes its state. Warn: it opened.",
    action:
      "[Breakers](retries.md#circuit-breakers). Look at `delivery.attempted` of the destination.",
    fields: ["stage", "destination", "endpointId", "endpointName", "state"],
  },
  "destination.paused": {
    levels: ["warn"],
    meaning: "A destination is paused: nothing of it is attempted. Its calls wait.",
    action: "`switchyard resume`, or `paused: false` where the configuration says it.",
    fields: ["stage", "destination", "by", "since"],
    optional: ["until"],
  },
  "destination.resumed": {
    levels: ["info"],
    meaning: "A destination is no longer paused, or it is disabled now.",
    action: null,
    fields: ["stage", "destination"],
  },
  "destination.consumer-restarting": {
    levels: ["error"],
    meaning: "A destination's consumer has failed and is started again. Others go on.",
    action: "Read the error.",
    fields: ["stage", "destination", "error", "retryAt"],
  },
  "record.dead-lettered": {
    levels: ["warn"],
    meaning: "A stage cannot use a record, which became a dead letter.",
    action:
      "Ask the producer for the reason. `switchyard dead-letters list --json` has the record.",
    fields: ["stage", "reason", "error", "topic", "partition", "offset", "omittedLines"],
    optional: ["messageId", "source", "destination"],
  },
  "deletion.blocked": {
    levels: ["error"],
    meaning: "Deletions wait, since the partitions of a topic cannot be counted.",
    action: "Do what `fix` says: make the topic, or grant the permission to see it.",
    fields: ["stage", "topic", "error", "fix"],
  },
  "deletion.unknown-sources": {
    levels: ["warn"],
    meaning: "A deletion request names sources that nobody knows. All others are told.",
    action: "Put the sources of the request right, and send it again.",
    fields: ["stage", "sources", "count", "topic", "partition", "offset", "omittedLines"],
  },
  "audience.sync.started": {
    levels: ["info"],
    meaning: "A sync begins.",
    action: null,
    fields: ["stage", "audience", "key", "sync"],
  },
  "audience.sync.ended": {
    levels: ["info", "warn"],
    meaning:
      "A sync has ended. Warn: it awaits approval or was abandoned, or its count was wrong, and nobody was removed.",
    action: "[Syncs awaiting approval](audiences.md#syncs-awaiting-approval).",
    fields: [
      ...(["stage", "audience", "key", "sync", "outcome"] as const),
      ...(["members", "received", "removed", "durationMs"] as const),
    ],
  },
  "audience.topic.recreated": {
    levels: ["warn"],
    meaning:
      "`audience-syncs` is another topic than the one that the partition's audiences were made from. Its records count as new ones.",
    action:
      "Nothing, where it was made anew on purpose. Send a sync of each audience whose last one may have been on the topic from before.",
    fields: ["stage", "partition"],
  },
  "audience.store.opened": {
    levels: ["info"],
    meaning: "The local store of a partition is used, after what is missing was read.",
    action: null,
    fields: ["stage", "partition", "storeState"],
  },
  "audience.store.rebuilding": {
    levels: ["warn"],
    meaning: "The local store of a partition cannot be used and is built anew from the changelog.",
    action: "Nothing, unless it comes with each start: look at the disk.",
    fields: ["stage", "partition", "storeState"],
  },
  "audience.store.restoring": {
    levels: ["info"],
    meaning: "How far the changelog of a partition is read.",
    action: null,
    fields: ["stage", "partition", "offset", "end"],
  },
  "audience.store.in-use": {
    levels: ["warn"],
    meaning: "Another process has the local store of a partition open. It is waited for.",
    action: "Give each process a directory of its own.",
    fields: ["stage", "partition", "error"],
  },
  "audience.store.compaction-failed": {
    levels: ["warn"],
    meaning: "Removed memberships are still on disk. It is tried again.",
    action: "Look at the disk.",
    fields: ["stage", "partition", "error"],
  },
  "ingest.listening": {
    levels: ["info"],
    meaning: "Calls are taken over HTTP.",
    action: null,
    fields: ["stage", "host", "port", "connections"],
  },
  "ingest.no-write-keys": {
    levels: ["warn"],
    meaning: "No source has a write key, so each call is refused.",
    action: "Give a source a `writeKey`, or leave out the stage ingest.",
    fields: ["stage", "fix"],
  },
  "ingest.request-rejected": {
    levels: ["warn"],
    meaning: "A request was refused.",
    action: "[Answers](ingest.md#answers) has the codes.",
    fields: ["stage", "code", "omittedLines"],
  },
  "ingest.calls-rejected": {
    levels: ["warn"],
    meaning: "Calls of a batch were left out. The others of it were taken.",
    action: "Ask the owner of the source.",
    fields: ["stage", "source", "reason", "count", "error", "omittedLines"],
  },
  "ingest.internal-error": {
    levels: ["error"],
    meaning: "A request met an error of ours, and was answered 503.",
    action: "Read the error.",
    fields: ["stage", "err"],
  },
} as const satisfies LineTable;
