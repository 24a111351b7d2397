/**
 * Works on a replay. It may be interrupted at any time and resumed by its name, from what it
 * has committed (`stored-replay.ts`, `replay-store.ts`).
 *
 *   the process ends                        then, when the replay is resumed
 *   before the plan was committed           there is no such replay; nothing was sent
 *   after that, with a batch in hand        the batch was not sent: it is sent now
 *   while a batch is being written          its letters, at most 500, are sent again
 *   after its acknowledgement, before       the same: nobody knows that they were sent
 *     its marks are written
 *   after its marks, before the commit      nothing is repeated: they are known by their marks
 *   after the commit                        nothing is repeated
 *   after the last commit, before the       nothing is left to do; the groups are deleted
 *     groups are deleted
 *
 * Marks (`replay-marks.ts`) also tell later replays which letters were sent. So a letter is sent once,
 * or twice where a crash came between its acknowledgement and its mark; and never left out, because a
 * mark is written after the acknowledgement. Two replays that work at the same time on the same letters
 * know nothing of each other's, and both send them.
 *
 * A graceful interruption sends and commits what is in hand, so it repeats nothing. Dead letters
 * stay in their topic; a replay reads up to the ends taken at its start, never what it causes
 * itself.
 */

import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import type { Kafka, Producer } from "../../kafka/port.ts";
import type { Clock } from "../../runtime/clock.ts";
import { type DeadLetter, readDeadLetter } from "./dead-letter-record.ts";
import { passing } from "./filter.ts";
import { ReplayProgress } from "./progress.ts";
import {
  type DeadLetterSource,
  deadLetterRanges,
  type Range,
  readDeadLetters,
  readRecords,
} from "./read-dead-letters.ts";
import { Pace, ReplayCommits, type ReplayEnd, runReplaying } from "./replay-loop.ts";
import { marksOf, type ReplayMark, type ReplayMarks } from "./replay-marks.ts";
import { deadLetterReplay, type ReplayStore } from "./replay-store.ts";
import { type ReplayTargets, replayOf } from "./replayed-record.ts";
import {
  type PartitionReplay,
  type ReplayPlan,
  replayTotals,
  type StoredReplay,
} from "./stored-replay.ts";

const BATCH_MAX = 500;
/** Of records that do not pass the filter, from one commit to the next. */
const FILTERED_MAX = 20_000;

/** A replay that has not begun. */
export async function planReplay(
  kafka: Kafka,
  topics: TopicNames,
  plan: ReplayPlan,
): Promise<StoredReplay> {
  const ranges = await deadLetterRanges(kafka, topics.deadLetters, plan.filter.sinceMs);
  const partitions = ranges.map(({ partition, from, to }) => ({
    partition,
    position: from,
    to,
    replayed: 0,
    refused: 0,
  }));
  return { plan, partitions };
}

/** The letters that a replay has still to send. @param onMarked told of each that it leaves out, and whether it sent it itself. */
export async function* deadLettersOfReplay(
  source: DeadLetterSource,
  { plan, partitions }: StoredReplay,
  marks: ReplayMarks,
  name: string | null,
  onMarked: (isOwn: boolean) => void,
): AsyncGenerator<DeadLetter, void, undefined> {
  const { replayed, refused } = replayTotals(partitions);
  let left = plan.limit === null ? Number.POSITIVE_INFINITY : plan.limit - replayed - refused;
  if (left <= 0) return;
  for await (const deadLetter of readDeadLetters(source, rangesOf(partitions), plan.filter)) {
    const mark = marks.of(deadLetter.record);
    const isOwn = mark !== null && mark.replay === name;
    const isSkipped = isSent(mark, plan, name);
    if (isSkipped) onMarked(isOwn);
    else yield deadLetter;
    if (isOwn || !isSkipped) left -= 1;
    if (left <= 0) return;
  }
}

/** Its own marks count in any case: they were written before a crash. */
function isSent(
  mark: ReplayMark | null,
  { includeReplayed }: ReplayPlan,
  name: string | null,
): boolean {
  return mark !== null && (includeReplayed !== true || mark.replay === name);
}

function rangesOf(partitions: readonly PartitionReplay[]): readonly Range[] {
  return partitions.map(({ partition, position, to }) => ({ partition, from: position, to }));
}

export interface ReplayDeps extends DeadLetterSource {
  readonly producer: Producer;
  readonly clock: Clock;
  readonly targets: ReplayTargets;
  /** Those of the beginning; letters that this replay sends are not among them. */
  readonly marks: ReplayMarks;
  /** The process that works on the replay. */
  readonly by: string;
  /** After each commit. */
  readonly onProgress: (totals: { readonly replayed: number; readonly refused: number }) => void;
  /** A letter that was not replayed, and why. */
  readonly onRefused: (deadLetter: DeadLetter, why: string) => void;
}

/**
 * Works on a replay that has begun, or was taken over, until it is done or the signal aborts.
 *
 * @throws Error when Kafka fails, or another process takes the replay over: the replay can be resumed.
 */
export async function replay(
  deps: ReplayDeps,
  name: string,
  stored: StoredReplay,
): Promise<ReplayEnd> {
  const { kafka, topics } = deps;
  const store = deadLetterReplay(kafka.admin, topics, name);
  const work = new ReplayWork(deps, store, name, stored);
  return runReplaying(deps, store, () => work.run());
}

class ReplayWork {
  readonly #deps: ReplayDeps;
  readonly #commits: ReplayCommits;
  readonly #name: string;
  readonly #pace: Pace;
  readonly #progress: ReplayProgress;
  readonly #ranges: readonly Range[];
  #batch = new Map<OutgoingRecord, DeadLetter>();
  #batchSinceMs = 0;
  #filtered = 0;

  constructor(
    deps: ReplayDeps,
    store: ReplayStore<StoredReplay>,
    name: string,
    stored: StoredReplay,
  ) {
    const { perSecond } = stored.plan;
    this.#deps = deps;
    this.#name = name;
    this.#progress = new ReplayProgress(stored);
    this.#commits = new ReplayCommits(store, this.#progress, deps);
    this.#ranges = rangesOf(stored.partitions);
    this.#pace = new Pace(perSecond, deps);
  }

  async run(): Promise<ReplayEnd> {
    reading: for await (const records of readRecords(this.#deps, this.#ranges)) {
      for (const record of records) {
        if (this.#progress.isFull || !(await this.#take(record))) break reading;
      }
    }
    await this.#flush();
    return this.#deps.signal.aborted && !this.#progress.isFull ? "interrupted" : "done";
  }

  /** False: the signal aborted, and the record was not taken. */
  async #take(record: IncomingRecord): Promise<boolean> {
    const { topics, targets, signal, onRefused, read } = this.#deps;
    if (signal.aborted) return false;
    const deadLetter = await passing(
      readDeadLetter(record, topics),
      this.#progress.plan.filter,
      read,
    );
    if (deadLetter === null) {
      this.#progress.moveOn(record, null);
      this.#filtered += 1;
      if (this.#filtered >= FILTERED_MAX) await this.#flush();
      return true;
    }
    const mark = this.#deps.marks.of(record);
    if (isSent(mark, this.#progress.plan, this.#name)) {
      this.#progress.moveOn(record, mark?.replay === this.#name ? "replayed" : null);
      return true;
    }
    const decided = replayOf(deadLetter, targets);
    if (decided.kind === "refused") {
      this.#progress.moveOn(record, "refused");
      onRefused(deadLetter, decided.why);
      return true;
    }
    const waitingSinceMs = () => (this.#batch.size === 0 ? null : this.#batchSinceMs);
    if (!(await this.#pace.turn(waitingSinceMs, () => this.#flush()))) return false;
    if (this.#batch.size === 0) this.#batchSinceMs = this.#deps.clock.nowMs();
    this.#batch.set(decided.outgoing, deadLetter);
    this.#progress.moveOn(record, "replayed");
    if (this.#batch.size >= BATCH_MAX) await this.#flush();
    return true;
  }

  /** Writes what is in hand, then commits. */
  async #flush(): Promise<void> {
    const { producer, onRefused, onProgress } = this.#deps;
    await this.#commits.assertOwned();
    const sent = await producer.send([...this.#batch.keys()], { giveBack: true });
    for (const { record, error, blocked } of sent) {
      const deadLetter = this.#batch.get(record);
      if (deadLetter === undefined) continue;
      this.#progress.takeBack(deadLetter.record.partition);
      this.#batch.delete(record);
      const isLarge = blocked === undefined;
      onRefused(
        deadLetter,
        isLarge ? `it is too large: ${error}` : `the topic ${record.topic} takes nothing: ${error}`,
      );
    }
    await this.#mark([...this.#batch.values()].map(({ record }) => record));
    this.#batch = new Map();
    this.#filtered = 0;
    // Writing may have taken long, through an outage.
    await this.#commits.assertOwned();
    await this.#commits.commit();
    onProgress(this.#progress.totals);
  }

  /** Resolves when the marks of letters that were sent are acknowledged. */
  async #mark(deadLetters: readonly IncomingRecord[]): Promise<void> {
    const { producer, topics, by, clock } = this.#deps;
    if (deadLetters.length === 0) return;
    const atMs = clock.nowMs();
    const marks = marksOf(topics.deadLetterReplays, deadLetters, { replay: this.#name, by, atMs });
    const [refused] = await producer.send(marks);
    if (refused === undefined) return;
    throw new Error(`the topic ${topics.deadLetterReplays} takes no marks: ${refused.error}`);
  }
}
