/** `switchyard replay`: routes past calls again, for one destination. */

import type { Command } from "commander";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import { CALL_TYPES, type CallType } from "../../../domain/call.ts";
import { visibleLines } from "../../../domain/escape-control.ts";
import { shellWord } from "../../../domain/shell-word.ts";
import type { Kafka } from "../../../kafka/port.ts";
import {
  type ClusterOptions,
  clusterCommand,
  skippingCorrupt,
  withKafka,
} from "../../../operator/connect/cluster.ts";
import { configured } from "../../../operator/connect/configuration.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import {
  instant,
  perSecond,
  repeated,
  repeatedOf,
  replayName,
} from "../../../operator/connect/option-values.ts";
import { onTerminal } from "../../../operator/connect/progress.ts";
import type { Exit, ExitStatus, Shell } from "../../../operator/connect/shell.ts";
import type { CallReplayOutcome } from "../../../operator/replay/call-outcome.ts";
import type { CallReplayOptions } from "../../../operator/replay/call-replay.ts";
import {
  type CallReplayPlan,
  type ChosenReplay,
  fits,
} from "../../../operator/replay/replay-store.ts";

interface Flags extends ClusterOptions {
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  readonly type?: readonly CallType[];
  readonly event?: readonly string[];
  readonly perSecond?: number;
  readonly dryRun?: boolean;
  readonly resume?: string;
}

const HELP = `
Use this command for a destination that is new, was disabled, or lost calls that it had accepted. Each call is
routed again with the current configuration, for this destination only, and keeps its message ID. The
range ends where the calls topic ended when the command started, because the route stage routes later
calls. Calls that the destination has already received are sent again. For a new destination, set
--until to the time from which calls have been routed to it. Calls that the configuration does not
route to the destination are counted, with the reason.

Press Ctrl-C to stop after the current batch; the command prints how to resume.

Exit status: 0 if all calls were written or counted; 1 on failure, after an interruption, or if the
brokers rejected some calls; 2 if the usage or configuration is invalid.

Examples:
  switchyard replay crm-hook --since 2d --dry-run
  switchyard replay crm-hook --since 2026-03-01T09:30Z --until 2026-03-01T11:00Z --per-second 200
  switchyard replay crm-hook --since 7d --type track --event "Order Completed"
  switchyard replay --resume 20260301-093015-3f9c82d1`;

export function replayCommand(shell: Shell, exit: Exit): Command {
  return clusterCommand("replay")
    .description(
      "Reads the calls topic from a given time, routes each call for one destination only, and writes " +
        "the deliveries to that destination's queue.",
    )
    .argument("[destination]", "the destination's ID; omit it with --resume")
    .option(
      "--since <when>",
      "written at or after this time: ISO 8601, or an age such as 2d",
      instant,
    )
    .option("--until <when>", "written before this time", instant)
    .option(
      "--type <type>",
      "only calls of this type (repeatable)",
      repeatedOf(CALL_TYPES, "a call type"),
    )
    .option("--event <event>", "only track calls with this event (repeatable)", repeated)
    .option("--per-second <n>", "write at most n deliveries per second", perSecond)
    .option("--dry-run", "count the calls without writing anything")
    .option(
      "--resume <replay>",
      "continue an interrupted replay, with its original range",
      replayName,
    )
    .option("--json", "print the outcome as one JSON object")
    .addHelpText("after", HELP)
    .action(async (id: string | undefined, flags: Flags) => {
      assertUsage(id, flags);
      const { config } = await configured(flags, shell);
      const chosen = chosenReplay(id, flags);
      const { routedTo } = await import("../../../operator/replay/call-replay.ts");
      if (chosen.kind === "new") routedTo(config, chosen.plan.destination);
      const options = {
        chosen,
        config,
        topics: configuredTopics(config),
        destinationOf: (of: string) => routedTo(config, of),
        dryRun: flags.dryRun === true,
        json: flags.json === true,
        resumeArguments: flags.config === undefined ? "" : ` --config ${shellWord(flags.config)}`,
      };
      exit(
        await withKafka(config, shell, flags, (kafka, signal) => {
          const run = (reading: Kafka) => runCallReplay(reading, { ...options, signal }, shell);
          const skips = config.kafka.onCorruptBatch.calls === "skip";
          return skips ? skippingCorrupt(kafka, shell, 0, run) : run(kafka);
        }),
      );
    });
}

export interface RunCallReplayOptions extends CallReplayOptions {
  readonly json: boolean;
}

export async function runCallReplay(
  kafka: Kafka,
  options: RunCallReplayOptions,
  shell: Shell,
): Promise<ExitStatus> {
  const { topics, chosen } = options;
  const { outcomeJson, outcomeText } = await import("../../../operator/replay/call-outcome.ts");
  const { replayCalls } = await import("../../../operator/replay/call-replay.ts");
  const outcome = await replayCalls(kafka, options, onTerminal(shell));
  if (outcome === null) {
    shell.err(
      `${shell.errColors.red("error:")} Replay of calls ${chosen.kind === "resume" ? chosen.name : ""} cannot be resumed: it is done, was never started, or belongs to a topic prefix other than ${topics.prefix}\n`,
    );
    return 2;
  }
  if (options.json) shell.out(`${outcomeJson(outcome)}\n`);
  else shell.out(outcomeText(outcome, shell.colors));
  return endStatus(outcome, shell);
}

/** Prints the last messages on standard error. */
function endStatus({ end, error, counts, resume }: CallReplayOutcome, shell: Shell): ExitStatus {
  if (error !== null) shell.err(`${shell.errColors.red("failed:")} ${visibleLines(error)}\n`);
  if (end === "interrupted") shell.err("Interrupted. ");
  if (resume !== null) shell.err(`Resume with: ${resume}\n`);
  if (end === "counted") shell.err("Nothing was written (--dry-run).\n");
  const isWhole = end === "done" || end === "counted";
  return isWhole && (counts.refused ?? 0) === 0 ? 0 : 1;
}

function assertUsage(id: string | undefined, flags: Flags): void {
  const { since, until, type, event, resume } = flags;
  if (resume !== undefined) {
    const given = [id, since, until, type, event].some((each) => each !== undefined);
    if (!given) return;
    throw new WrongUsage(
      "--resume uses the original destination and range of the replay. Omit the destination, --since, " +
        "--until, --type and --event.",
    );
  }
  if (id === undefined)
    throw new WrongUsage(
      "the destination is missing. Name the destination that should receive the calls.",
    );
  if (since === undefined) {
    throw new WrongUsage("--since is required: the time from which calls are replayed, such as 2d");
  }
  if (until !== undefined && until <= since) {
    throw new WrongUsage("--until must be later than --since");
  }
}

function chosenReplay(id: string | undefined, flags: Flags): ChosenReplay<"calls"> {
  const { since: sinceMs = 0, until: untilMs = null, type = [], event = [], resume } = flags;
  const rate = flags.perSecond ?? null;
  if (resume !== undefined) return { kind: "resume", name: resume, perSecond: rate };
  const asked = { sinceMs, untilMs, types: type, events: event };
  const plan: CallReplayPlan = { destination: id ?? "", asked, perSecond: rate };
  if (fits("calls", plan)) return { kind: "new", plan };
  throw new WrongUsage("these events are too large to store with the replay. Use several replays.");
}
