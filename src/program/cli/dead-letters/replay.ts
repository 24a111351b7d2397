/**
 * `switchyard dead-letters replay` and `cancel`, which differ only in what is written: counts the matching dead letters, then replays them. A process that resumes a
 * replay takes the replay over before it counts, unless it only counts (`--dry-run`).
 *
 *   outcome                                                    exit
 *   counted (--dry-run), or all were replayed                  0
 *   nothing matches, or only calls of suppressed users, which  0
 *   are skipped
 *   some cannot be replayed                                    1
 *   interrupted, or Kafka failed; prints how to resume         1
 *   the replay does not exist, or has too many filters         2
 *   a destination is unknown, and nothing matches it           2
 */

import { counted } from "../../../base/words/count.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { assertTopics } from "../../../operator/connect/assert-topics.ts";
import { onTerminal } from "../../../operator/connect/progress.ts";
import { type ExitStatus, type Shell, tell } from "../../../operator/connect/shell.ts";
import {
  type DeadLetterReplay,
  type DeadLetterReplayOptions,
  openDeadLetterReplay,
  type SentDeadLetters,
} from "../../../operator/replay/dead-letter-replay.ts";
import { fits } from "../../../operator/replay/replay-store.ts";
import type { Tally } from "../../../operator/replay/replayed-record.ts";
import { countText, rulesNotice, tallyTable } from "../../../operator/replay/rows.ts";
import { confirmed } from "../confirm.ts";

const HINT = " (--include-replayed)";

export interface ReplayOptions extends DeadLetterReplayOptions {
  /** If true, the command asks for confirmation on the terminal. */
  readonly asks?: boolean;
  /** If true, the command prints one JSON object instead of sentences. */
  readonly json?: boolean;
  /** The rest of the command line that a resumed replay needs, such as ` --config switchyard.yaml`. */
  readonly resumeArguments: string;
}

export async function replayDeadLetters(
  kafka: Kafka,
  options: ReplayOptions,
  shell: Shell,
): Promise<ExitStatus> {
  const { chosen, topics, signal } = options;
  const { red } = shell.errColors;
  if (chosen.kind === "new" && !fits("dead-letters", chosen.plan)) {
    shell.err(
      `${red("error:")} These filters are too large to store with the replay. Use fewer ` +
        `--message-id options, or several replays.\n`,
    );
    return 2;
  }
  await using opened = await openDeadLetterReplay(kafka, options);
  if (opened === null) {
    shell.err(
      `${red("error:")} Replay ${chosen.kind === "resume" ? chosen.name : ""} cannot be resumed: it is done, was never started, or belongs to a topic prefix other than ${topics.prefix}\n`,
    );
    return 2;
  }
  const { words } = opened;
  const tally = await opened.count(onTerminal(shell));
  if (tally === null) {
    shell.err(`Interrupted while counting: nothing was ${opened.words.past}.\n`);
    tell(options, shell, "", outcomeJson(null, "interrupted"));
    return 1;
  }
  if (chosen.kind === "new") {
    const { filter, limit } = chosen.plan;
    // Once the limit is reached, dead letters of other destinations may not have been read.
    if (tally.total < (limit ?? Number.POSITIVE_INFINITY)) tally.assertKnown(filter.destinations);
  }
  opened.schemas.tell(shell, opened.filter);
  const say = (text: string) => {
    if (options.json !== true) shell.out(text);
  };
  if (tally.total === 0 && chosen.kind === "new") {
    const isNone = tally.replayed === 0 && tally.suppressed === 0;
    const text = isNone ? "No dead letters match.\n" : `${countText(tally, HINT, words)}\n`;
    tell(options, shell, text, outcomeJson(tally, options.dryRun ? "counted" : "done"));
    return 0;
  }
  if (tally.total > 0) say(`${tallyTable(tally, shell.colors, words)}\n`);
  say(`${countText(tally, HINT, words)}\n`);
  const targets = tally.targets();
  if (targets.includes(topics.calls)) {
    say(
      "Calls that go back to the calls topic are routed again, to every destination that should receive them.\n",
    );
  }
  if (words.verb === "replay") say(rulesNotice(tally, options.destinations));
  await assertTopics(kafka.admin, targets);
  if (options.dryRun) {
    tell(options, shell, `Nothing was ${words.past} (--dry-run).\n`, outcomeJson(tally, "counted"));
    return 0;
  }
  const question = `${words.verb === "replay" ? "Replay" : "Cancel"} ${counted(tally.total, "dead letter")}?`;
  if (options.asks && !(await confirmed(question, shell, signal))) {
    shell.err(`Nothing was ${words.past}.\n`);
    tell(options, shell, "", outcomeJson(tally, "declined"));
    return 1;
  }
  return await send(options, opened, tally, shell);
}

/** Returns one line of JSON, in which every key is always present. */
function outcomeJson(
  tally: Tally | null,
  end: SentDeadLetters["end"] | "counted" | "declined",
  sent: SentDeadLetters | null = null,
  resume: string | null = null,
) {
  return {
    end,
    error: sent?.error ?? null,
    replay: sent?.name ?? null,
    resume,
    toReplay: tally?.total ?? null,
    replayedBefore: tally?.replayed ?? null,
    suppressed: tally?.suppressed ?? null,
    counts: tally?.rows() ?? [],
    replayed: sent?.own.written ?? 0,
    rejected: Object.fromEntries(sent?.refused ?? []),
  };
}

async function send(
  options: ReplayOptions,
  opened: DeadLetterReplay,
  tally: Tally,
  shell: Shell,
): Promise<ExitStatus> {
  const sent = await opened.send(tally, onTerminal(shell));
  const { name, end, error, text, refused } = sent;
  const { past, verb } = opened.words;
  if (error !== null) shell.err(`${shell.errColors.red("failed:")} ${error}\n`);
  for (const [reason, count] of refused) {
    shell.err(`${count.toLocaleString("en")} not ${past}: ${reason}\n`);
  }
  const rest = `switchyard dead-letters ${verb} --resume ${name}${options.resumeArguments}`;
  const resume = end === "done" ? null : rest;
  tell(options, shell, `${text}.\n`, outcomeJson(tally, end, sent, resume));
  if (resume === null) return refused.size === 0 ? 0 : 1;
  if (end === "interrupted") shell.err("Interrupted. ");
  shell.err(`Resume with: ${resume}\n`);
  return 1;
}
