/** `switchyard timeline`: shows what happened to one call. */

import type { Command } from "commander";
import { systemClock } from "../../../base/runtime/clock.ts";
import type { Config } from "../../../config/config.ts";
import { visibleCell } from "../../../domain/escape-control.ts";
import type { Kafka } from "../../../kafka/port.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withCluster,
} from "../../../operator/connect/cluster.ts";
import { openCommandSchemas } from "../../../operator/connect/command-schemas.ts";
import { instant as parseSince } from "../../../operator/connect/option-values.ts";
import { startProgress } from "../../../operator/connect/progress.ts";
import type { Exit, ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import { instant } from "../../../operator/timeline/sentences.ts";

const SINCE_DEFAULT_MS = 86_400_000;

interface TraceOptions extends ClusterOptions {
  /** Milliseconds since the epoch. */
  readonly since?: number;
}

export function timelineCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("timeline")
    .description(
      "Shows the steps of one call in chronological order: when it was received, which destinations it was " +
        "routed to and why, each attempt, each wait, and the final state of each delivery. Reads Kafka and " +
        "the schema registry, and changes nothing. If `attempts.enabled` is set, every attempt is shown " +
        "with its phases; otherwise the output lists what is unknown.",
    )
    .argument(
      "<message-id>",
      "message ID of the call, or <topic>/<partition>/<offset> if it has none",
    )
    .option(
      "--since <when>",
      "read records written at or after this time: ISO 8601, or an age such as 2d (default: 1d)",
      parseSince,
    )
    .option(
      "--json",
      "print one JSON object per line: steps and final states in chronological order, then gaps",
    )
    .addHelpText(
      "after",
      "\nRecords are keyed by user and not by message ID, so the command reads all records since\n" +
        "the time of --since. A shorter --since is faster.\n\n" +
        "Exit status: 0 if the call was found; 1 if it was not found, or if not everything could be read;\n" +
        "2 if the usage or configuration is invalid.\n\nExamples:\n" +
        "  switchyard timeline 0190b6c4-5ae1-7f2e-9d6a-0c8b7f5e4a31\n" +
        "  switchyard timeline switchyard.calls/3/1042 --since 2d --json",
    )
    .action((messageId: string, options: TraceOptions) =>
      withCluster(options, shell, exit, (kafka, config, signal) =>
        trace(kafka, config, { messageId, ...options }, signal, shell),
      ),
    );
}

async function trace(
  kafka: Kafka,
  config: Config,
  { messageId, since, json }: TraceOptions & { readonly messageId: string },
  signal: AbortSignal,
  shell: Shell,
): Promise<ExitStatus> {
  const { readTimeline } = await import("../../../operator/timeline/read-timeline.ts");
  const { configuredTimeline } = await import("../../../operator/timeline/read-timeline.ts");
  await using schemas = await openCommandSchemas(config.registry, signal);
  const { timelineJson, timelineText } = await import(
    "../../../operator/timeline/timeline-text.ts"
  );
  const sinceMs = since ?? systemClock.nowMs() - SINCE_DEFAULT_MS;
  let read = 0;
  using progress = startProgress(shell, () => `${read.toLocaleString("en")} records read`);
  const ports = configuredTimeline(config, schemas, { kafka, signal });
  const onRead = (records: number) => {
    read += records;
  };
  const found = await readTimeline({ ...ports, onRead }, { messageId, sinceMs });
  progress.end();
  if (found === null) {
    shell.err("Interrupted: not everything was read.\n");
    return 1;
  }
  if (found.steps.length === 0) {
    const id = visibleCell(JSON.stringify(messageId));
    const records = read.toLocaleString("en");
    shell.err(
      `The call ${id} was not found in ${records} records since ${instant(sinceMs)}. To search further back, use --since.\n`,
    );
    return 1;
  }
  if (json === true) shell.raw(timelineJson(found));
  else shell.out(timelineText(found, shell.colors));
  return found.gaps.some(({ kind }) => kind === "unread") ? 1 : 0;
}
