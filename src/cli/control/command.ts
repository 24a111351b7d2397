/** `switchyard pause` and `switchyard resume`: a destination, while it runs. */

import { Command } from "commander";
import { resumeDestination } from "../../control/write-operator-action.ts";
import { visibleCell } from "../../domain/escape-control.ts";
import { isDestinationId } from "../../domain/ids.ts";
import { pauseNow, stillOnHold } from "../../operate/act/control-actions.ts";
import {
  type ControlOptions,
  controlOptions,
  EXIT_HELP,
  operatingOn,
  withDestination,
} from "../../operate/act/control-options.ts";
import { pausedJson, pausedText, waitingOfPaused } from "../../operate/act/paused-text.ts";
import { pausedSentence, pauseJson } from "../../operate/act/pausing.ts";
import { withKafka } from "../../operate/connect/cluster.ts";
import { loadOrExplain } from "../../operate/connect/configuration.ts";
import { durationWithin } from "../../operate/connect/option-values.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { tell } from "../../operate/connect/tell.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";

type Exit = (status: ExitStatus) => void;

interface PauseOptions extends ControlOptions {
  /** Milliseconds. */
  readonly for?: number;
  readonly untilResumed?: boolean;
}

/** A longer pause is one without an end. */
const FOR_MAX_MS = 365 * 86_400_000;

export function pauseCommand(shell: Shell, exit: Exit): Command {
  const command = new Command("pause")
    .summary("stop posting to a destination for a while")
    .description(
      "Pauses a destination: in all processes nothing is posted to it any more, within two seconds. " +
        "Its calls are routed on and wait in order. It stays so over restarts. If it is paused " +
        "already, the end of that pause stays as it is, unless one of the options is given.",
    )
    .option(
      "--for <duration>",
      "it goes on by itself after that, such as 2h",
      durationWithin(1, FOR_MAX_MS),
    )
    .option("--until-resumed", "it has no end, also if it is paused until a time already");
  return controlOptions(command)
    .addHelpText(
      "after",
      `${EXIT_HELP}Examples:\n  switchyard pause crm --config switchyard.yaml\n` +
        "  switchyard pause crm --for 2h --config switchyard.yaml",
    )
    .action((id: string, options: PauseOptions) => {
      if (options.for !== undefined && options.untilResumed === true) {
        throw new WrongUsage("--for and --until-resumed exclude each other.");
      }
      return withDestination(id, options, shell, exit, async (looking) => {
        const asked = { forMs: options.for ?? null, untilResumed: options.untilResumed === true };
        const operating = await operatingOn(looking, shell);
        const paused = await pauseNow({ looking, by: "command" }, operating, asked);
        // It is so before all is counted.
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

export function resumeCommand(shell: Shell, exit: Exit): Command {
  const command = new Command("resume")
    .summary("end the pause of a destination")
    .description(
      "Ends a pause that `switchyard pause` began, within two seconds in all processes. What waits " +
        "is posted in order. A destination that is no longer configured may be named, too.",
    );
  return controlOptions(command)
    .addHelpText("after", `${EXIT_HELP}Example:\n  switchyard resume crm --config switchyard.yaml`)
    .action(async (id: string, options: ControlOptions) => {
      const loaded = await loadOrExplain(options, shell);
      if (loaded === null) return exit(2);
      const { config } = loaded;
      if (!isDestinationId(id)) throw new WrongUsage(`"${id}" is no id of a destination.`);
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
