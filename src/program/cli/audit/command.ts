/** `switchyard audit`: adds up what became of the calls of a period. */

import type { Command } from "commander";
import { systemClock } from "../../../base/runtime/clock.ts";
import { unknownDestination, WrongUsage } from "../../../base/words/wrong-usage.ts";
import type { Config } from "../../../config/config.ts";
import { isAttempted } from "../../../domain/destination.ts";
import { groupNames } from "../../../domain/topics.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { assertTopics } from "../../../operator/connect/assert-topics.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withCluster,
} from "../../../operator/connect/cluster.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import { instant } from "../../../operator/connect/option-values.ts";
import { startProgress } from "../../../operator/connect/progress.ts";
import type { Exit, ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import { BIN_MS } from "../../../router/ledger/tallies.ts";

const DAY_MS = 86_400_000;
/** Calls that were received later may still be on their way into the ledger. */
const SETTLED_MS = 120_000;
/** For this long, the ledger is kept. The minute is that between reading `7d` and comparing it. */
const SINCE_MAX_MS = 7 * DAY_MS + 60_000;

interface AuditOptions extends ClusterOptions {
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  readonly destination?: string;
}

export function auditCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("audit")
    .description(
      "Adds up what became of the calls of a period, from the topic `ledger`: for each destination, how many deliveries " +
        "were delivered, dead-lettered or suppressed, are queued, or await a retry. If a sum does not close, names the " +
        "deliveries that are missing or too many. Only reads from Kafka.",
    )
    .option(
      "--since <when>",
      "calls received from this time on: ISO 8601, or an age such as 2d (default: 1d)",
      instant,
    )
    .option("--until <when>", "calls received before this time (default: two minutes ago)", instant)
    .option("--destination <id>", "only this destination")
    .option("--json", "print the report as one JSON object")
    .addHelpText(
      "after",
      "\nTimes are rounded to whole ten minutes, because the ledger has a sum for each ten minutes. To audit each call after\n" +
        "its last retry, audit two days each day. The guide to delivery guarantees describes each finding.\n\n" +
        "Exit status: 0 if every sum closes; 3 if one does not; 1 on failure; 2 if the usage or configuration is\n" +
        "invalid.\n\nExamples:\n" +
        "  switchyard audit\n" +
        "  switchyard audit --since 2h --destination crm --json",
    )
    .action((options: AuditOptions) =>
      withCluster(options, shell, exit, (kafka, config, signal) =>
        run(kafka, config, options, signal, shell),
      ),
    );
}

async function run(
  kafka: Kafka,
  config: Config,
  options: AuditOptions,
  signal: AbortSignal,
  shell: Shell,
): Promise<ExitStatus> {
  const { destination, json } = options;
  const period = auditPeriod(options, systemClock.nowMs());
  if (!config.audit.enabled) {
    throw new WrongUsage("audit.enabled is false, so the stages do not write the ledger.");
  }
  const { audit } = await import("../../../operator/audit/audit.ts");
  const { auditJson, auditText, closes } = await import("../../../operator/audit/audit-text.ts");
  const topics = configuredTopics(config);
  await assertTopics(kafka.admin, [topics.ledger, topics.calls]);
  let read = 0;
  using progress = startProgress(shell, () => `${read.toLocaleString("en")} records read`);
  const onRead = (records: number) => {
    read += records;
  };
  const groups = groupNames(config.kafka.topicPrefix);
  const isShown = (id: string) => destination === undefined || id === destination;
  // Destinations of other types, whose topics other programs read, have no sums.
  const attempted = config.destinations.filter(isAttempted).map(({ id }) => id);
  const destinations = attempted.filter(isShown);
  if (destination !== undefined && destinations.length === 0) {
    throw unknownDestination(destination, attempted);
  }
  const source = { kafka, topics, groups, destinations, signal, onRead };
  const whole = await audit(source, period);
  const shown = [...whole.destinations].filter(([id]) => isShown(id));
  const report = { ...whole, destinations: new Map(shown) };
  progress.end();
  if (signal.aborted) {
    shell.err("Interrupted: not everything was read.\n");
    return 1;
  }
  if (json === true) shell.raw(auditJson(report));
  else shell.out(auditText(report));
  return closes(report) ? 0 : 3;
}

/** @throws WrongUsage */
export function auditPeriod(
  options: Pick<AuditOptions, "since" | "until">,
  nowMs: number,
): { readonly fromMs: number; readonly toMs: number } {
  const { since = nowMs - DAY_MS, until = nowMs - SETTLED_MS } = options;
  if (since >= until) throw new WrongUsage("--since is not before --until.");
  if (Math.ceil(since / BIN_MS) >= Math.floor(until / BIN_MS)) {
    throw new WrongUsage(
      "calls are audited in whole ten minutes, such as from 09:30 to 09:40, and there are none " +
        "between --since and --until. Use an earlier --since.",
    );
  }
  if (since < nowMs - SINCE_MAX_MS) {
    throw new WrongUsage("--since is more than 7 days ago, and the ledger is kept for 7 days.");
  }
  return { fromMs: since, toMs: until };
}
