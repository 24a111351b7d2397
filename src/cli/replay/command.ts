/** `switchyard replay`: writes calls of the topic of calls once more, for one destination. */

import { Command, InvalidArgumentError } from "commander";

import { CALL_TYPES, type CallType } from "../../domain/call.ts";
import { shellWord } from "../../domain/shell-word.ts";
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
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { routedTo } from "../../operate/replay/calls/replay-destination.ts";
import type { ChosenReplay } from "../../operate/replay/calls/run-replay.ts";
import { type CallReplayPlan, fits } from "../../operate/replay/calls/stored-replay.ts";
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
      if (chosen.kind === "new") routedTo(config, chosen.plan.destination);
      const { runReplay } = await import("../../operate/replay/calls/run-replay.ts");
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
          runReplay(kafka, { ...options, signal }, shell),
        ),
      );
    });
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

function chosenReplay(id: string | undefined, flags: Flags): ChosenReplay {
  const { since: sinceMs = 0, until: untilMs = null, type = [], event = [], resume } = flags;
  const rate = flags.perSecond ?? null;
  if (resume !== undefined) return { kind: "resume", name: resume, perSecond: rate };
  const asked = { sinceMs, untilMs, types: type, events: event };
  const plan: CallReplayPlan = { destination: id ?? "", asked, perSecond: rate };
  if (fits(plan)) return { kind: "new", plan };
  throw new WrongUsage("these are more events than a replay can keep; replay in several replays");
}

function collectType(text: string, earlier: readonly CallType[] = []): readonly CallType[] {
  const type = CALL_TYPES.find((name) => name === text);
  if (type !== undefined) return [...earlier, type];
  throw new InvalidArgumentError(`"${text}" is no type. Types: ${CALL_TYPES.join(", ")}.`);
}
