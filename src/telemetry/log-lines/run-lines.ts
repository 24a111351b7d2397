/** Lines of a process: its start and stop, its configuration, its topics. */

import type { LineTable } from "./line-spec.ts";

const TOPICS_FIX =
  "`switchyard topics --apply`. If `error` or `fix` names a missing permission, grant that instead.";

export const RUN_LINES = {
  "operator-events.write-failed": {
    levels: ["warn"],
    meaning:
      "Events for people cannot be written or read at the moment. It is tried again every 5 s, and said once a minute.",
    action: "Read the error: it names a permission that is missing. Otherwise `switchyard topics`.",
    fields: ["topic", "error"],
  },
  "operator-webhook.failing": {
    levels: ["warn"],
    meaning:
      "The operator's webhook does not take an event. It is posted again, 5 min later at most, and said once a minute.",
    action: "Look at `cause`, and at the endpoint.",
    fields: ["event", "subject", "cause"],
  },
  "operator-webhook.rejected": {
    levels: ["warn"],
    meaning: "The operator's webhook refused an event, which is not posted again.",
    action: "Look at the endpoint. The event is on the topic `operator-events`.",
    fields: ["event", "subject", "cause"],
  },
  starting: {
    levels: ["info"],
    meaning: "The process begins.",
    action: null,
    fields: ["version", "node", "stages"],
    optional: ["file"],
  },
  "admin.listening": {
    levels: ["info"],
    meaning: "`/metrics`, `/livez` and `/readyz` can be asked.",
    action: null,
    fields: ["host", "port"],
  },
  "console.listening": {
    levels: ["info"],
    meaning: "The console started to listen.",
    action: null,
    fields: ["url"],
  },
  "console.refresh-failed": {
    levels: ["warn"],
    meaning: "The page could not look at Kafka or at the processes. It looks again.",
    action: "Read the error. The stages do not depend on it.",
    fields: ["error"],
  },
  "console.action.started": {
    levels: ["info"],
    meaning: "Somebody has begun an action on the page.",
    action: null,
    fields: ["job", "action", "by", "from"],
    optional: ["forwardedFor"],
  },
  "console.action.progress": {
    levels: ["info"],
    meaning: "An action of the page says what it does. A replay says its name.",
    action: null,
    fields: ["job", "progress"],
  },
  "console.action.finished": {
    levels: ["info"],
    meaning: "An action of the page has ended.",
    action: null,
    fields: ["job", "outcome"],
  },
  "stage.started": {
    levels: ["info"],
    meaning: "A stage runs. Its consumers may still be joining their groups.",
    action: null,
    fields: ["stage"],
  },
  ready: {
    levels: ["info"],
    meaning: "All consumers have joined, and `/readyz` answers 200.",
    action: null,
    fields: ["stages"],
  },
  "ready.partial": {
    levels: ["warn"],
    meaning:
      "`/readyz` answers 200 although consumers are still joining: another place would not help them.",
    action: "Look at the body of `/readyz`.",
    fields: ["afterMs"],
  },
  stopping: {
    levels: ["info"],
    meaning: "A signal asks the process to stop.",
    action: null,
    fields: ["signal"],
  },
  "stage.stopped": {
    levels: ["info"],
    meaning: "A stage has finished or given back what it had in hand.",
    action: null,
    fields: ["stage"],
  },
  stopped: {
    levels: ["info"],
    meaning: "The last line of a process that ends in order.",
    action: null,
    fields: [],
  },
  "stage.failed": {
    levels: ["error"],
    meaning: "A stage cannot go on. The process ends with status 1.",
    action: "Read the error. Records in hand are read again by the next process.",
    fields: ["err"],
  },
  "stage.halted": {
    levels: ["error"],
    meaning: "A damaged batch keeps a stage from going on at its partition. It is tried again.",
    action: "[A damaged batch](troubleshooting.md#corrupt-batches).",
    fields: ["stage", "topics", "error", "topic", "partition", "offset", "retryAt"],
  },
  "stage.restarting": {
    levels: ["error"],
    meaning:
      "A stage has stopped because something that it needs failed, such as the disk of the audience stage's state store. It starts again at `retryAt`. Other stages continue.",
    action:
      "Read the error. [The state store is unavailable](troubleshooting.md#switchyardaudiencestatestoreunavailable).",
    fields: ["stage", "topics", "error", "retryAt"],
  },
  "stage.corrupt-batch-skipped": {
    levels: ["error"],
    meaning:
      "A damaged batch was passed over, as `kafka.onCorruptBatch` says. Its records are lost.",
    action: "[Skipping damaged batches](troubleshooting.md#skip-corrupt-batches-automatically).",
    fields: ["stage", "topic", "partition", "firstOffset", "lastOffset", "corruption"],
  },
  "consumer.crashed": {
    levels: ["error"],
    meaning:
      "A consumer of a stage has failed. It waits for its topics if they are gone, or else the process ends.",
    action: "Read the error.",
    fields: ["stage", "topics", "error"],
  },
  "topics.creating": {
    levels: ["info"],
    meaning: "Topics of the plan are missing and are made.",
    action: null,
    fields: ["topics"],
  },
  "topics.setting-rejected": {
    levels: ["warn"],
    meaning:
      "The cluster does not allow a planned setting of a topic, for the reason that `error` gives. The topic was created without it, or with what the cluster allows.",
    action:
      "If the cluster allows no larger records, set `kafka.maxMessageBytes`. Any other setting: see whether the cluster's default is enough.",
    fields: ["topic", "setting", "planned", "error"],
    optional: ["instead", "fix"],
  },
  "topics.waiting": {
    levels: ["warn"],
    meaning:
      "Topics of the plan are missing, and `kafka.createTopics` is false. The start waits for them.",
    action: TOPICS_FIX,
    fields: ["topics", "fix"],
  },
  "topics.created": {
    levels: ["info"],
    meaning: "Topics of a changed configuration were made.",
    action: null,
    fields: ["topics"],
  },
  "topics.recreated": {
    levels: ["warn"],
    meaning: "Topics were gone while the process ran, and were made again, empty.",
    action: "Find out who deleted them. Their records are lost.",
    fields: ["topics"],
  },
  "topics.create-failed": {
    levels: ["error"],
    meaning: "Topics are gone and could not be made. It is tried again after 5 s.",
    action: TOPICS_FIX,
    fields: ["topics", "error"],
  },
  "clock.wrong": {
    levels: ["warn"],
    meaning:
      "The clock of the process differs from the brokers' clock by 2 s or more. The stages go by the brokers' clock.",
    action:
      "[Clocks](troubleshooting.md#clocks): set the clock right, on whichever side it is wrong.",
    fields: ["offsetMs"],
  },
  "clock.right": {
    levels: ["info"],
    meaning: "The clock of the process is right again.",
    action: null,
    fields: ["offsetMs"],
  },
  "clock.unknown": {
    levels: ["warn"],
    meaning:
      "The brokers' clock cannot be seen, because the topic `operator-actions` keeps the time of those who write. The stages go by the process's own clock.",
    action: "`switchyard topics --apply`.",
    fields: ["topic"],
  },
  "process.unannounced": {
    levels: ["warn", "debug"],
    meaning:
      "The process cannot write its record to the topic `operator-actions`, so that its clock is not compared with the brokers', nor its routes with those of other processes. It is tried again every 30 s.",
    action:
      "Read the error. If it names a permission, grant it (`switchyard acls`). If it names a clock, set that clock right ([Clocks](troubleshooting.md#clocks)).",
    fields: ["topic", "error"],
  },
  "routes.missing": {
    levels: ["warn"],
    meaning:
      "Another process of the cluster routes calls of these sources to destinations that this one does not know, or that are not connected or disabled here. Calls that this one handles do not reach them.",
    action:
      "Give all processes the same configuration, then run the commands of `routes.missing-over`.",
    fields: ["destinations", "sources", "since", "until", "fix"],
  },
  "routes.missing-over": {
    levels: ["warn"],
    meaning:
      "No other process routes to more destinations than this one any more, or this one stops. Calls that it handled in that time did not reach them.",
    action: "Run the commands in `fix`. A call that has arrived there already arrives again.",
    fields: ["destinations", "sources", "since", "until", "fix"],
  },
  "operator-actions.read-failed": {
    levels: ["error"],
    meaning:
      "The topic `operator-actions` cannot be read. Pauses that are known stay in force. It is tried again every 5 s.",
    action:
      "Read the error. If a permission is missing, it names it and the command that grants it.",
    fields: ["topic", "error"],
  },
  "operator-actions.invalid-record": {
    levels: ["warn"],
    meaning: "A record of the topic `operator-actions` cannot be used, and is passed over.",
    action: "Find out who wrote it. A later version of Switchyard may write other ones.",
    fields: ["topic", "partition", "offset", "error", "omittedLines"],
  },
  "config.applied": {
    levels: ["info"],
    meaning: "A changed configuration runs. The line has ids and names of settings, and no values.",
    action: null,
    fields: ["cause", "hash", "settings"],
    optional: ["destinations", "sources", "audiences"],
  },
  "config.invalid": {
    levels: ["error"],
    meaning: "The file on disk cannot be used. The configuration from before runs on.",
    action: "Put each problem right. `switchyard config check` shows the same ones.",
    fields: ["cause", "problems", "since"],
  },
  "config.warnings": {
    levels: ["warn"],
    meaning: "The configuration can be used, and has something that is probably not meant.",
    action: "Read the warnings.",
    fields: ["warnings"],
  },
  "config.needs-restart": {
    levels: ["warn"],
    meaning: "Changed settings count after a restart.",
    action: "Restart the process when it suits.",
    fields: ["settings"],
  },
  "config.waiting-for-topics": {
    levels: ["warn"],
    meaning: "New destinations wait for their topics. All others go on.",
    action: TOPICS_FIX,
    fields: ["destinations", "topics", "fix"],
    optional: ["error"],
  },
  "tracing.dropped": {
    levels: ["warn"],
    meaning: "Spans could not be posted and are dropped. Calls are not touched. Once a minute.",
    action: "Look at `tracing.url`, and whether the collector is there.",
    fields: ["error", "count"],
  },
  "config.apply-failed": {
    levels: ["error"],
    meaning: "A changed configuration could not be put to use. The one from before runs on.",
    action: "Read the error, and read the file again with `SIGHUP`.",
    fields: ["cause", "error"],
  },
} as const satisfies LineTable;
