/** `switchyard pause` and `switchyard resume`. */

import type { Command } from "commander";
import { resumeDestination } from "../../control/write-operator-action.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import { isDestinationId } from "../../domain/ids.ts";
import { pauseNow, stillOnHold } from "../../operate/act/control-actions.ts";
import {
  controlCommand,
  EXIT_HELP,
  operatingOn,
  withDestination,
} from "../../operate/act/control-options.ts";
import { pausedJson, pausedText, waitingOfPaused } from "../../operate/act/paused-text.ts";
import { pausedSentence, pauseJson } from "../../operate/act/pausing.ts";
import { type ClusterOptions, withKafka } from "../../operate/connect/cluster.ts";
import { configured } from "../../operate/connect/configuration.ts";
import { durationWithin } from "../../operate/connect/option-values.ts";
import { type Shell, tell } from "../../operate/connect/shell.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";

interface PauseOptions extends ClusterOptions {
  /** Milliseconds. */
  readonly for?: number;
  readonly untilResumed?: boolean;
}

/** Maximum for --for. Without --for, a pause has no end. */
const FOR_MAX_MS = 365 * 86_400_000;

export function pauseCommand(shell: Shell): Command {
  return controlCommand("pause")
    .description(
      "Pauses a destination in all processes within two seconds, until it is resumed. No requests are " +
        "sent to it. Its calls are still routed, and stay in its queue in order. The pause survives " +
        "restarts. If the destination is already paused, the end of that pause changes only with --for " +
        "or --until-resumed.",
    )
    .option(
      "--for <duration>",
      "resume automatically after this time, such as 2h",
      durationWithin(1, FOR_MAX_MS),
    )
    .option("--until-resumed", "do not resume automatically, even if the current pause has an end")
    .addHelpText(
      "after",
      `${EXIT_HELP}Examples:\n  switchyard pause crm --config switchyard.yaml\n` +
        "  switchyard pause crm --for 2h --config switchyard.yaml",
    )
    .action((id: string, options: PauseOptions) => {
      if (options.for !== undefined && options.untilResumed === true) {
        throw new WrongUsage("--for and --until-resumed cannot be combined.");
      }
      return withDestination(id, options, shell, async (looking) => {
        const asked = { forMs: options.for ?? null, untilResumed: options.untilResumed === true };
        const operating = await operatingOn(looking, shell);
        const paused = await pauseNow({ looking, by: "command" }, operating, asked);
        // The deliveries are counted only when the pause is in force, because counting can take several seconds.
        if (options.json !== true) shell.out(`${visibleCell(pausedSentence(paused))}\n`);
        const waiting = await waitingOfPaused(looking, paused.pause.untilMs);
        const { untilMs } = paused.pause;
        const until = untilMs === null ? null : new Date(untilMs).toISOString();
        const before = pauseJson(paused.before);
        const outcome = { destination: id, paused: true, until, before };
        tell(options, shell, pausedText(waiting), { ...outcome, waiting: pausedJson(waiting) });
      });
    });
}

export function resumeCommand(shell: Shell): Command {
  return controlCommand("resume")
    .description(
      "Ends a pause that was started with `switchyard pause` or in the console, in all processes " +
        "within two seconds. Queued deliveries are then delivered in order. Also works for a " +
        "destination that was removed from the configuration.",
    )
    .addHelpText("after", `${EXIT_HELP}Example:\n  switchyard resume crm --config switchyard.yaml`)
    .action(async (id: string, options: ClusterOptions) => {
      const { config } = await configured(options, shell);
      if (!isDestinationId(id)) throw new WrongUsage(`"${id}" is not a valid destination ID.`);
      await withKafka(config, shell, options, async (kafka, signal) => {
        await resumeDestination(await operatingOn({ kafka, config, signal }, shell), id);
      });
      const why = stillOnHold(id, config);
      tell(options, shell, `Resumed: ${id}.\n`, {
        destination: id,
        resumed: true,
        stillOnHold: why,
      });
      if (why !== null) shell.err(`${why}\n`);
    });
}
