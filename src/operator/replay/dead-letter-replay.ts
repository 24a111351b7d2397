/**
 * Opens a replay of dead letters, counts the dead letters and sends them. Both the command and the console use these
 * functions. A process that resumes a replay takes it over before it counts dead letters. With `--dry-run`, it only
 * counts them, and does not take over the replay.
 *
 *   a dead letter                                then
 *   does not pass the filter                     is skipped
 *   has a mark of another replay                 is skipped, unless the plan includes replayed dead letters
 *   has a mark of this replay                    counts as written: it was sent before a crash
 *   cannot be replayed (`replayed-record.ts`)    is refused, with the reason
 *   any other                                    is written
 *
 * The marks (`replay-marks.ts`) show later replays which dead letters were sent. A dead letter is sent once, or
 * twice if the process crashes between the acknowledgment and the mark. Two replays that run at the same time do not
 * read each other's marks, so dead letters that match both filters are sent by both.
 */

import { randomBytes } from "node:crypto";
import { systemClock } from "../../base/runtime/clock.ts";
import { counted } from "../../base/words/count.ts";
import type { Destination } from "../../domain/destination.ts";
import { hasRules } from "../../domain/rules.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { RegistryConnection } from "../../registry/port.ts";
import { assertTopics } from "../connect/assert-topics.ts";
import type { ProgressOutput } from "../connect/progress.ts";
import { passing, type ReadDeadLetterValue, readDeadLetter } from "./dead-letter-record.ts";
import { type DeadLetterSchemas, openDeadLetterSchemas } from "./dead-letter-schemas.ts";
import { readMarks } from "./read-dead-letters.ts";
import {
  countReplay,
  type Decide,
  followReplay,
  type ReplayFigures,
  type ReplayResult,
  runReplay,
} from "./replay.ts";
import { marksOf, type ReplayMarks } from "./replay-marks.ts";
import { type ChosenReplay, openReplay } from "./replay-store.ts";
import { type ReplayTargets, replayOf, Tally } from "./replayed-record.ts";
import type { DeadLetterReplayPlan, StoredReplay } from "./stored-replay.ts";

export interface DeadLetterReplayOptions extends ReplayTargets {
  readonly chosen: ChosenReplay<"dead-letters">;
  readonly dryRun: boolean;
  /** Null if no registry is configured. */
  readonly registry: RegistryConnection | null;
  readonly signal: AbortSignal;
}

export interface OpenedReplay extends AsyncDisposable {
  readonly stored: StoredReplay<"dead-letters">;
  /** The process that runs the replay. */
  readonly by: string;
  readonly schemas: DeadLetterSchemas;
  readonly marks: ReplayMarks;
}

/** Returns null if the replay does not exist. The caller disposes the result. @throws Error if a topic is missing. */
export async function openDeadLetterReplay(
  kafka: Kafka,
  { topics, dryRun, registry, signal, chosen }: DeadLetterReplayOptions,
): Promise<OpenedReplay | null> {
  const marked = dryRun ? [] : [topics.deadLetterReplays];
  await assertTopics(kafka.admin, [topics.deadLetters, ...marked]);
  const by = randomBytes(4).toString("hex");
  const stored = await openReplay(kafka, topics, "dead-letters", chosen, dryRun ? null : by);
  if (stored === null) return null;
  const marks = await readMarks({ kafka, topics, signal });
  const schemas = await openDeadLetterSchemas(registry, signal);
  const close = () => schemas[Symbol.asyncDispose]();
  return { stored, by, schemas, marks, [Symbol.asyncDispose]: close };
}

export interface DeadLetterDecisions extends ReplayTargets {
  readonly plan: DeadLetterReplayPlan;
  /** The marks that were on the topic when the replay was opened. */
  readonly marks: ReplayMarks;
  readonly read?: ReadDeadLetterValue;
  /** If set, counts the dead letters. */
  readonly tally?: Tally;
}

/** @param name the name of the replay; null if it does not have one yet. */
export function deadLetterDecisions(given: DeadLetterDecisions, name: string | null): Decide {
  const { plan, marks, read, tally, topics } = given;
  return async (record) => {
    const deadLetter = await passing(readDeadLetter(record, topics), plan.filter, read);
    if (deadLetter === null) return { kind: "skip", as: null };
    const mark = marks.of(record);
    const isOwn = mark !== null && mark.replay === name;
    if (mark !== null && (isOwn || plan.includeReplayed !== true)) {
      tally?.skip(deadLetter, isOwn);
      return { kind: "skip", as: isOwn ? "written" : null };
    }
    tally?.add(deadLetter);
    const replay = replayOf(deadLetter, given);
    if (replay.kind === "refused") return { kind: "skip", as: "refused", why: replay.why };
    return { kind: "write", outgoing: replay.outgoing };
  };
}

/** Counts the dead letters that are still to be replayed. Returns null if interrupted. */
export async function countDeadLetters(
  kafka: Kafka,
  options: DeadLetterReplayOptions,
  opened: OpenedReplay,
  progressOutput: ProgressOutput,
): Promise<Tally | null> {
  const { topics, destinations, signal, chosen } = options;
  const tally = new Tally(options);
  using shown = followReplay(() => `${tally.total.toLocaleString("en")} counted`, progressOutput);
  const { marks, schemas, stored } = opened;
  const decisions = { topics, destinations, marks, read: schemas.read, plan: stored.plan, tally };
  const decide = deadLetterDecisions(decisions, chosen.kind === "resume" ? chosen.name : null);
  const isWhole = await countReplay({ kafka, topics, signal, decide, ...shown }, stored);
  return isWhole ? tally : null;
}

/** The topics to which dead letters are written. */
export function targetsOf(tally: Tally): readonly string[] {
  return tally.rows().flatMap(({ to }) => to ?? []);
}

/** Returns a sentence if one of the destinations has rules, as these may have changed since the deliveries were written. */
export function rulesNotice(tally: Tally, destinations: readonly Destination[]): string {
  const ids = tally.rows().map(({ to, destination }) => to && destination);
  if (!destinations.some((each) => ids.includes(each.id) && hasRules(each))) return "";
  return (
    "Deliveries are sent as they were written: consent, filters and mapping that changed since then do not apply, " +
    "so calls that they would drop are sent too. `switchyard replay` applies the current rules.\n"
  );
}

/** @param hint a phrase that names the option for including the skipped dead letters. */
export function countText({ total, refused, replayed }: Tally, hint = " (--include-replayed)") {
  const of = (number: number) => number.toLocaleString("en");
  const cannot = refused === 0 ? "" : `; ${of(refused)} cannot be replayed`;
  const left =
    replayed === 0 ? "" : ` ${of(replayed)} were replayed before and will be skipped${hint}.`;
  return `${counted(total, "dead letter")} to replay${cannot}.${left}`;
}

export interface SentDeadLetters extends ReplayResult {
  /** The progress of the replay as text. */
  readonly text: string;
}

/** Replays dead letters and marks them. @param total the number of dead letters to read. */
export async function sendDeadLetters(
  kafka: Kafka,
  options: DeadLetterReplayOptions,
  { stored, by, schemas, marks }: OpenedReplay,
  total: number,
  progressOutput: ProgressOutput,
): Promise<SentDeadLetters> {
  const { topics, destinations, signal, chosen } = options;
  const deadLetters = await kafka.admin.offsets(topics.deadLetters);
  const decisions = { topics, destinations, marks, read: schemas.read, plan: stored.plan };
  const progressText = ({ own: { written = 0, refused = 0 } }: ReplayFigures) => {
    const skipped = refused === 0 ? "" : `, ${refused.toLocaleString("en")} rejected`;
    return `${written.toLocaleString("en")} of ${total.toLocaleString("en")} replayed${skipped}`;
  };
  const job = {
    kafka,
    topics,
    signal,
    chosen,
    stored,
    by,
    progressText,
    clock: systemClock,
    first: marks.tombstones(topics.deadLetterReplays, deadLetters),
    decide: (name: string) => deadLetterDecisions(decisions, name),
    marksOf: marksFor(topics, by),
  };
  const result = await runReplay(job, progressOutput);
  return { ...result, text: progressText(result) };
}

/** Returns a function that creates the marks for a batch. */
export function marksFor({ deadLetterReplays }: TopicNames, by: string, clock = systemClock) {
  return (written: Parameters<typeof marksOf>[1], replay: string) =>
    marksOf(deadLetterReplays, written, { replay, by, atMs: clock.nowMs() });
}
