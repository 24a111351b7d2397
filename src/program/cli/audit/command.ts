/** `switchyard audit`: adds up what became of the calls of a period. */

import type { Command } from "commander";
import { systemClock } from "../../../base/runtime/clock.ts";
import { unknownDestination, WrongUsage } from "../../../base/words/wrong-usage.ts";
import type { Config } from "../../../config/config.ts";
import { isAttempted } from "../../../domain/destination.ts";
import type { DestinationId } from "../../../domain/ids.ts";
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

const DAY_MS = 86_400_000;
/** Calls that were received later may still be on their way into the ledger. */
const SETTLED_MS = 120_000;
/** For this long, the ledger is kept. */
const SINCE_MAX_MS = 7 * DAY_MS;

interface AuditOptions extends ClusterOptions {
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  readonly destination?: string;
}

export function auditCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("audit")
    .description(
      "Adds up what became of the calls of a period, from the topic `ledger`: for each destination, how many were " +
        "delivered, wait, await a retry, were dead-lettered, skipped or suppressed. If a sum does not close, names the " +
        "deliveries that are missing or too many. Reads Kafka, and changes nothing.",
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
      "\nTimes are rounded to ten minutes, for which the ledger has sums. Records are read only where sums differ.\n\n" +
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
  const nowMs = systemClock.nowMs();
  const { since = nowMs - DAY_MS, until = nowMs - SETTLED_MS, destination, json } = options;
  if (since >= until) throw new WrongUsage("--since is not before --until.");
  if (since < nowMs - SINCE_MAX_MS) throw new WrongUsage("the ledger is kept for 7 days.");
  if (!config.audit.enabled) {
    throw new WrongUsage("audit.enabled is false, so the stages write no ledger.");
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
  const destinations = chosen(config, destination);
  const source = { kafka, topics, groups, destinations, signal, onRead };
  const report = await audit(source, { fromMs: since, toMs: until });
  progress.end();
  if (signal.aborted) {
    shell.err("Interrupted: not everything was read.\n");
    return 1;
  }
  if (json === true) shell.raw(auditJson(report));
  else shell.out(auditText(report));
  return closes(report) ? 0 : 3;
}

/** Destinations of other types, whose topics other programs read, have no sums. */
function chosen(config: Config, id: string | undefined): readonly DestinationId[] {
  const attempted = config.destinations.filter(isAttempted).map((each) => each.id);
  if (id === undefined) return attempted;
  const found = attempted.filter((each) => each === id);
  if (found.length > 0) return found;
  throw unknownDestination(id, attempted);
}
