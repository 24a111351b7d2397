/**
 * The work of a replay of dead letters: open, count, send. The command and the page both do it by
 * these, and each says it in its own way. A process that resumes a replay takes it over before it
 * counts, unless it only counts. `src/operate/replay/replay.ts` says what a crash at each line does.
 */

import { randomBytes } from "node:crypto";
import type { Destination } from "../../domain/destination.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { RegistryConnection } from "../../registry/port.ts";
import { asError } from "../../runtime/as-error.ts";
import { systemClock } from "../../runtime/clock.ts";
import { assertTopics } from "../connect/assert-topics.ts";
import { commandProducer } from "../connect/command-producer.ts";
import type { ProgressOutput } from "../connect/progress.ts";
import { type DeadLetterSchemas, openDeadLetterSchemas } from "./dead-letter-schemas.ts";
import { readMarks } from "./read-dead-letters.ts";
import { deadLettersOfReplay, planReplay, replay } from "./replay.ts";
import type { ReplayEnd } from "./replay-loop.ts";
import type { ReplayMarks } from "./replay-marks.ts";
import { newReplayName } from "./replay-name.ts";
import { deadLetterReplay } from "./replay-store.ts";
import { type ReplayPlan, replayTotals, type StoredReplay } from "./stored-replay.ts";
import { Tally } from "./tally.ts";

export interface DeadLetterReplayOptions {
  /** Begin a replay, or go on with one. */
  readonly chosen:
    | { readonly kind: "new"; readonly plan: ReplayPlan }
    | { readonly kind: "resume"; readonly name: string; readonly perSecond: number | null };
  readonly dryRun: boolean;
  readonly topics: TopicNames;
  readonly destinations: readonly Destination[];
  /** Null: none is configured. */
  readonly registry: RegistryConnection | null;
  readonly signal: AbortSignal;
}

export interface OpenedReplay extends AsyncDisposable {
  readonly stored: StoredReplay;
  /** The process that works on it. */
  readonly by: string;
  readonly schemas: DeadLetterSchemas;
  readonly marks: ReplayMarks;
}

/** The caller disposes it. Null: there is no replay of that name. @throws Error when a topic is missing. */
export async function openDeadLetterReplay(
  kafka: Kafka,
  options: DeadLetterReplayOptions,
): Promise<OpenedReplay | null> {
  const { topics, dryRun, registry, signal } = options;
  const marked = dryRun ? [] : [topics.deadLetterReplays];
  await assertTopics(kafka.admin, [topics.deadLetters, ...marked]);
  const by = randomBytes(4).toString("hex");
  const stored = await storedOf(kafka, options, by);
  if (stored === null) return null;
  const marks = await readMarks({ kafka, topics, signal });
  const schemas = await openDeadLetterSchemas(registry, signal);
  const close = () => schemas[Symbol.asyncDispose]();
  return { stored, by, schemas, marks, [Symbol.asyncDispose]: close };
}

async function storedOf(
  kafka: Kafka,
  { chosen, dryRun, topics }: DeadLetterReplayOptions,
  by: string,
): Promise<StoredReplay | null> {
  if (chosen.kind === "new") return planReplay(kafka, topics, chosen.plan);
  const store = deadLetterReplay(kafka.admin, topics, chosen.name);
  const stored = dryRun ? await store.read() : await store.takeOver(by);
  if (stored === null) return null;
  const perSecond = chosen.perSecond ?? stored.plan.perSecond;
  return { ...stored, plan: { ...stored.plan, perSecond } };
}

/** Counts what it has yet to send. Null: interrupted. */
export async function countDeadLetters(
  kafka: Kafka,
  options: DeadLetterReplayOptions,
  { stored, schemas, marks }: OpenedReplay,
  progressOutput: ProgressOutput,
): Promise<Tally | null> {
  const { topics, signal } = options;
  const tally = new Tally(options);
  using _progress = progressOutput.follow(() => `${tally.total.toLocaleString("en")} counted`);
  const name = options.chosen.kind === "resume" ? options.chosen.name : null;
  const onMarked = (isOwn: boolean) => {
    if (isOwn) tally.own += 1;
    else tally.replayed += 1;
  };
  const source = { kafka, topics, signal, read: schemas.read };
  for await (const deadLetter of deadLettersOfReplay(source, stored, marks, name, onMarked)) {
    tally.add(deadLetter);
  }
  return signal.aborted ? null : tally;
}

/** The topics that letters go to. */
export function targetsOf(tally: Tally): readonly string[] {
  return tally.rows().flatMap(({ to }) => to ?? []);
}

/** @param hint the way to send also those that are left out */
export function countText(
  { total, refused, replayed }: Tally,
  hint = " (--include-replayed)",
): string {
  const of = (number: number) => number.toLocaleString("en");
  const cannot = refused === 0 ? "" : `; ${of(refused)} cannot be replayed`;
  const left =
    replayed === 0 ? "" : ` ${of(replayed)} were replayed before, and are left out${hint}.`;
  return `${of(total)} dead letter${total === 1 ? "" : "s"} to replay${cannot}.${left}`;
}

export interface SentDeadLetters {
  readonly name: string;
  readonly end: ReplayEnd | "failed";
  /** Why it failed. */
  readonly error: string | null;
  /** How far it came. */
  readonly text: string;
  /** By this process. */
  readonly replayed: number;
  /** By sentence: letters that were not replayed. */
  readonly refused: ReadonlyMap<string, number>;
}

/** Sends them, and marks them. @param total letters to look at */
export async function sendDeadLetters(
  kafka: Kafka,
  options: DeadLetterReplayOptions,
  { stored, by, schemas, marks }: OpenedReplay,
  total: number,
  progressOutput: ProgressOutput,
): Promise<SentDeadLetters> {
  const { topics, signal } = options;
  const isNew = options.chosen.kind === "new";
  const name = options.chosen.kind === "resume" ? options.chosen.name : newReplayName();
  const producer = commandProducer(kafka, progressOutput, signal);
  await using _ended = { [Symbol.asyncDispose]: () => producer.close(0) };
  const deadLetters = await kafka.admin.offsets(topics.deadLetters);
  const gone = marks.tombstones(topics.deadLetterReplays, deadLetters);
  if (gone.length > 0) await producer.send(gone);
  const before = replayTotals(stored.partitions);
  let now = before;
  const replayedNow = () => now.replayed - before.replayed;
  const text = () => {
    const replayed = replayedNow().toLocaleString("en");
    const count = now.refused - before.refused;
    const skipped = count === 0 ? "" : `, ${count.toLocaleString("en")} refused`;
    return `${replayed} of ${total.toLocaleString("en")} replayed${skipped}`;
  };
  using progress = progressOutput.follow(text);
  const verb = isNew ? "begins" : "goes on";
  progress.say(`Replay ${name} ${verb}. Should it be cut short, it can be resumed by this name.`);
  const refused = new Map<string, number>();
  const deps = {
    kafka,
    topics,
    signal,
    read: schemas.read,
    marks,
    producer,
    by,
    clock: systemClock,
    targets: options,
    onProgress: (totals: typeof now) => {
      now = totals;
    },
    onRefused: (_deadLetter: unknown, reason: string) => {
      refused.set(reason, (refused.get(reason) ?? 0) + 1);
    },
  };
  const work = async () => {
    if (isNew) await deadLetterReplay(kafka.admin, topics, name).begin(stored, by);
    return { end: await replay(deps, name, stored), error: null };
  };
  const { end, error } = await work().catch((thrown: unknown) => {
    return { end: "failed" as const, error: asError(thrown).message };
  });
  return { name, end, error, text: text(), replayed: replayedNow(), refused };
}
