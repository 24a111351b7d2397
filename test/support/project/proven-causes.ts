/**
 * The causes of docs/troubleshooting.md, row by row, with the tests that produce each cause and check the symptoms on
 * the page. `unit/project/troubleshooting.test.ts` compares both: a row that is not here fails.
 */

/**
 * Words from the row's first two columns, followed by its tests: a file of `test/`, and a part of the test's title.
 * `outside: ` is used instead of a test if the cause is not in our programs, and `untested: ` if there is no test.
 */
export type ProvenCause = readonly [row: string, ...tests: string[]];

const INGEST = "local/troubleshooting-ingest.test.ts";
const PROGRAM = "integration/troubleshooting.test.ts";
const FAILED = `${PROGRAM}: delivery.attempted has each cause`;
const METRICS = `${PROGRAM}: metrics show which destinations are on hold and why`;
const REMEDIES = `${PROGRAM}: each remedy helps`;
const NOBODY = `${PROGRAM}: a stage that nobody runs`;
const REFUSED_RECORDS = `${PROGRAM}: invalid records become dead letters`;
const CONNECTING = "integration/kafka-connecting.test.ts: run logs kafka.waiting";
const PERMISSIONS = "integration/kafka-permissions.test.ts";
const THROTTLED = "integration/kafka-quotas.test.ts: above a quota all the time";
const UNREACHABLE = "integration/kafka-unreachable.test.ts: Kafka unreachable and back";
const DRILL = "integration/drill.test.ts: down, rejects or is disabled";
/** Compares the metric with the decisions of `explain`, for all reasons. */
const SKIPS = "property/router/route/count-routed.test.ts: each call has one reason";
const FLOWS = "unit/router/audience/flows.test.ts";

export const PROVEN_CAUSES: Readonly<Record<string, readonly ProvenCause[]>> = {
  "It does not start": [
    ["exit status 2", "local/program.test.ts: bin/switchyard.js %j ends with %i"],
    ["kafka.waiting", CONNECTING],
    [
      "topics.waiting",
      "integration/run.test.ts: without permission to create topics, it waits for them",
    ],
    ["ready.partial", "untested: a consumer that cannot join for 30 s"],
    [
      "stage.failed",
      "unit/router/stage/consuming-stage.test.ts: any other failure ends the program",
    ],
  ],
  "Ingest rejects calls": [
    ["unknown-write-key", `${INGEST}: 401: a key that was rotated`],
    ["invalid-call", `${INGEST}: 400: the message names the field`],
    ["calls are missing", `${INGEST}: 200, and calls are missing`],
    ["rate-limited", `${INGEST}: 429: a source over its callsPerSecond`],
    ["overloaded", `${INGEST}: 429: bodies arrive faster`],
    ["kafka-unavailable", `${INGEST}: 503: Kafka has acknowledged nothing`],
    ["the browser's console", `${INGEST}: a page of an origin that is not allowed`],
  ],
  "A call does not arrive": [
    [
      "explain",
      "unit/program/cli/explain/explain.test.ts: a call is shown with its source",
      METRICS,
      "unit/router/route/stage.test.ts: switchyard_route_calls_skipped",
    ],
    ["without_destination_total", "unit/router/route/stage.test.ts: without_destination_total"],
    ["dead-letters list", `${PROGRAM}: dead-letters list finds the call`],
    ["BACKLOG for the destination", `${PROGRAM}: status shows that its queue has the call`],
    ["delivery.attempted", FAILED],
  ],
  "A destination does not get calls": [
    [
      "`not-connected`",
      SKIPS,
      "unit/router/route/route.test.ts: each destination is listed with the reason",
    ],
    ["`disabled`", SKIPS, METRICS],
    ["`no-consent`", SKIPS, "unit/router/rules/consent.test.ts: consent is decided before"],
    [
      "`named-false`",
      SKIPS,
      "unit/router/route/route.test.ts: each destination is listed with the reason",
    ],
    [
      "`all-false`",
      SKIPS,
      "unit/router/route/route.test.ts: each destination is listed with the reason",
    ],
    ["`sampled-out`", SKIPS, "unit/router/rules/filters.test.ts: a share of 1 keeps all"],
    [
      "`filtered`",
      SKIPS,
      "unit/router/rules/filters.test.ts: a filter that matches drops the call",
    ],
    ["`rule-failed`", "unit/router/rules/plan.test.ts: a call that a rule cannot be evaluated for"],
  ],
  "A destination falls behind": [
    ["`circuit-open`", DRILL],
    ["`retry-after`", METRICS],
    ["`token`", "unit/router/deliver/stage-token.test.ts: without a token nothing is attempted"],
    ["`paused`", METRICS, REMEDIES, "integration/control.test.ts: each step of controlling"],
    ["`disabled`", METRICS, REMEDIES],
    ["`timeout`", FAILED, REMEDIES],
    ["`refused`", FAILED, REMEDIES],
    ["`address`", "local/deliver-addresses.test.ts: a name that has moved to a private address"],
    ["`tls-unknown-ca`", FAILED, REMEDIES],
    [
      "switchyard_delivery_attempts_in_flight",
      "unit/router/deliver/stage.test.ts: no more are in progress than",
    ],
    ["`429`", METRICS],
    ["BACKLOG, and no PROCESS", NOBODY],
  ],
  "All destinations are late": [
    ["switchyard_kafka_broker_reachable", UNREACHABLE],
    ["switchyard_kafka_throttle", THROTTLED],
    ["OLDEST of `route`", NOBODY],
    [
      "switchyard_registry_unreachable_since",
      "integration/schema-outage.test.ts: unreachable, waited for",
    ],
    ["NEXT RETRY", NOBODY],
    ["switchyard_delay_overdue", "unit/router/delay/stage.test.ts: what is due is not done before"],
  ],
  "Kafka is unreachable": [
    ["kafka.broker.unreachable", UNREACHABLE],
    ["kafka.produce.failing", "unit/kafka/produce/rounds.test.ts: of a topic is reported as"],
    [
      "INVALID_TIMESTAMP",
      "integration/process-clock.test.ts: a process 5 h ahead that cannot see the brokers' clock reports why",
    ],
    ["kafka.produce.topic-missing", "integration/kafka-traps.test.ts: records for a missing topic"],
    [
      "consumer.crashed",
      `${PERMISSIONS}: a producer of`,
      "unit/router/stage/consuming-stage.test.ts: any other failure ends the program",
      "unit/router/deliver/stage.test.ts: a crashed consumer is started again",
    ],
    ["kafka.consumer.restarting", "integration/kafka-outage.test.ts: for longer than a session"],
  ],
  "Dead letters": [
    ["`rejected`", `${PROGRAM}: dead-letters list finds the call`, REMEDIES],
    [
      "`expired`",
      "unit/router/deliver/stage.test.ts: what nobody accepts expires",
      "unit/router/deliver/stage-on-hold.test.ts: windows that end meanwhile",
    ],
    ["`unknown-source`", REFUSED_RECORDS, REMEDIES],
    ["`invalid-call`", REFUSED_RECORDS],
    ["`undecodable`", REFUSED_RECORDS],
    ["`unknown-schema`", REFUSED_RECORDS, "integration/schema-outage.test.ts: unknown, replayed"],
    ["`rule-failed`", "unit/router/rules/plan.test.ts: a call that a rule cannot be evaluated for"],
    ["`invalid-sync`", `${FLOWS}: what breaks the protocol is a dead letter`],
    ["`invalid-deletion`", "unit/router/deletion/deletion.test.ts: invalid-deletion"],
    ["`cancelled`", "unit/router/deliver/stage-cancel.test.ts: a queue on hold is cancelled"],
    ["`unknown-destination`", "unit/router/deliver/stage.test.ts: whose topics are gone"],
    ["`too-large`", "integration/route.test.ts: and invalid ones dead letters"],
  ],
  "Calls arrive twice": [
    ["`stopped` is not the last line", NOBODY, REMEDIES],
    ["`timeout`", FAILED],
    [
      "switchyard_consumer_rebalances_total",
      "unit/router/stage/watch-consumer.test.ts: lag, oldest record",
    ],
    [
      "switchyard_consumer_foreign_members",
      "integration/foreign-member.test.ts: a program that joins and leaves",
    ],
    [
      "switchyard_consumer_offset_resets",
      "integration/kafka-traps.test.ts: retention has overtaken",
    ],
  ],
  "The receiver reports a wrong signature": [
    ["switchyard sign", "unit/program/cli/program.test.ts: a line end within a secret"],
    ["a JSON parser runs before", "local/webhook-frameworks.test.ts: takes what Switchyard signed"],
    ["changes bodies", "outside: another program changes the bytes"],
  ],
  "A stage has halted": [
    [
      "stage.halted",
      "integration/corrupt-batch-program.test.ts: stop: route halts and reports where",
    ],
    ["stage.restarting", "integration/full-state-store.test.ts: a full disk of the audience store"],
    ["switchyard_consumer_restarts_total", "unit/router/deliver/stage.test.ts: a crashed consumer"],
  ],
  "A change of the configuration does nothing": [
    ["config.invalid", "integration/reload.test.ts: an invalid file changes nothing"],
    ["config.needs-restart", "unit/program/run/reload.test.ts: settings that need a restart"],
    ["config.waiting-for-topics", "integration/reload.test.ts: waits for them, and the rest"],
    ["config diff", "local/config-diff.test.ts: config diff"],
    ["subPath", "local/watch-files.test.ts: as Kubernetes does"],
  ],
  "An audience removes no members": [
    ["audience list", "integration/console-actions.test.ts: a sync is approved"],
    [
      "count-mismatch",
      "unit/router/audience/watching.test.ts: syncs are counted by how they ended",
    ],
    ["was not published", "integration/audience-publish.test.ts: lists that are empty, truncated"],
    ["not been applied", "integration/audience-publish.test.ts: while the stage is down"],
    ["switchyard_audience_syncs_open", `${FLOWS}: what breaks the protocol`],
  ],
};
