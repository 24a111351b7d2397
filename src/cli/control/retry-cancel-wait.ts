/** `switchyard retry`, `wait` and `cancel`: the deliveries that wait for one destination. */

import { Command } from "commander";

import { visibleCell } from "../../domain/escape-control.ts";
import { cancelWaiting, retryNow, waitUntilNoneIsLeft } from "../../operate/act/control-actions.ts";
import {
  type ControlOptions,
  controlOptions,
  EXIT_HELP,
  operatingOn,
  withDestination,
} from "../../operate/act/control-options.ts";
import type { Looking } from "../../operate/act/remaining.ts";
import { remainingText, stillText, sumOf } from "../../operate/act/wait.ts";
import { durationWithin } from "../../operate/connect/option-values.ts";
import { onTerminal } from "../../operate/connect/progress.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { tell } from "../../operate/connect/tell.ts";
import { systemClock } from "../../runtime/clock.ts";
import { counted } from "../../words/count.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";

type Exit = (status: ExitStatus) => void;

interface DrainOptions extends ControlOptions {
  /** Milliseconds. */
  readonly timeout?: number;
}

interface CancelOptions extends ControlOptions {
  /** Milliseconds. */
  readonly olderThan?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const YEAR_MS = 365 * 86_400_000;
/** The author that records name. */
const BY = "command";

export function retryCommand(shell: Shell, exit: Exit): Command {
  const command = new Command("retry")
    .summary("retry now the deliveries of a destination that await retry")
    .description(
      "Returns the deliveries that wait in delay topics for one destination, and for nobody else. " +
        "They are posted now, at the pace that its endpoints take. A `Retry-After` is waited for.",
    );
  return controlOptions(command)
    .addHelpText("after", `${EXIT_HELP}Example:\n  switchyard retry crm --config switchyard.yaml`)
    .action((id: string, options: ControlOptions) =>
      withDestination(id, options, shell, exit, async (looking) => {
        const acting = { looking, progressOutput: onTerminal(shell), by: BY };
        const waiting = await retryNow(acting, await operatingOn(looking, shell));
        const done = `Returned at once: ${counted(waiting, "delivery", "deliveries")} of ${id} that awaited retry. \`switchyard wait ${id}\` waits until they are gone.\n`;
        tell(options, shell, done, { destination: id, returned: waiting });
      }),
    );
}

export function cancelCommand(shell: Shell, exit: Exit): Command {
  const command = new Command("cancel")
    .summary("give up what waits for a destination")
    .description(
      "Makes dead letters of the deliveries that wait for a destination: in its line, among those " +
        "that are due again, and in delay topics. Their reason is `cancelled`, and they can be " +
        "replayed (`switchyard dead-letters replay --reason cancelled`).",
    )
    .option(
      "--older-than <duration>",
      "only calls received before that, such as 2d",
      durationWithin(1, YEAR_MS),
    )
    .option("--dry-run", "count them, and change nothing")
    .option("--yes", "do it");
  return controlOptions(command)
    .addHelpText(
      "after",
      `${EXIT_HELP}Examples:\n  switchyard cancel crm --older-than 2d --dry-run --config switchyard.yaml\n` +
        "  switchyard cancel crm --older-than 2d --yes --config switchyard.yaml",
    )
    .action((id: string, options: CancelOptions) => {
      if (options.dryRun !== true && options.yes !== true) {
        throw new WrongUsage("--yes is needed to cancel; --dry-run shows how many there are.");
      }
      return withDestination(id, options, shell, exit, async (looking) => {
        const isDryRun = options.dryRun === true;
        const acting = { looking, progressOutput: onTerminal(shell), by: BY };
        const operating = isDryRun ? null : await operatingOn(looking, shell);
        const beforeMs = systemClock.nowMs() - (options.olderThan ?? 0);
        const waiting = await cancelWaiting(acting, operating, beforeMs);
        const what = `${counted(waiting, "delivery", "deliveries")} of ${id}`;
        const done = isDryRun
          ? `${what} would be cancelled.\n`
          : `Cancelled: ${what}. They become dead letters now (\`switchyard dead-letters list --reason cancelled --destination ${id}\`).\n`;
        const receivedBefore = new Date(beforeMs).toISOString();
        const outcome = { destination: id, receivedBefore, dryRun: isDryRun, count: waiting };
        tell(options, shell, done, outcome);
      });
    });
}

export function waitCommand(shell: Shell, exit: Exit): Command {
  const command = new Command("wait")
    .summary("wait until nothing is left for a destination")
    .description(
      "Waits until all that there is for a destination now was delivered or given up: in its line, " +
        "among those that are due again, and in delay topics. Later calls are not waited for.",
    )
    .option("--timeout <duration>", "give up after that, such as 10m", durationWithin(1, YEAR_MS));
  return controlOptions(command)
    .addHelpText(
      "after",
      "\nExit status: 0 nothing is left, 1 something is, or failed; 2 wrong usage or configuration.\n\n" +
        "Example:\n  switchyard wait crm --timeout 10m --config switchyard.yaml",
    )
    .action((id: string, options: DrainOptions) =>
      withDestination(id, options, shell, exit, async (looking) => {
        exit(await waitAndSay(looking, shell, options));
      }),
    );
}

async function waitAndSay(
  looking: Looking,
  shell: Shell,
  options: DrainOptions,
): Promise<ExitStatus> {
  const { destination, signal } = looking;
  const why = await stillText(looking, systemClock.nowMs());
  if (why !== null) shell.err(`${visibleCell(why)}; until then nothing leaves.\n`);
  const remaining = await waitUntilNoneIsLeft(
    { looking, progressOutput: onTerminal(shell) },
    options.timeout ?? null,
  );
  const isDrained = sumOf(remaining) === 0;
  const text = isDrained ? `Nothing is left for ${destination}.\n` : "";
  tell(options, shell, text, { destination, drained: isDrained, remaining });
  if (isDrained) return 0;
  shell.err(
    `${signal.aborted ? "Interrupted" : "The time is over"}. ${remainingText(remaining)}.\n`,
  );
  return 1;
}
