/** `switchyard timeline`: what became of one call. */

import { Command, InvalidArgumentError } from "commander";

import type { Config } from "../../config/config.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import type { Kafka } from "../../kafka/port.ts";
import {
  type KafkaTimeoutOption,
  kafkaTimeoutOption,
  withKafka,
} from "../../operate/connect/cluster.ts";
import { openCommandSchemas } from "../../operate/connect/command-schemas.ts";
import {
  type ConfigOption,
  configOption,
  loadOrExplain,
} from "../../operate/connect/configuration.ts";
import { INSTANT_FORM, parseInstant } from "../../operate/connect/instant.ts";
import { startProgress } from "../../operate/connect/progress.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { instant } from "../../operate/timeline/sentences.ts";
import { systemClock } from "../../runtime/clock.ts";

const SINCE_DEFAULT_MS = 86_400_000;

interface TraceOptions extends ConfigOption, KafkaTimeoutOption {
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly json?: boolean;
}

export function timelineCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("timeline")
    .summary("tell one call's way: received, routed, attempted, waiting, accepted or given up")
    .description(
      "Tells what became of the call with a message id, a line for each step, in order of time: " +
        "when it was received, which destinations it was routed to and why, each attempt, each " +
        "wait, and how it ended. Reads Kafka, and schemas of the registry; changes nothing. With `attempts.enabled` " +
        "it knows every attempt with its phases; otherwise it says what it cannot know. Exit " +
        "status 1 when nothing is found, or not everything could be read.",
    )
    .argument(
      "<message-id>",
      "of the call; one without an id of its own: <topic>/<partition>/<offset>",
    )
    .addOption(configOption())
    .addOption(kafkaTimeoutOption())
    .option(
      "--since <when>",
      "look at what was written then or later: an ISO 8601 time, or 2d for two days ago (default: 1d)",
      at,
    )
    .option("--json", "one JSON object a line: steps and final states in order of time, then gaps")
    .addHelpText(
      "after",
      "\nCalls are keyed by user, so all of them are looked through since that time. " +
        "\nA shorter --since is quicker.\n\nExamples:\n" +
        "  switchyard timeline 0190b6c4-5ae1-7f2e-9d6a-0c8b7f5e4a31\n" +
        "  switchyard timeline switchyard.calls/3/1042 --since 2d --json",
    )
    .action(async (messageId: string, options: TraceOptions) => {
      const loaded = await loadOrExplain(options, shell);
      if (loaded === null) return exit(2);
      const { config } = loaded;
      exit(
        await withKafka(config, shell, options, (kafka, signal) =>
          trace(kafka, config, { messageId, ...options }, signal, shell),
        ),
      );
    });
}

async function trace(
  kafka: Kafka,
  config: Config,
  { messageId, since, json }: TraceOptions & { readonly messageId: string },
  signal: AbortSignal,
  shell: Shell,
): Promise<ExitStatus> {
  const { readTimeline } = await import("../../operate/timeline/read-timeline.ts");
  const { configuredTimeline } = await import("../../operate/timeline/configured-timeline.ts");
  await using schemas = await openCommandSchemas(config.registry, signal);
  const { timelineJson, timelineText } = await import("../../operate/timeline/timeline-text.ts");
  const sinceMs = since ?? systemClock.nowMs() - SINCE_DEFAULT_MS;
  let read = 0;
  using progress = startProgress(shell, () => `${read.toLocaleString("en")} records looked at`);
  const { ports, names } = configuredTimeline(config, schemas, { kafka, signal });
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
    const looked = `${read.toLocaleString("en")} records were looked at`;
    shell.err(
      `Nothing is known of ${id} since ${instant(sinceMs)}: ${looked}. --since looks further back.\n`,
    );
    return 1;
  }
  if (json === true) shell.raw(timelineJson(found, names));
  else shell.out(timelineText(found, names, shell.colors));
  return found.gaps.some(({ kind }) => kind === "unread") ? 1 : 0;
}

function at(text: string): number {
  const atMs = parseInstant(text, systemClock.nowMs());
  if (atMs !== null) return atMs;
  throw new InvalidArgumentError(`"${text}" is no time. Expected ${INSTANT_FORM}.`);
}
