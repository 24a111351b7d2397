/** `switchyard replay`: writes calls of the topic of calls once more, for one destination. */

import { Command, InvalidArgumentError } from "commander";

import { CALL_TYPES, type CallType } from "../../domain/call.ts";
import { visibleLines } from "../../domain/escape-control.ts";
import { shellWord } from "../../domain/shell-word.ts";
import type { Kafka } from "../../kafka/port.ts";
import {
  type KafkaTimeoutOption,
  kafkaTimeoutOption,
  withKafka,
} from "../../operate/connect/cluster.ts";
import {
  type ConfigOption,
  configOption,
  loadOrExplain,
} from "../../operate/connect/configuration.ts";
import { configuredTopics } from "../../operate/connect/connection.ts";
import { instant, perSecond, repeated, replayName } from "../../operate/connect/option-values.ts";
import { onTerminal } from "../../operate/connect/progress.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import type { Outcome } from "../../operate/replay/call-outcome.ts";
import type { CallReplayOptions } from "../../operate/replay/call-replay.ts";
import type { ChosenReplay } from "../../operate/replay/replay-store.ts";
import { type CallReplayPlan, fits } from "../../operate/replay/stored-replay.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";

interface Flags extends ConfigOption, KafkaTimeoutOption {
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  readonly type?: readonly CallType[];
  readonly event?: readonly string[];
  readonly perSecond?: number;
  readonly dryRun?: boolean;
  readonly resume?: string;
  readonly json?: boolean;
}

const HELP = `
For a destination that is new, was disabled, or lost what it had accepted. Each call is routed anew,
by the present configuration, for this destination alone; it keeps its message id. The range ends
where the topic of calls ended when the command began: later calls are routed by the stage. Calls
that the destination has got already are sent again, so give --until for one that is new: the time
from which it was routed to. Calls that routing does not send there are counted, with the reason.

Ctrl-C ends a replay after what is in hand and prints how to go on.

Exit status: 0 all is written, or counted; 1 interrupted, failed or some refused by the brokers;
2 wrong usage or configuration.

Examples:
  switchyard replay crm-hook --since 2d --dry-run
  switchyard replay crm-hook --since 2026-03-01T09:30Z --until 2026-03-01T11:00Z --per-second 200
  switchyard replay crm-hook --since 7d --type track --event "Order Completed"
  switchyard replay --resume 20260301-093015-3f9c`;

export function replayCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("replay")
    .summary("write calls of the last days once more, for one destination")
    .description(
      "Reads the topic of calls from a time on, routes each call for one destination alone, and " +
        "writes it to that destination's topic.",
    )
    .argument("[destination]", "id of the destination; left out with --resume")
    .addOption(configOption())
    .addOption(kafkaTimeoutOption())
    .option(
      "--since <when>",
      "written then or later: an ISO 8601 time, or 2d for 2 days ago",
      instant,
    )
    .option("--until <when>", "written before then", instant)
    .option("--type <type>", "calls of this type; may be repeated", collectType)
    .option("--event <event>", "tracks of this event; may be repeated", repeated)
    .option("--per-second <count>", "at most so many a second", perSecond)
    .option("--dry-run", "count, and write nothing")
    .option("--resume <replay>", "go on with an interrupted replay, with its range", replayName)
    .option("--json", "print the outcome as one JSON object")
    .addHelpText("after", HELP)
    .action(async (id: string | undefined, flags: Flags) => {
      assertUsage(id, flags);
      const loaded = await loadOrExplain(flags, shell);
      if (loaded === null) return exit(2);
      const { config } = loaded;
      const chosen = chosenReplay(id, flags);
      const { routedTo } = await import("../../operate/replay/call-replay.ts");
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
        await withKafka(config, shell, flags, (kafka, signal) =>
          runCallReplay(kafka, { ...options, signal }, shell),
        ),
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
  const { outcomeJson, outcomeText } = await import("../../operate/replay/call-outcome.ts");
  const { replayCalls } = await import("../../operate/replay/call-replay.ts");
  const outcome = await replayCalls(kafka, options, onTerminal(shell));
  if (outcome === null) {
    shell.err(
      `${shell.errColors.red("error:")} There is no replay of calls ${chosen.kind === "resume" ? chosen.name : ""} to resume: it is done, never started, or is under another topic prefix than ${topics.prefix}\n`,
    );
    return 2;
  }
  if (options.json) shell.out(`${outcomeJson(outcome)}\n`);
  else shell.out(outcomeText(outcome, shell.colors));
  return endStatus(outcome, shell);
}

/** The last words on standard error. */
function endStatus({ end, error, counts, resume }: Outcome, shell: Shell): ExitStatus {
  if (error !== null) shell.err(`${shell.errColors.red("failed:")} ${visibleLines(error)}\n`);
  if (end === "interrupted") shell.err("Interrupted. ");
  if (resume !== null) shell.err(`Go on with: ${resume}\n`);
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
      "--resume goes on with the destination and the range that the replay began with; give no " +
        "destination, and none of --since, --until, --type and --event",
    );
  }
  if (id === undefined) throw new WrongUsage("name the destination that gets the calls");
  if (since === undefined) {
    throw new WrongUsage(
      "give --since: the time from which on calls are written again, such as 2d",
    );
  }
  if (until !== undefined && until <= since) {
    throw new WrongUsage("--until is not after --since: there is nothing between them");
  }
}

function chosenReplay(id: string | undefined, flags: Flags): ChosenReplay<"calls"> {
  const { since: sinceMs = 0, until: untilMs = null, type = [], event = [], resume } = flags;
  const rate = flags.perSecond ?? null;
  if (resume !== undefined) return { kind: "resume", name: resume, perSecond: rate };
  const asked = { sinceMs, untilMs, types: type, events: event };
  const plan: CallReplayPlan = { destination: id ?? "", asked, perSecond: rate };
  if (fits("calls", plan)) return { kind: "new", plan };
  throw new WrongUsage("these are more events than a replay can keep; replay in several replays");
}

function collectType(text: string, earlier: readonly CallType[] = []): readonly CallType[] {
  const type = CALL_TYPES.find((name) => name === text);
  if (type !== undefined) return [...earlier, type];
  throw new InvalidArgumentError(`"${text}" is no type. Types: ${CALL_TYPES.join(", ")}.`);
}
