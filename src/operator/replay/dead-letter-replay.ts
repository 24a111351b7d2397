/**
 * Opens a replay of dead letters, counts the dead letters and sends them. Both the command and the console use these
 * functions. A process that resumes a replay takes it over before it counts dead letters. With `--dry-run`, it only
 * counts them, and does not take over the replay.
 *
 *   a dead letter                                then
 *   does not pass the filter                     is skipped
 *   blocks no user, but is to be canceled        is skipped
 *   has a mark of another replay                 is skipped, unless the plan includes replayed dead letters
 *   has a mark of this replay                    counts as written: it was sent before a crash
 *   is the call of a suppressed user             is skipped, and counted
 *   cannot be replayed (`replayed-record.ts`)    is refused, with the reason
 *   any other                                    is written
 *
 * The marks (`replay-marks.ts`) show later replays which dead letters were sent. A dead letter is sent once, or
 * twice if the process crashes between the acknowledgment and the mark. Two replays that run at the same time do not
 * read each other's marks, so dead letters that match both filters are sent by both.
 */

import { systemClock } from "../../base/runtime/clock.ts";
import type { Kafka } from "../../kafka/port.ts";
import type { RegistryConnection } from "../../registry/port.ts";
import { assertTopics } from "../connect/assert-topics.ts";
import { ReadSuppressions } from "../connect/known-operations.ts";
import type { ProgressOutput } from "../connect/progress.ts";
import { passing, type ReadDeadLetterValue, readDeadLetter } from "./dead-letter-record.ts";
import { type DeadLetterSchemas, openDeadLetterSchemas } from "./dead-letter-schemas.ts";
import { readMarks } from "./read-dead-letters.ts";
import { countReplay, type Replay, type ReplayFigures, type ReplayRules } from "./replay.ts";
import { marksOf, type ReplayMarks } from "./replay-marks.ts";
import { type ChosenReplay, rangesOf } from "./replay-store.ts";
import {
  cancellationOf,
  type ReplayTargets,
  replayOf,
  showsUser,
  Tally,
} from "./replayed-record.ts";
import { replayProgressText, wordsFor } from "./rows.ts";
import { followReplay, openReplay, type ReplayResult, runReplay } from "./run-replay.ts";

export interface DeadLetterReplayOptions extends ReplayTargets {
  readonly chosen: ChosenReplay<"dead-letters">;
  readonly dryRun: boolean;
  /** Null if no registry is configured. */
  readonly registry: RegistryConnection | null;
  /** True if a ledger is written (`audit.enabled`). */
  readonly hasLedger: boolean;
  readonly signal: AbortSignal;
}

/** Returns null if the replay does not exist. The caller disposes the result. @throws Error if a topic is missing. */
export async function openDeadLetterReplay(
  kafka: Kafka,
  options: DeadLetterReplayOptions,
): Promise<DeadLetterReplay | null> {
  const { topics, dryRun, registry, hasLedger, signal, chosen } = options;
  const marked = dryRun ? [] : [topics.deadLetterReplays];
  await assertTopics(kafka.admin, [topics.deadLetters, ...marked]);
  const cluster = { kafka, topics, hasLedger, signal, clock: systemClock };
  const replay = await openReplay(cluster, "dead-letters", chosen, { dryRun });
  if (replay === null) return null;
  const marks = await readMarks({ kafka, topics, signal }, rangesOf(replay.stored));
  const schemas = await openDeadLetterSchemas(registry, signal);
  const reading = new ReadSuppressions(kafka, topics.suppressions, signal);
  const targets = { ...options, reading, suppressions: await reading.read() };
  return new DeadLetterReplay(kafka, targets, replay, marks, schemas);
}

interface CheckedTargets extends ReplayTargets {
  readonly reading: ReadSuppressions;
}

export class DeadLetterReplay implements AsyncDisposable {
  readonly schemas: DeadLetterSchemas;
  readonly #kafka: Kafka;
  readonly #targets: CheckedTargets;
  readonly #replay: Replay<"dead-letters">;
  readonly #marks: ReplayMarks;

  constructor(
    kafka: Kafka,
    targets: CheckedTargets,
    replay: Replay<"dead-letters">,
    marks: ReplayMarks,
    schemas: DeadLetterSchemas,
  ) {
    this.schemas = schemas;
    this.#kafka = kafka;
    this.#targets = targets;
    this.#replay = replay;
    this.#marks = marks;
  }

  get filter() {
    return this.#replay.stored.plan.filter;
  }

  get words() {
    return wordsFor(this.#replay.stored.plan);
  }

  /** Counts the dead letters that are still to be replayed. Returns null if interrupted. */
  async count(progressOutput: ProgressOutput): Promise<Tally | null> {
    const tally = new Tally(this.#targets);
    const { decide } = this.#rules(tally);
    using shown = followReplay(() => `${tally.total.toLocaleString("en")} counted`, progressOutput);
    return (await countReplay(this.#replay, decide, shown)) ? tally : null;
  }

  /** Replays dead letters and marks them. @param tally the dead letters that were counted. */
  async send({ total, own }: Tally, progressOutput: ProgressOutput): Promise<SentDeadLetters> {
    const { topics, reading } = this.#targets;
    const deadLetters = await this.#kafka.admin.offsets(topics.deadLetters);
    const first = this.#marks.tombstones(topics.deadLetterReplays, deadLetters);
    const rules = { ...this.#rules(), first, suppressions: reading };
    const text = (figures: ReplayFigures) => replayProgressText(figures, total + own, this.words);
    const result = await runReplay(this.#kafka, this.#replay, rules, text, progressOutput);
    return { ...result, text: text(result) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.schemas[Symbol.asyncDispose]();
  }

  #rules(tally?: Tally): ReplayRules {
    const given = { ...this.#targets, marks: this.#marks, read: this.schemas.read, tally };
    return deadLetterRules(this.#replay, given);
  }
}

export interface SentDeadLetters extends ReplayResult {
  /** The progress of the replay as text. */
  readonly text: string;
}

export interface DeadLetterRules extends ReplayTargets {
  /** The marks that were on the topic when the replay was opened. */
  readonly marks: ReplayMarks;
  readonly read?: ReadDeadLetterValue;
  /** If set, counts the dead letters. */
  readonly tally?: Tally | undefined;
}

export function deadLetterRules(
  { store: { name, by }, stored: { plan } }: Pick<Replay<"dead-letters">, "store" | "stored">,
  given: DeadLetterRules,
): Required<Pick<ReplayRules, "decide" | "marksOf">> {
  const { marks, read, tally, topics } = given;
  return {
    decide: async (record) => {
      const passed = await passing(readDeadLetter(record, topics), plan.filter, read);
      if (passed === null) return { kind: "skip", as: null };
      const cancellation = plan.cancels === true ? cancellationOf(passed, given) : undefined;
      if (cancellation === null) return { kind: "skip", as: null };
      const mark = marks.of(record);
      const isOwn = mark !== null && mark.replay === name;
      if (mark !== null && (isOwn || plan.includeReplayed !== true)) {
        tally?.skip(passed, isOwn);
        return { kind: "skip", as: isOwn ? "written" : null };
      }
      const isRead = read !== undefined && showsUser(passed, given);
      const deadLetter = isRead ? await read(passed) : passed;
      const replay = cancellation ?? replayOf(deadLetter, given);
      tally?.add(deadLetter, replay);
      if (replay.kind === "skipped") return { kind: "skip", as: "skipped:suppressed" };
      if (replay.kind === "refused") return { kind: "skip", as: "refused", why: replay.why };
      return { kind: "write", outgoing: replay.outgoing };
    },
    marksOf: (written) =>
      marksOf(topics.deadLetterReplays, written, { replay: name, by, atMs: systemClock.nowMs() }),
  };
}
