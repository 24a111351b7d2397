/** `switchyard dead-letters`: lists, replays and cancels dead letters. */

import { Command } from "commander";
import { WrongUsage } from "../../../base/words/wrong-usage.ts";
import type { Config } from "../../../config/config.ts";
import { DEAD_LETTER_REASONS, type DeadLetterReason } from "../../../domain/dead-letter.ts";
import { shellWord } from "../../../domain/shell-word.ts";
import {
  type ClusterOptions,
  clusterCommand,
  skippingCorrupt,
  withCluster,
} from "../../../operator/connect/cluster.ts";
import { configuredTopics } from "../../../operator/connect/connection.ts";
import {
  instant,
  perSecond,
  repeated,
  repeatedOf,
  replayName,
  wholeNumber,
} from "../../../operator/connect/option-values.ts";
import type { Exit, Shell } from "../../../operator/connect/shell.ts";
import type { DeadLetterFilter } from "../../../operator/replay/dead-letter-record.ts";
import type { ReplayWords } from "../../../operator/replay/rows.ts";
import { canAsk } from "../confirm.ts";
import { listDeadLetters } from "./list.ts";
import { type ReplayOptions, replayDeadLetters } from "./replay.ts";

interface ReplayFlags extends DeadLetterOptions {
  readonly dryRun?: boolean;
  readonly perSecond?: number;
  readonly resume?: string;
  readonly includeReplayed?: boolean;
  readonly yes?: boolean;
}

export function deadLettersCommand(shell: Shell, exit: Exit): Command {
  return new Command("dead-letters")
    .description("Lists, replays and cancels dead letters.")
    .addCommand(listCommand(shell, exit))
    .addCommand(replayCommand(shell, exit))
    .addCommand(cancelCommand(shell, exit))
    .addHelpText(
      "after",
      "\nExamples:\n  switchyard dead-letters list --since 2h --destination crm-hook\n" +
        "  switchyard dead-letters replay --since 2h --destination crm-hook --dry-run",
    );
}

function listCommand(shell: Shell, exit: Exit): Command {
  const limit = "show only the newest n dead letters (default: 50; with --json, all)";
  return deadLetterCommand("list", limit)
    .summary("list and count dead letters")
    .description("Lists dead letters, the newest last, and counts them by destination and reason.")
    .option("--json", "print one JSON object per line, oldest first")
    .addHelpText(
      "after",
      "\nFilters of the same kind are combined with OR, filters of different kinds with AND.\n\nExamples:\n" +
        "  switchyard dead-letters list --since 2026-03-01T09:30Z --until 2026-03-01T11:00Z\n" +
        "  switchyard dead-letters list --reason rejected --limit 10\n" +
        "  switchyard dead-letters list --message-id m-123 --json",
    )
    .action(async (flags: DeadLetterOptions) => {
      shell.onlyPrints();
      const filter = filterOf(flags);
      const options = { filter, limit: flags.limit ?? null, json: flags.json === true };
      await withCluster(flags, shell, exit, (kafka, config, signal) =>
        skippingCorrupt(kafka, shell, 1, (reading) =>
          listDeadLetters(reading, { ...options, ...sourceOf(config), signal }, shell),
        ),
      );
    });
}

function replayCommand(shell: Shell, exit: Exit): Command {
  return writingCommand("replay", "replayed", shell, exit)
    .summary("replay dead letters")
    .description(
      "Replays dead letters. Deliveries go back to their destination's queue and get a new retry window; " +
        "other records go back to the topic they came from. Prints what will be replayed before it starts.",
    )
    .addHelpText(
      "after",
      "\nFilters of the same kind are combined with OR, filters of different kinds with AND. Replayed dead\n" +
        "letters stay in their topic until its retention ends. Calls of suppressed users are skipped and\n" +
        "counted. Press Ctrl-C to stop after the current batch; the command prints how to resume.\n\n" +
        "Exit status: 0 if all matching dead letters were replayed or counted; 1 on failure, after an\n" +
        "interruption, or if some could not be replayed; 2 if the usage or configuration is invalid.\n\nExamples:\n" +
        "  switchyard dead-letters replay --destination crm-hook --since 2h --dry-run\n" +
        "  switchyard dead-letters replay --destination crm-hook --since 2h --per-second 100\n" +
        "  switchyard dead-letters replay --resume 20260301-093015-3f9c82d1",
    );
}

function cancelCommand(shell: Shell, exit: Exit): Command {
  return writingCommand("cancel", "canceled", shell, exit)
    .summary("let users who wait for dead letters wait no longer")
    .description(
      "Cancels dead letters that block their users (`onDeadLetter: hold`): the next deliveries of these users " +
        "follow, and the dead letters are not sent. Other dead letters are skipped.",
    )
    .addHelpText(
      "after",
      "\nFilters of the same kind are combined with OR, filters of different kinds with AND. Canceled dead letters\n" +
        "stay in their topic, and count as replayed.\n\n" +
        "Exit status: 0 if all matching dead letters were canceled or counted; 1 on failure or after an\n" +
        "interruption; 2 if the usage or configuration is invalid.\n\nExamples:\n" +
        "  switchyard dead-letters cancel --destination crm-hook --dry-run\n" +
        "  switchyard dead-letters cancel --destination crm-hook --message-id m-123",
    );
}

/** A command that writes a record for each dead letter. */
function writingCommand(
  verb: ReplayWords["verb"],
  past: ReplayWords["past"],
  shell: Shell,
  exit: Exit,
): Command {
  const name = verb === "cancel" ? "cancellation" : verb;
  return deadLetterCommand(verb, `${verb} only the oldest n dead letters`)
    .option("--dry-run", `count the matching dead letters without ${verb}ing them`)
    .option("--include-replayed", "include dead letters that have already been replayed")
    .option(
      "--yes",
      "do not ask for confirmation; required if there are no filters and no terminal",
    )
    .option("--json", "print the outcome as one JSON object")
    .option("--per-second <n>", `${verb} at most n dead letters per second`, perSecond)
    .option(
      "--resume <replay>",
      `continue an interrupted ${name}, with its original filters`,
      replayName,
    )
    .action(async (flags: ReplayFlags, command: Command) => {
      const options = {
        chosen: chosenReplay(flags, command, verb === "cancel"),
        asks: asksFirst(flags, command, shell, past),
        dryRun: flags.dryRun === true,
        json: flags.json === true,
        resumeArguments: flags.config === undefined ? "" : ` --config ${shellWord(flags.config)}`,
      };
      await withCluster(flags, shell, exit, (kafka, config, signal) =>
        skippingCorrupt(kafka, shell, 1, (reading) =>
          replayDeadLetters(reading, { ...options, ...sourceOf(config), signal }, shell),
        ),
      );
    });
}

function sourceOf(config: Config) {
  const { destinations, registry, audit } = config;
  const hasLedger = audit.enabled;
  return { topics: configuredTopics(config), destinations, registry, hasLedger };
}

/** @throws WrongUsage if confirmation is required but there is no terminal. */
function asksFirst(
  flags: ReplayFlags,
  command: Command,
  shell: Shell,
  past: ReplayWords["past"],
): boolean {
  const isNarrow = FILTER_OPTIONS.some((name) => command.getOptionValue(name) !== undefined);
  const goesOn = flags.resume !== undefined;
  if (isNarrow || goesOn || flags.dryRun === true || flags.yes === true) return false;
  if (canAsk(shell)) return true;
  throw new WrongUsage(
    `without a filter, all dead letters would be ${past}. Use a filter such as --destination, or confirm with --yes.`,
  );
}

function chosenReplay(
  flags: ReplayFlags,
  command: Command,
  cancels: boolean,
): ReplayOptions["chosen"] {
  const perSecond = flags.perSecond ?? null;
  if (flags.resume === undefined) {
    const includeReplayed = flags.includeReplayed === true;
    const plan = {
      filter: filterOf(flags),
      limit: flags.limit ?? null,
      perSecond,
      includeReplayed,
      ...(cancels ? { cancels } : {}),
    };
    return { kind: "new", plan };
  }
  if (flags.includeReplayed === true) {
    throw new WrongUsage(
      "--include-replayed cannot be changed with --resume, which uses the original value. Omit " +
        "--include-replayed.",
    );
  }
  const given = FILTER_OPTIONS.find((name) => command.getOptionValue(name) !== undefined);
  if (given !== undefined) {
    throw new WrongUsage(
      "--resume uses the original filters of the replay. Omit --destination, --reason, --message-id, " +
        "--since, --until and --limit.",
    );
  }
  return { kind: "resume", name: flags.resume, perSecond };
}

/** The filters that `dead-letters list` and `dead-letters replay` have in common. */
interface DeadLetterOptions extends ClusterOptions {
  readonly destination?: readonly string[];
  readonly reason?: readonly DeadLetterReason[];
  readonly messageId?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly until?: number;
  readonly limit?: number;
}

/** Names of the options that choose dead letters. */
const FILTER_OPTIONS = ["destination", "reason", "messageId", "since", "until", "limit"];

/** @param limit the description of `--limit` for the command. */
function deadLetterCommand(name: string, limit: string): Command {
  return clusterCommand(name)
    .option("--destination <id>", "only dead letters for this destination (repeatable)", repeated)
    .option(
      "--reason <reason>",
      "only dead letters with this reason, such as expired (repeatable)",
      repeatedOf(Object.keys(DEAD_LETTER_REASONS) as DeadLetterReason[], "a reason"),
    )
    .option("--message-id <id>", "only the call with this message ID (repeatable)", repeated)
    .option(
      "--since <when>",
      "dead-lettered at or after this time: ISO 8601, or an age such as 2h",
      instant,
    )
    .option("--until <when>", "dead-lettered before this time", instant)
    .option("--limit <n>", limit, (text) => wholeNumber(text, 1));
}

/** @throws WrongUsage */
function filterOf(options: DeadLetterOptions): DeadLetterFilter {
  const { since, until } = options;
  if (since !== undefined && until !== undefined && until <= since) {
    throw new WrongUsage("--until must be later than --since");
  }
  return {
    destinations: options.destination ?? [],
    reasons: options.reason ?? [],
    messageIds: options.messageId ?? [],
    sinceMs: options.since ?? null,
    untilMs: options.until ?? null,
  };
}
