/** Log lines about a process: its start and stop, its configuration, and its topics. */

import type { LineTable } from "./line-spec.ts";

const TOPICS_FIX = "Run `switchyard topics --apply`.";

export const RUN_LINES = {
  "operator-events.write-failed": {
    levels: ["warn"],
    meaning: "Operator events could not be written or read. Switchyard retries every 5 s.",
    action: "Run `switchyard topics`.",
    fields: ["topic", "error"],
  },
  "operator-webhook.failing": {
    levels: ["warn"],
    meaning: "The operator's webhook did not accept an event, which is posted again within 5 min.",
    action: "Check the webhook's endpoint.",
    fields: ["event", "subject", "cause"],
  },
  "operator-webhook.rejected": {
    levels: ["warn"],
    meaning: "The operator's webhook rejected an event, which is not posted again.",
    action: "Check the webhook's endpoint. The event is on the topic `operator-events`.",
    fields: ["event", "subject", "cause"],
  },
  starting: {
    levels: ["info"],
    meaning: "The process started.",
    action: null,
    fields: ["version", "node", "stages"],
    optional: ["file"],
  },
  "proxy.not-used": {
    levels: ["warn"],
    meaning: "The environment names a proxy, which Switchyard does not use.",
    action: "If webhooks need a proxy, set `delivery.proxy`. Otherwise remove the variables.",
    fields: ["variables"],
  },
  "log.lines-dropped": {
    levels: ["warn"],
    meaning: "Lines are missing before this one, because standard output could not be written.",
    action: "If `error` names a full disk, free some space. Otherwise, check what reads the log.",
    fields: ["error", "count"],
  },
  "admin.listening": {
    levels: ["info"],
    meaning: "`/metrics`, `/livez` and `/readyz` became available.",
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
    meaning: "The console could not query Kafka or the processes, and tries again.",
    action: null,
    fields: ["error"],
  },
  "console.sign-in-failed": {
    levels: ["warn"],
    meaning: "A wrong token was sent to the console.",
    action: "If nobody mistyped the token, find the sender, and block it.",
    fields: ["from"],
    optional: ["forwardedFor", "omittedLines"],
  },
  "console.action.started": {
    levels: ["info"],
    meaning: "An operator started an action in the console.",
    action: null,
    fields: ["job", "action", "by", "from"],
    optional: ["forwardedFor"],
  },
  "console.action.progress": {
    levels: ["info"],
    meaning: "An action in the console reported its progress.",
    action: null,
    fields: ["job", "progress"],
  },
  "console.action.finished": {
    levels: ["info"],
    meaning: "An action in the console ended.",
    action: null,
    fields: ["job", "outcome"],
  },
  "stage.started": {
    levels: ["info"],
    meaning: "A stage started. Its consumers may still be joining their groups.",
    action: null,
    fields: ["stage"],
  },
  ready: {
    levels: ["info"],
    meaning: "All consumers have joined, and `/readyz` responds 200.",
    action: null,
    fields: ["stages"],
  },
  "ready.partial": {
    levels: ["warn"],
    meaning: "Some consumers had not joined after 30 s. `/readyz` responds 200 anyway.",
    action: null,
    fields: ["afterMs"],
  },
  stopping: {
    levels: ["info"],
    meaning: "The process received a signal to stop.",
    action: null,
    fields: ["signal"],
  },
  "stage.stopped": {
    levels: ["info"],
    meaning: "A stage stopped.",
    action: null,
    fields: ["stage"],
  },
  stopped: {
    levels: ["info"],
    meaning: "The last line of a process that stopped normally.",
    action: null,
    fields: [],
  },
  "stage.failed": {
    levels: ["error"],
    meaning: "A stage failed permanently. The process ends with status 1.",
    action: null,
    fields: ["err"],
  },
  "stage.halted": {
    levels: ["error"],
    meaning:
      "A partition is halted at a corrupt batch, which is read again at `retryAt`. The stage's other " +
      "partitions continue.",
    action: null,
    fields: ["stage", "destination", "error", "topic", "partition", "offset", "retryAt"],
  },
  "stage.restarting": {
    levels: ["error"],
    meaning:
      "A stage stopped because something that it needs failed, such as the disk of the state " +
      "store. It starts again at `retryAt`.",
    action: null,
    fields: ["stage", "topics", "error", "retryAt"],
  },
  "stage.records-lost": {
    levels: ["error"],
    meaning:
      "Records were deleted before they were processed, because their topic was deleted or its retention ended. " +
      "`records` is the maximum number, or 0 if it is unknown.",
    action: "See [SwitchyardRecordsLost](troubleshooting.md#switchyardrecordslost).",
    fields: ["stage", "destination", "topic", "records", "fix"],
  },
  "stage.corrupt-batch-skipped": {
    levels: ["error"],
    meaning:
      "A corrupt batch was skipped, as configured in `kafka.onCorruptBatch`. Its records are lost.",
    action: null,
    fields: ["stage", "topic", "partition", "firstOffset", "lastOffset", "corruption"],
  },
  "consumer.crashed": {
    levels: ["error"],
    meaning:
      "A consumer of a stage failed. If its topics are missing, the consumer waits for them; " +
      "otherwise the process ends.",
    action: null,
    fields: ["stage", "topics", "error"],
  },
  "topics.creating": {
    levels: ["info"],
    meaning: "Missing topics are being created.",
    action: null,
    fields: ["topics"],
  },
  "topics.setting-rejected": {
    levels: ["warn"],
    meaning:
      "The cluster rejected a planned setting of a topic. The topic was created without it, or " +
      "with the value `instead`.",
    action: "See [A cluster that allows less](topics.md#a-cluster-that-allows-less).",
    fields: ["topic", "setting", "planned", "error"],
    optional: ["instead", "fix"],
  },
  "topics.waiting": {
    levels: ["warn"],
    meaning:
      "Planned topics were missing, and `kafka.createTopics` is false. Startup waits for them.",
    action: null,
    fields: ["topics", "fix"],
  },
  "topics.created": {
    levels: ["info"],
    meaning: "Topics for a changed configuration were created.",
    action: null,
    fields: ["topics"],
  },
  "topics.recreated": {
    levels: ["warn"],
    meaning: "Topics disappeared, and were recreated without their records.",
    action: "Find out who deleted them.",
    fields: ["topics"],
  },
  "topics.create-failed": {
    levels: ["error"],
    meaning: "Topics disappeared and could not be recreated. Switchyard retries after 5 s.",
    action: TOPICS_FIX,
    fields: ["topics", "error"],
  },
  "clock.wrong": {
    levels: ["warn"],
    meaning: "The clock of the process differed from the brokers' clock by 2 s or more.",
    action: null,
    fields: ["offsetMs"],
  },
  "clock.right": {
    levels: ["info"],
    meaning: "The clock of the process was correct again.",
    action: null,
    fields: ["offsetMs"],
  },
  "clock.unknown": {
    levels: ["warn"],
    meaning:
      "The topic `operator-actions` keeps the producers' timestamps, so the process uses its own " +
      "clock instead of the brokers'.",
    action: null,
    fields: ["topic"],
  },
  "process.unannounced": {
    levels: ["warn", "debug"],
    meaning:
      "The process could not write to the topic `operator-actions`, so its clock and its routes " +
      "are not compared with others.",
    action: null,
    fields: ["topic", "error"],
  },
  "routes.missing": {
    levels: ["warn"],
    meaning:
      "Another process routes calls from `sources` to `destinations`, but this process does not.",
    action:
      "Give all processes the same configuration, then run the commands that " +
      "`routes.missing-over` lists.",
    fields: ["destinations", "sources", "since", "until", "fix"],
  },
  "routes.missing-over": {
    levels: ["warn"],
    meaning: "The problem that `routes.missing` reported is resolved, or the process is stopping.",
    action: null,
    fields: ["destinations", "sources", "since", "until", "fix"],
  },
  "operator-actions.read-failed": {
    levels: ["error"],
    meaning: "The topic `operator-actions` could not be read. Known pauses stay in force.",
    action: null,
    fields: ["topic", "error"],
  },
  "operator-actions.invalid-record": {
    levels: ["warn"],
    meaning: "A record of the topic `operator-actions` was invalid and was ignored.",
    action: "Find out who wrote it. It may be a later version of Switchyard.",
    fields: ["topic", "partition", "offset", "error", "omittedLines"],
  },
  "suppressions.read-failed": {
    levels: ["error"],
    meaning:
      "The topic `suppressions` could not be read. Known suppressions stay in force; in a process that starts, stages that match users wait.",
    action: "Run `switchyard topics`, and check the brokers.",
    fields: ["topic", "error"],
  },
  "suppressions.lost": {
    levels: ["error"],
    meaning:
      "The topic `suppressions` was recreated, or lost records. The `count` users who were suppressed stay suppressed until the process restarts.",
    action: "Write their records again before a process restarts.",
    fields: ["topic", "count"],
  },
  "suppressions.key-not-written": {
    levels: ["error"],
    meaning:
      "The brokers rejected a key for user hashes. The process tries again until they accept it, and the route stage does not start without a key.",
    action: "Run `switchyard topics` and `switchyard acls`.",
    fields: ["topic", "error"],
  },
  "suppressions.invalid-record": {
    levels: ["warn"],
    meaning: "A record of the topic `suppressions` was invalid and was ignored.",
    action: "Find out who wrote it, and write it again.",
    fields: ["topic", "partition", "offset", "error", "omittedLines"],
  },
  "config.applied": {
    levels: ["info"],
    meaning:
      "A changed configuration was applied. Lists show which entries were `added`, " +
      "`removed` and `changed`.",
    action: null,
    fields: ["cause", "hash", "settings"],
    optional: ["destinations", "sources", "audiences"],
  },
  "config.invalid": {
    levels: ["error"],
    meaning: "The configuration file was invalid. The previous configuration stays in use.",
    action: null,
    fields: ["cause", "problems", "since"],
  },
  "config.valid": {
    levels: ["info"],
    meaning: "The problem with the configuration file that the line `resolved` reported is over.",
    action: null,
    fields: ["resolved"],
  },
  "config.warnings": {
    levels: ["warn"],
    meaning: "The configuration probably contains a mistake.",
    action: "Read the warnings.",
    fields: ["warnings"],
  },
  "config.needs-restart": {
    levels: ["warn"],
    meaning: "Changed settings take effect after a restart.",
    action: null,
    fields: ["settings"],
  },
  "config.waiting-for-topics": {
    levels: ["warn"],
    meaning: "New destinations are waiting for their topics.",
    action: null,
    fields: ["destinations", "topics", "fix"],
    optional: ["error"],
  },
  "tracing.dropped": {
    levels: ["warn"],
    meaning: "Spans could not be posted, and were dropped.",
    action: "Check `tracing.url` and the collector.",
    fields: ["error", "count"],
  },
  "config.apply-failed": {
    levels: ["error"],
    meaning: "A changed configuration could not be applied. The previous one stays in use.",
    action: "Reload the file with `SIGHUP`.",
    fields: ["cause", "error"],
  },
} as const satisfies LineTable;
