/** `switchyard dead-letters`: lists what was given up, and sends it again. */

import { Command } from "commander";
import { shellWord } from "../../domain/shell-word.ts";
import { withKafka } from "../../operate/connect/cluster.ts";
import { loadOrExplain } from "../../operate/connect/configuration.ts";
import { configuredTopics } from "../../operate/connect/connection.ts";
import { perSecond, replayName } from "../../operate/connect/option-values.ts";
import type { ExitStatus, Shell } from "../../operate/connect/shell.ts";
import { WrongUsage } from "../../words/wrong-usage.ts";
import { canAsk } from "../confirm.ts";
import { listDeadLetters } from "./list.ts";
import {
  addDeadLetterOptions,
  type DeadLetterOptions,
  FILTER_OPTIONS,
  filterOf,
} from "./options.ts";
import { type ReplayOptions, replayDeadLetters } from "./replay.ts";

interface ListFlags extends DeadLetterOptions {
  readonly json?: boolean;
}

interface ReplayFlags extends DeadLetterOptions {
  readonly dryRun?: boolean;
  readonly perSecond?: number;
  readonly resume?: string;
  readonly includeReplayed?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function deadLettersCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  return new Command("dead-letters")
    .summary("list what was given up, and replay it")
    .description("Lists deliveries and records that were given up, and sends them again.")
    .addCommand(listCommand(shell, exit))
    .addCommand(replayCommand(shell, exit))
    .addHelpText(
      "after",
      "\nExamples:\n  switchyard dead-letters list --since 2h --destination crm-hook\n" +
        "  switchyard dead-letters replay --since 2h --destination crm-hook --dry-run",
    );
}

function listCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  const list = new Command("list")
    .summary("show dead letters and count them")
    .description("Shows dead letters, the newest last, and counts them by destination and reason.");
  return addDeadLetterOptions(
    list,
    "show at most so many, the newest (default: 50, with --json all)",
  )
    .option("--json", "one JSON object a line, the oldest first")
    .addHelpText(
      "after",
      "\nFilters of different kinds must all hold; of one kind, any.\n\nExamples:\n" +
        "  switchyard dead-letters list --since 2026-03-01T09:30Z --until 2026-03-01T11:00Z\n" +
        "  switchyard dead-letters list --reason rejected --limit 10\n" +
        "  switchyard dead-letters list --message-id m-123 --json",
    )
    .action(async (flags: ListFlags) => {
      const loaded = await loadOrExplain(flags, shell);
      if (loaded === null) return exit(2);
      shell.onlyPrints();
      const { config } = loaded;
      const options = {
        filter: filterOf(flags),
        limit: flags.limit ?? null,
        json: flags.json === true,
        topics: configuredTopics(config),
        destinations: config.destinations,
        registry: config.registry,
      };
      exit(
        await withKafka(config, shell, flags, (kafka, signal) =>
          listDeadLetters(kafka, { ...options, signal }, shell),
        ),
      );
    });
}

function replayCommand(shell: Shell, exit: (status: ExitStatus) => void): Command {
  const replay = new Command("replay")
    .summary("send dead letters again")
    .description(
      "Sends dead letters again: deliveries to their destination's topic, where a new window " +
        "begins; what never became a delivery to the topic it came from. Counts first.",
    );
  return addDeadLetterOptions(replay, "replay at most so many, the oldest first")
    .option("--dry-run", "count, and send nothing")
    .option("--include-replayed", "send also what was replayed before")
    .option("--yes", "without any filter: do not ask")
    .option("--json", "print the outcome as one JSON object")
    .option("--per-second <count>", "at most so many a second", perSecond)
    .option("--resume <replay>", "go on with an interrupted replay, with its filters", replayName)
    .addHelpText(
      "after",
      "\nDead letters stay in their topic until its retention ends. A replayed one is marked, and is not\n" +
        "sent again without --include-replayed. Without any filter the command asks first, on a terminal;\n" +
        "elsewhere it wants --yes. Ctrl-C ends a replay after what is in hand and prints how to go on.\n\n" +
        "Exit status: 0 all replayed or counted, 1 interrupted, failed or some refused, 2 wrong usage\n" +
        "or configuration.\n\nExamples:\n" +
        "  switchyard dead-letters replay --destination crm-hook --since 2h --dry-run\n" +
        "  switchyard dead-letters replay --destination crm-hook --since 2h --per-second 100\n" +
        "  switchyard dead-letters replay --resume 20260301-093015-3f9c",
    )
    .action(async (flags: ReplayFlags, command: Command) => {
      const chosen = chosenReplay(flags, command);
      const asks = asksFirst(flags, command, shell);
      const loaded = await loadOrExplain(flags, shell);
      if (loaded === null) return exit(2);
      const { config } = loaded;
      const options = {
        chosen,
        asks,
        dryRun: flags.dryRun === true,
        json: flags.json === true,
        topics: configuredTopics(config),
        destinations: config.destinations,
        registry: config.registry,
        resumeArguments: flags.config === undefined ? "" : ` --config ${shellWord(flags.config)}`,
      };
      exit(
        await withKafka(config, shell, flags, (kafka, signal) =>
          replayDeadLetters(kafka, { ...options, signal }, shell),
        ),
      );
    });
}

/** @throws WrongUsage where nobody can be asked. */
function asksFirst(flags: ReplayFlags, command: Command, shell: Shell): boolean {
  const isNarrow = FILTER_OPTIONS.some((name) => command.getOptionValue(name) !== undefined);
  const goesOn = flags.resume !== undefined;
  if (isNarrow || goesOn || flags.dryRun === true || flags.yes === true) return false;
  if (canAsk(shell)) return true;
  throw new WrongUsage(
    "without any filter all dead letters are sent again; give a filter such as --destination, or --yes",
  );
}

function chosenReplay(flags: ReplayFlags, command: Command): ReplayOptions["chosen"] {
  const perSecond = flags.perSecond ?? null;
  if (flags.resume === undefined) {
    const includeReplayed = flags.includeReplayed === true;
    const plan = {
      filter: filterOf(flags),
      limit: flags.limit ?? null,
      perSecond,
      includeReplayed,
    };
    return { kind: "new", plan };
  }
  if (flags.includeReplayed === true) {
    throw new WrongUsage("--resume goes on as the replay began; give no --include-replayed");
  }
  const given = FILTER_OPTIONS.find((name) => command.getOptionValue(name) !== undefined);
  if (given !== undefined) {
    throw new WrongUsage(
      "--resume goes on with the filters that the replay began with; give none of " +
        "--destination, --reason, --message-id, --since, --until and --limit",
    );
  }
  return { kind: "resume", name: flags.resume, perSecond };
}
