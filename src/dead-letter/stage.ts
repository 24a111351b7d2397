/**
 * Reads dead letters, and replays them. A replay is a run: it may be interrupted at any time and
 * resumed by its name, from what it has committed (`run.ts`, `run-store.ts`).
 *
 *   the process ends                        then, when the run is resumed
 *   before the plan was committed           there is no such run; nothing was sent
 *   after that, with a batch in hand        the batch was not sent: it is sent now
 *   while a batch is being written          its letters, at most 500, are sent again
 *   after its acknowledgement, before       the same
 *     the commit
 *   after the commit                        nothing is repeated
 *   after the last commit, before the       nothing is left to do; the groups are deleted
 *     groups are deleted
 *
 * A graceful interruption sends and commits what is in hand, so it repeats nothing. Dead letters
 * stay in their topic; a run reads up to the ends taken at its start, never what it causes itself.
 */

import { createRateLimiter, type RateLimiter } from "../domain/rate-limit.ts";
import type { IncomingRecord, OutgoingRecord } from "../domain/record.ts";
import type { TopicNames } from "../domain/topics.ts";
import { ClosedError, type Kafka, type Producer } from "../kafka/port.ts";
import type { Clock } from "../runtime/clock.ts";
import { type LetterFilter, passes } from "./filter.ts";
import { type Letter, readLetter } from "./letter.ts";
import { mergeByTime } from "./merge.ts";
import { RunProgress } from "./progress.ts";
import { type ReplayTargets, replayOf } from "./replay.ts";
import { type PartitionRun, type RunPlan, runTotals, type StoredRun } from "./run.ts";
import { RunStore } from "./run-store.ts";

const READ_BYTES_MAX = 1_048_576;
/** Clocks of brokers and stages differ a little. */
const CLOCK_MARGIN_MS = 300_000;
const BATCH_MAX = 500;
/** Of letters that wait for others of their batch. */
const BATCH_AGE_MAX_MS = 200;
/** Of records that do not pass the filter, from one commit to the next. */
const PASSED_OVER_MAX = 20_000;
/** Far below the time that brokers keep commits for: 7 days by default, but some set hours. */
const RENEW_AFTER_MS = 600_000;
/** For the write that is under way when a run is interrupted. */
const INTERRUPT_LIMIT_MS = 10_000;

interface Range {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** What there is at this moment, from `sinceMs` on. */
export async function letterRanges(
  { admin }: Kafka,
  topic: string,
  sinceMs: number | null,
): Promise<readonly Range[]> {
  const offsets = await admin.offsets(topic);
  const since =
    sinceMs === null ? [] : await admin.offsetsAt(topic, Math.max(0, sinceMs - CLOCK_MARGIN_MS));
  const starts = new Map(since.map(({ partition, offset }) => [partition, offset]));
  return offsets.map(({ partition, first, end }) => ({
    partition,
    from: Math.min(end, starts.get(partition) ?? first),
    to: end,
  }));
}

export interface LetterSource {
  readonly kafka: Kafka;
  readonly topics: TopicNames;
  readonly signal: AbortSignal;
}

/** The letters of the ranges that pass, the oldest first. */
export async function* readLetters(
  source: LetterSource,
  ranges: readonly Range[],
  filter: LetterFilter,
): AsyncGenerator<Letter, void, undefined> {
  for await (const records of readRecords(source, ranges)) {
    for (const record of records) {
      const letter = readLetter(record, source.topics);
      if (passes(letter, filter)) yield letter;
    }
  }
}

function readRecords(
  { kafka, topics, signal }: LetterSource,
  ranges: readonly Range[],
): AsyncGenerator<readonly IncomingRecord[], void, undefined> {
  const topic = topics.deadLetters;
  return mergeByTime(
    ranges.map((range) => kafka.read({ topic, ...range, bytesMax: READ_BYTES_MAX, signal })),
  );
}

/** A run that has not begun. */
export async function planRun(kafka: Kafka, topics: TopicNames, plan: RunPlan): Promise<StoredRun> {
  const ranges = await letterRanges(kafka, topics.deadLetters, plan.filter.sinceMs);
  const partitions = ranges.map(({ partition, from, to }) => ({
    partition,
    position: from,
    to,
    replayed: 0,
    refused: 0,
  }));
  return { plan, partitions };
}

/** The letters that a run has still to look at. */
export async function* lettersOfRun(
  source: LetterSource,
  { plan, partitions }: StoredRun,
): AsyncGenerator<Letter, void, undefined> {
  const { replayed, refused } = runTotals(partitions);
  let left = plan.limit === null ? Number.POSITIVE_INFINITY : plan.limit - replayed - refused;
  if (left <= 0) return;
  for await (const letter of readLetters(source, rangesOf(partitions), plan.filter)) {
    yield letter;
    left -= 1;
    if (left <= 0) return;
  }
}

function rangesOf(partitions: readonly PartitionRun[]): readonly Range[] {
  return partitions.map(({ partition, position, to }) => ({ partition, from: position, to }));
}

export interface ReplayDeps extends LetterSource {
  readonly producer: Producer;
  readonly clock: Clock;
  readonly targets: ReplayTargets;
  /** Whoever works on the run; another one for each process. */
  readonly by: string;
  /** After each commit. */
  readonly onProgress: (totals: { readonly replayed: number; readonly refused: number }) => void;
  /** A letter that was not replayed, and why. */
  readonly onRefused: (letter: Letter, why: string) => void;
}

export type ReplayEnd = "done" | "interrupted";

/**
 * Works on a run that has begun, or was taken over, until it is done or the signal aborts.
 *
 * @throws Error when Kafka fails, or another process takes the run over: the run can be resumed.
 */
export async function replay(deps: ReplayDeps, run: string, stored: StoredRun): Promise<ReplayEnd> {
  const { kafka, topics, signal, producer, clock } = deps;
  const store = new RunStore(kafka.admin, topics, run);
  const work = new ReplayWork(deps, store, stored);
  const ended = new AbortController();
  const onAbort = () => {
    const limit = clock.sleep(INTERRUPT_LIMIT_MS, ended.signal);
    limit.then(() => producer.close(0)).catch(() => undefined);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const end = await work.run();
    if (end === "done") await store.delete();
    return end;
  } catch (error) {
    if (signal.aborted && error instanceof ClosedError) return "interrupted";
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
    ended.abort();
  }
}

class ReplayWork {
  readonly #deps: ReplayDeps;
  readonly #store: RunStore;
  readonly #limiter: RateLimiter | null;
  readonly #progress: RunProgress;
  readonly #ranges: readonly Range[];
  #batch = new Map<OutgoingRecord, Letter>();
  #batchSinceMs = 0;
  #passedOver = 0;
  #renewedAtMs: number;

  constructor(deps: ReplayDeps, store: RunStore, stored: StoredRun) {
    const { perSecond } = stored.plan;
    this.#deps = deps;
    this.#store = store;
    this.#renewedAtMs = deps.clock.nowMs();
    this.#progress = new RunProgress(stored);
    this.#ranges = rangesOf(stored.partitions);
    this.#limiter = perSecond === null ? null : createRateLimiter(perSecond);
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
    const { topics, targets, signal, onRefused } = this.#deps;
    if (signal.aborted) return false;
    const letter = readLetter(record, topics);
    if (!passes(letter, this.#progress.plan.filter)) {
      this.#progress.moveOn(record, null);
      this.#passedOver += 1;
      if (this.#passedOver >= PASSED_OVER_MAX) await this.#flush();
      return true;
    }
    const decided = replayOf(letter, targets);
    if (decided.kind === "refused") {
      this.#progress.moveOn(record, "refused");
      onRefused(letter, decided.why);
      return true;
    }
    if (!(await this.#waitForTurn())) return false;
    if (this.#batch.size === 0) this.#batchSinceMs = this.#deps.clock.nowMs();
    this.#batch.set(decided.outgoing, letter);
    this.#progress.moveOn(record, "replayed");
    if (this.#batch.size >= BATCH_MAX) await this.#flush();
    return true;
  }

  async #waitForTurn(): Promise<boolean> {
    const { clock, signal } = this.#deps;
    for (;;) {
      const nowMs = clock.nowMs();
      const waitMs = this.#limiter?.take(nowMs) ?? 0;
      if (waitMs === 0) return true;
      const isOld = nowMs + waitMs - this.#batchSinceMs > BATCH_AGE_MAX_MS;
      if (this.#batch.size > 0 && isOld) await this.#flush();
      else await clock.sleep(waitMs, signal).catch(() => undefined);
      if (signal.aborted) return false;
    }
  }

  /** Writes what is in hand, then commits. */
  async #flush(): Promise<void> {
    const { producer, by, onRefused } = this.#deps;
    await this.#store.assertOwned(by);
    for (const { record, error } of await producer.send([...this.#batch.keys()])) {
      const letter = this.#batch.get(record);
      if (letter === undefined) continue;
      this.#progress.takeBack(letter.record.partition);
      onRefused(letter, `it is too large: ${error}`);
    }
    this.#batch = new Map();
    this.#passedOver = 0;
    // Writing may have taken long, through an outage.
    await this.#store.assertOwned(by);
    await this.#commit();
  }

  async #commit(): Promise<void> {
    const { clock, by, onProgress } = this.#deps;
    if (clock.nowMs() - this.#renewedAtMs >= RENEW_AFTER_MS) {
      this.#renewedAtMs = clock.nowMs();
      await this.#store.own(by);
      this.#progress.renew();
    }
    await this.#store.commit(this.#progress.commits());
    this.#progress.committed();
    onProgress(this.#progress.totals);
  }
}
