/** Runs replays of calls and of dead letters for the console. */

import type { Config } from "../../../config/config.ts";
import { DEAD_LETTER_REASONS, type DeadLetterReason } from "../../../domain/dead-letter.ts";
import type { Kafka } from "../../../kafka/port.ts";
import { assertTopics } from "../../connect/assert-topics.ts";
import { configuredTopics } from "../../connect/connection.ts";
import type { ProgressOutput } from "../../connect/progress.ts";
import { outcomeRows } from "../../replay/call-outcome.ts";
import { replayCalls, routedTo } from "../../replay/call-replay.ts";
import { openDeadLetterReplay } from "../../replay/dead-letter-replay.ts";
import type { ChosenReplay } from "../../replay/replay-store.ts";
import { countText } from "../../replay/rows.ts";
import type { Action } from "../action-view.ts";
import type { WorkOutcome } from "../ports.ts";

export interface Doing {
  readonly kafka: Kafka;
  readonly config: Config;
  readonly progressOutput: ProgressOutput;
  readonly report: (sentence: string) => void;
  readonly signal: AbortSignal;
}

/** The words with which the dialog describes calls outside the time range. */
const OUTSIDE = "received before the range, or after it";
const NO_REPLAY = "There is no replay with this name: it is done, or it never started.";

export async function workOnCalls(
  { kafka, config, progressOutput, report, signal }: Doing,
  chosen: ChosenReplay<"calls">,
  dryRun: boolean,
): Promise<WorkOutcome> {
  const options = {
    chosen,
    config,
    topics: configuredTopics(config),
    destinationOf: (id: string) => routedTo(config, id),
    dryRun,
    signal,
    resumeArguments: "",
  };
  const outcome = await replayCalls(kafka, options, progressOutput);
  if (outcome === null) throw new Error(NO_REPLAY);
  const { end, error, counts, replay } = outcome;
  const rows = outcomeRows(outcome, OUTSIDE);
  if (rows.length === 0) report("This range contains no calls.");
  for (const { count, text } of rows) report(`${count.toLocaleString("en")} ${text}.`);
  if (error !== null) report(error);
  const isDone = end === "done" || end === "counted";
  return {
    isDone,
    count: end === "counted" ? (counts.written ?? 0) : null,
    unfinished: isDone || replay === null ? null : { kind: "calls", replay },
  };
}

type DeadLetters = Extract<Action, { action: "replay-dead-letters" }>;
type Resumed = Extract<ChosenReplay<"dead-letters">, { kind: "resume" }>;

export async function workOnDeadLetters(
  { kafka, config, progressOutput, report, signal }: Doing,
  asked: DeadLetters | Resumed,
): Promise<WorkOutcome> {
  const topics = configuredTopics(config);
  const { destinations, registry } = config;
  const isNew = "action" in asked;
  const dryRun = isNew && asked.dryRun;
  const chosen = isNew ? newReplay(asked) : asked;
  const hasLedger = config.audit.enabled;
  const options = { chosen, dryRun, topics, destinations, registry, hasLedger, signal };
  await using opened = await openDeadLetterReplay(kafka, options);
  if (opened === null) throw new Error(NO_REPLAY);
  const tally = await opened.count(progressOutput);
  if (tally === null) return { isDone: false, count: null, unfinished: null };
  report(countText(tally, "", opened.words));
  const targets = tally.targets();
  await assertTopics(kafka.admin, targets);
  const nothing = { isDone: true, count: tally.total - tally.refused, unfinished: null };
  if (dryRun && targets.includes(topics.calls)) {
    report(
      "Calls that never became a delivery are routed again, to every destination that should receive them.",
    );
  }
  if (dryRun || (tally.total === 0 && isNew)) return nothing;
  const sent = await opened.send(tally, progressOutput);
  report(`${sent.text}.`);
  for (const [why, count] of sent.refused) report(`${count} not replayed: ${why}`);
  if (sent.error !== null) report(sent.error);
  const isDone = sent.end === "done";
  const unfinished = isDone ? null : ({ kind: "dead-letters", replay: sent.name } as const);
  return { isDone, count: null, unfinished };
}

function newReplay({
  messageId,
  destination,
  reason,
  since,
  until,
  includeReplayed,
  perSecond,
}: DeadLetters): Extract<ChosenReplay<"dead-letters">, { kind: "new" }> {
  const filter = {
    destinations: destination === null ? [] : [destination],
    reasons: reason === null ? [] : [reasonOf(reason)],
    messageIds: messageId === null ? [] : [messageId],
    sinceMs: Date.parse(since),
    untilMs: Date.parse(until),
  };
  return { kind: "new", plan: { filter, limit: null, perSecond, includeReplayed } };
}

function reasonOf(text: string): DeadLetterReason {
  const known = Object.keys(DEAD_LETTER_REASONS) as DeadLetterReason[];
  const found = known.find((name) => name === text);
  if (found === undefined) throw new Error(`No dead letter has this reason: ${text}`);
  return found;
}
