/** `switchyard pause`, `resume`, `retry`, `cancel` and `wait`. */

import type { Command } from "commander";
import { systemClock } from "../../../base/runtime/clock.ts";
import { counted } from "../../../base/words/count.ts";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import { visibleCell } from "../../../domain/escape-control.ts";
import { isDestinationId } from "../../../domain/ids.ts";
import {
  attemptedOf,
  cancelWaiting,
  operatingOn,
  pauseNow,
  resumedSentence,
  resumeNow,
  retryNow,
  stillOnHold,
  waitUntilNoneIsLeft,
} from "../../../operator/act/control-actions.ts";
import { pausedJson, pausedText, waitingOfPaused } from "../../../operator/act/paused-text.ts";
import { pausedSentence, pauseJson } from "../../../operator/act/pausing.ts";
import type { Looking } from "../../../operator/act/remaining.ts";
import { remainingText, stillText, sumOf } from "../../../operator/act/wait.ts";
import { assertTopics } from "../../../operator/connect/assert-topics.ts";
import {
  type ClusterOptions,
  clusterCommand,
  withKafka,
} from "../../../operator/connect/cluster.ts";
import { commandProducer } from "../../../operator/connect/command-producer.ts";
import { configured } from "../../../operator/connect/configuration.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import { durationWithin } from "../../../operator/connect/option-values.ts";
import { onTerminal } from "../../../operator/connect/progress.ts";
import { type Exit, type ExitStatus, type Shell, tell } from "../../../operator/connect/shell.ts";
import type { Operating } from "../../../router/control/write-operator-action.ts";

/** Recorded as the author of the operator action. */
const BY = "command";

const EXIT_HELP =
  "\nExit status: 0 on success; 1 on failure; 2 if the usage or configuration is invalid.\n\n";

function controlCommand(name: string): Command {
  return clusterCommand(name)
    .argument("<destination>", "the destination's ID")
    .option("--json", "print the outcome as one JSON object");
}

/** Connects to Kafka, and runs `act` for a configured webhook destination. */
async function withDestination(
  id: string,
  options: ClusterOptions,
  shell: Shell,
  act: (looking: Looking) => Promise<void>,
): Promise<void> {
  const { config } = await configured(options, shell, "kafka");
  const destination = attemptedOf(id, config).id;
  await withKafka(config, shell, options, async (kafka, signal) => {
    await assertTopics(kafka.admin, [configuredTopics(config).operatorActions]);
    await act({ kafka, config, destination, signal });
  });
}

function operatingBy(looking: Omit<Looking, "destination">, shell: Shell): Promise<Operating> {
  return operatingOn(looking, commandProducer(looking.kafka, shell, looking.signal));
}

interface PauseOptions extends ClusterOptions {
  /** Milliseconds. */
  readonly for?: number;
  readonly untilResumed?: boolean;
}

const YEAR_MS = 365 * 86_400_000;

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
      durationWithin(1, YEAR_MS),
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
        const operating = await operatingBy(looking, shell);
        const paused = await pauseNow({ looking, by: BY }, operating, asked);
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
        "within two seconds. Endpoints that responded 410 get requests again. Queued deliveries " +
        "are then delivered in order. Also works for a destination that was removed from the " +
        "configuration.",
    )
    .addHelpText("after", `${EXIT_HELP}Example:\n  switchyard resume crm --config switchyard.yaml`)
    .action(async (id: string, options: ClusterOptions) => {
      const { config } = await configured(options, shell, "kafka");
      if (!isDestinationId(id)) throw new WrongUsage(`"${id}" is not a valid destination ID.`);
      const resumed = await withKafka(config, shell, options, async (kafka, signal) => {
        const looking = { kafka, config, signal };
        return resumeNow(looking, await operatingBy(looking, shell), id);
      });
      const why = stillOnHold(id, config);
      const { isResumed, wereGone } = resumed;
      const outcome = { destination: id, resumed: isResumed, wereGone, stillOnHold: why };
      tell(options, shell, `${resumedSentence(id, resumed)}\n`, outcome);
      if (why !== null) shell.err(`${why}\n`);
    });
}

/** `switchyard retry`, `wait` and `cancel`, which act on the backlog of one destination. */
interface DrainOptions extends ClusterOptions {
  /** Milliseconds. */
  readonly timeout?: number;
}

interface CancelOptions extends ClusterOptions {
  /** Milliseconds. */
  readonly olderThan?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function retryCommand(shell: Shell): Command {
  return controlCommand("retry")
    .description(
      "Attempts the deliveries of one destination that await retry, as fast as its endpoints " +
        "accept deliveries, without waiting until the retries are due. `Retry-After` is still " +
        "respected.",
    )
    .addHelpText("after", `${EXIT_HELP}Example:\n  switchyard retry crm --config switchyard.yaml`)
    .action((id: string, options: ClusterOptions) =>
      withDestination(id, options, shell, async (looking) => {
        const acting = { looking, progressOutput: onTerminal(shell), by: BY };
        const waiting = await retryNow(acting, await operatingBy(looking, shell));
        const done =
          waiting === 0
            ? `No deliveries of ${id} await retry.\n`
            : `Retrying ${counted(waiting, "delivery", "deliveries")} of ${id} now. Run \`switchyard wait ${id}\` to wait until they are processed.\n`;
        tell(options, shell, done, { destination: id, returned: waiting });
      }),
    );
}

export function cancelCommand(shell: Shell): Command {
  return controlCommand("cancel")
    .description(
      "Dead-letters all deliveries of a destination that are queued or await retry, with the reason " +
        "`cancelled`. `switchyard dead-letters replay --reason cancelled` sends the deliveries again.",
    )
    .option(
      "--older-than <duration>",
      "cancel only deliveries of calls that were received longer ago than this, such as 2d",
      durationWithin(1, YEAR_MS),
    )
    .option("--dry-run", "count the deliveries without canceling them")
    .option("--yes", "cancel the deliveries (required without --dry-run)")
    .addHelpText(
      "after",
      `${EXIT_HELP}Examples:\n  switchyard cancel crm --older-than 2d --dry-run --config switchyard.yaml\n` +
        "  switchyard cancel crm --older-than 2d --yes --config switchyard.yaml",
    )
    .action((id: string, options: CancelOptions) => {
      if (options.dryRun !== true && options.yes !== true) {
        throw new WrongUsage("--yes is required. To count the deliveries first, use --dry-run.");
      }
      return withDestination(id, options, shell, async (looking) => {
        const isDryRun = options.dryRun === true;
        const acting = { looking, progressOutput: onTerminal(shell), by: BY };
        const operating = isDryRun ? null : await operatingBy(looking, shell);
        const beforeMs = systemClock.nowMs() - (options.olderThan ?? 0);
        const waiting = await cancelWaiting(acting, operating, beforeMs);
        const what = `${counted(waiting, "delivery", "deliveries")} of ${id}`;
        const done = isDryRun
          ? `${what} would be cancelled.\n`
          : waiting === 0
            ? `No deliveries of ${id} are queued or await retry: none were cancelled.\n`
            : `Cancelled: ${what}. To list the dead letters, run \`switchyard dead-letters list --reason cancelled --destination ${id}\`.\n`;
        const receivedBefore = new Date(beforeMs).toISOString();
        const outcome = { destination: id, receivedBefore, dryRun: isDryRun, count: waiting };
        tell(options, shell, done, outcome);
      });
    });
}

export function waitCommand(shell: Shell, exit: Exit): Command {
  return controlCommand("wait")
    .description(
      "Waits until the current backlog of a destination has been delivered or dead-lettered, " +
        "including deliveries that await retry. Does not wait for later calls.",
    )
    .option(
      "--timeout <duration>",
      "stop waiting after this time, such as 10m",
      durationWithin(1, YEAR_MS),
    )
    .addHelpText(
      "after",
      "\nExit status: 0 if no deliveries are left; 1 on failure, or if deliveries are left; 2 if the usage\n" +
        "or configuration is invalid.\n\n" +
        "Example:\n  switchyard wait crm --timeout 10m --config switchyard.yaml",
    )
    .action((id: string, options: DrainOptions) =>
      withDestination(id, options, shell, async (looking) => {
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
  if (why !== null) shell.err(`No delivery can be processed yet: ${visibleCell(why)}\n`);
  const remaining = await waitUntilNoneIsLeft(
    { looking, progressOutput: onTerminal(shell) },
    options.timeout ?? null,
  );
  const isProcessed = sumOf(remaining) === 0;
  const text = isProcessed ? `No deliveries are left for ${destination}.\n` : "";
  tell(options, shell, text, { destination, processed: isProcessed, remaining });
  if (isProcessed) return 0;
  shell.err(
    `${signal.aborted ? "Interrupted" : "The timeout has expired"}. ${remainingText(remaining)}.\n`,
  );
  return 1;
}
