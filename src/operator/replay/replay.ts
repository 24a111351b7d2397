/**
 * Runs a replay: reads a range of records, decides for each of them whether it is replayed, and writes the results.
 * The records are dead letters (`dead-letter-replay.ts`) or past calls (`call-replay.ts`). A replay can be
 * interrupted at any time. An operator can then resume it by its name, and it continues from its last commit
 * (`replay-store.ts`).
 *
 *   the process ends                        then, when the replay is resumed
 *   before the plan was committed           the replay does not exist; nothing was written
 *   after that, with a batch in memory      the batch, which was not written, is written now
 *   while a batch is being written          its records, at most 500, are written again
 *   after its acknowledgment, before        the same, because nothing shows that they were written
 *     its marks are written
 *   after its marks, before the commit      dead letters: nothing is repeated, because of the marks
 *                                           calls have no marks: the batch is written again
 *   after the commit                        nothing is repeated
 *   after the last commit, before the       nothing is left to do; the groups are deleted
 *     groups are deleted
 *
 * No record is omitted, because a position is committed only when every record before it has been acknowledged. On a
 * graceful interruption, the batch in memory is written and committed, so nothing is repeated. Only the process that
 * owns the replay writes.
 *
 *   a problem                                       then
 *   the brokers do not respond                      the replay waits; if interrupted, for 5 more seconds
 *   a topic is not writable                         the batch is tried again until it is writable
 *   ... because it is missing, or forbidden         the replay fails, and can be resumed
 *   a record is too large for its topic             the record is counted as refused
 *   a corrupt batch is in the range                 the replay fails with its offset in the error
 *
 * Records of the same partition keep their order, and so do records with the same key. Records of several partitions
 * are written in the order of time.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import { visibleLines } from "../../domain/escape-control.ts";
import { createRateLimiter, type RateLimiter } from "../../domain/rate-limit.ts";
import type { IncomingRecord, OutgoingRecord } from "../../domain/record.ts";
import type { TopicNames } from "../../domain/topics.ts";
import { ClosedError, type Kafka, type Producer } from "../../kafka/port.ts";
import { commandProducer, forbiddenText, NotWrittenError } from "../connect/command-producer.ts";
import type { ProgressOutput } from "../connect/progress.ts";
import { readRanges } from "./read-records.ts";
import { type ChosenReplay, newReplayName, ReplayStore } from "./replay-store.ts";
import {
  type CountKey,
  type Counts,
  type ReplayKind,
  ReplayProgress,
  type StoredReplay,
  topicOf,
} from "./stored-replay.ts";

const BATCH_MAX = 500;
const BATCH_MAX_BYTES = 4 * 1_048_576;
/** If the rate is limited, records wait at most this long for their batch to be complete. */
const BATCH_AGE_MAX_MS = 200;
/** Maximum number of records between two commits if nothing is written for them. */
const SKIPPED_MAX = 20_000;
const TRY_AGAIN_MS = 1_000;
/**
 * Much shorter than the time after which brokers delete commits, which is 7 days by default, but only hours on some
 * clusters.
 */
const RENEW_AFTER_MS = 600_000;

export type Decision =
  | { readonly kind: "write"; readonly outgoing: OutgoingRecord }
  /** `as` is null if the record is not counted. Records that are refused for the same reason have the same `why`. */
  | { readonly kind: "skip"; readonly as: CountKey | null; readonly why?: string };

/**
 * @param onWaiting called with what the decision waits for, such as a schema, and with null when it no longer waits.
 */
export type Decide = (
  record: IncomingRecord,
  onWaiting: (why: string | null) => void,
) => Decision | Promise<Decision>;

export interface ReplayFigures {
  /** The number of records that this process has read. */
  readonly read: number;
  /** Counts of all processes that have worked on the replay. */
  readonly counts: Counts;
  /** Counts of this process. */
  readonly own: Counts;
}

export interface CountDeps {
  readonly kafka: Pick<Kafka, "read">;
  readonly topics: TopicNames;
  readonly signal: AbortSignal;
  readonly decide: Decide;
  readonly onProgress: (figures: ReplayFigures) => void;
  readonly onWaiting: (why: string | null) => void;
}

export interface ReplayDeps extends CountDeps {
  readonly kafka: Pick<Kafka, "admin" | "read">;
  readonly producer: Producer;
  readonly clock: Clock;
  /** The process that works on the replay. */
  readonly by: string;
  /** Creates the marks for acknowledged records. They are written before the positions are committed. */
  readonly marksOf?: (
    written: readonly IncomingRecord[],
    name: string,
  ) => readonly OutgoingRecord[];
  /** Called for each record that was not replayed. */
  readonly onRefused: (why: string) => void;
}

export type ReplayEnd = "done" | "interrupted";

/** Counts the records that a replay still has to process, without writing anything. Returns false if interrupted. */
export async function countReplay(deps: CountDeps, stored: StoredReplay): Promise<boolean> {
  const progress = new ReplayProgress(stored);
  for await (const records of recordsOf(deps, stored)) {
    for (const record of records) {
      if (progress.isFull) return true;
      const decision = await decided(deps, record);
      if (decision === null) return false;
      progress.moveOn(record, decision.kind === "write" ? "written" : decision.as);
    }
    deps.onProgress(progress);
  }
  return !deps.signal.aborted;
}

/**
 * Runs a replay that this process has started or taken over, until the replay is done or the signal aborts.
 *
 * @throws Error if Kafka fails, or if another process takes over the replay. The replay can then be resumed.
 */
export async function replay<Kind extends ReplayKind>(
  deps: ReplayDeps,
  name: string,
  stored: StoredReplay<Kind>,
): Promise<ReplayEnd> {
  const store = new ReplayStore(deps.kafka.admin, deps.topics, name, stored.of);
  try {
    const end = await new Work(deps, store, name, stored).run();
    if (end === "done") await store.delete();
    return end;
  } catch (error) {
    const isClosed = error instanceof ClosedError || error instanceof NotWrittenError;
    if (deps.signal.aborted && isClosed) return "interrupted";
    throw error;
  }
}

function recordsOf({ kafka, topics, signal }: CountDeps, { of, partitions }: StoredReplay) {
  const ranges = partitions.map(({ partition, position: from, to }) => ({ partition, from, to }));
  return readRanges({ kafka, topic: topicOf(of, topics), signal }, ranges);
}

/** Returns null if interrupted, perhaps while waiting for a schema. */
async function decided(deps: CountDeps, record: IncomingRecord): Promise<Decision | null> {
  const { decide, signal, onWaiting } = deps;
  if (signal.aborted) return null;
  try {
    return await decide(record, onWaiting);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

class Work {
  readonly #deps: ReplayDeps;
  readonly #store: ReplayStore<ReplayKind>;
  readonly #name: string;
  readonly #stored: StoredReplay;
  readonly #progress: ReplayProgress;
  readonly #limiter: RateLimiter | null;
  #batch = new Map<OutgoingRecord, IncomingRecord>();
  #batchBytes = 0;
  #batchSinceMs = 0;
  #skipped = 0;
  #renewedAtMs: number;

  constructor(
    deps: ReplayDeps,
    store: ReplayStore<ReplayKind>,
    name: string,
    stored: StoredReplay,
  ) {
    const { perSecond } = stored.plan;
    this.#deps = deps;
    this.#store = store;
    this.#name = name;
    this.#stored = stored;
    this.#progress = new ReplayProgress(stored);
    this.#limiter = perSecond === null ? null : createRateLimiter(perSecond);
    this.#renewedAtMs = deps.clock.nowMs();
  }

  async run(): Promise<ReplayEnd> {
    reading: for await (const records of recordsOf(this.#deps, this.#stored)) {
      for (const record of records) {
        if (this.#progress.isFull || !(await this.#take(record))) break reading;
      }
    }
    await this.#flush();
    return this.#deps.signal.aborted && !this.#progress.isFull ? "interrupted" : "done";
  }

  /** Returns false if the signal aborted before the record was taken. */
  async #take(record: IncomingRecord): Promise<boolean> {
    const { clock, onRefused } = this.#deps;
    const decision = await decided(this.#deps, record);
    if (decision === null) return false;
    if (decision.kind === "skip") {
      this.#progress.moveOn(record, decision.as);
      if (decision.why !== undefined) onRefused(decision.why);
      this.#skipped += 1;
      if (this.#skipped >= SKIPPED_MAX) await this.#flush();
      return true;
    }
    if (!(await this.#turn())) return false;
    if (this.#batch.size === 0) this.#batchSinceMs = clock.nowMs();
    this.#batch.set(decision.outgoing, record);
    this.#batchBytes += decision.outgoing.value?.length ?? 0;
    this.#progress.moveOn(record, "written");
    const isFull = this.#batch.size >= BATCH_MAX || this.#batchBytes >= BATCH_MAX_BYTES;
    if (isFull) await this.#flush();
    return true;
  }

  /** If the rate is limited, waits until the next record may be written. Returns false if the signal aborted. */
  async #turn(): Promise<boolean> {
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

  /** Writes the batch and its marks, then commits. */
  async #flush(): Promise<void> {
    const { by, marksOf, onProgress } = this.#deps;
    await this.#store.assertOwned(by);
    await this.#write([...this.#batch.keys()]);
    await this.#write(marksOf?.([...this.#batch.values()], this.#name) ?? []);
    this.#batch = new Map();
    this.#batchBytes = 0;
    this.#skipped = 0;
    // The owner is checked again, because writing may have taken a long time during an outage.
    await this.#store.assertOwned(by);
    await this.#commit();
    onProgress(this.#progress);
  }

  /** Resolves when each record has been acknowledged, or refused because of its size. */
  async #write(records: readonly OutgoingRecord[]): Promise<void> {
    const { producer, clock, signal, onWaiting } = this.#deps;
    let isWaiting = false;
    for (let left = records; left.length > 0; ) {
      const returned = await producer.send(left, { giveBack: true });
      const back = returned.filter(({ blocked }) => blocked !== undefined);
      for (const { record, error, blocked } of returned) {
        if (blocked === undefined) this.#refuse(record, error);
      }
      left = back.map(({ record }) => record);
      const [first] = back;
      if (first === undefined) break;
      const { topic } = first.record;
      if (first.blocked === "forbidden") throw new Error(forbiddenText(topic, first.error));
      if (first.blocked === "missing") {
        throw new Error(`The topic ${topic} is missing. Create it: switchyard topics --apply`);
      }
      isWaiting = true;
      onWaiting(`the topic ${topic}, which is not writable: ${first.error}`);
      await clock.sleep(TRY_AGAIN_MS, signal).catch(() => undefined);
      if (signal.aborted) throw new ClosedError("interrupted");
    }
    if (isWaiting) onWaiting(null);
  }

  #refuse(record: OutgoingRecord, error: string): void {
    const from = this.#batch.get(record);
    if (from === undefined)
      throw new Error(`The record of what was replayed is too large for ${record.topic}: ${error}`);
    this.#batch.delete(record);
    this.#progress.refuse(from.partition);
    this.#deps.onRefused(`it is too large: ${error}`);
  }

  async #commit(): Promise<void> {
    const { clock, by } = this.#deps;
    if (clock.nowMs() - this.#renewedAtMs >= RENEW_AFTER_MS) {
      this.#renewedAtMs = clock.nowMs();
      await this.#store.own(by);
      this.#progress.renew();
    }
    await this.#store.commit(this.#progress.commits());
    this.#progress.committed();
  }
}

export interface ReplayJob<Kind extends ReplayKind>
  extends Pick<ReplayDeps, "topics" | "signal" | "clock" | "by" | "marksOf"> {
  readonly decide: (name: string) => Decide;
  readonly kafka: Kafka;
  readonly chosen: ChosenReplay<Kind>;
  readonly stored: StoredReplay<Kind>;
  /** Records that are written before the replay starts. */
  readonly first?: readonly OutgoingRecord[];
  readonly progressText: (figures: ReplayFigures) => string;
}

export interface ReplayResult extends ReplayFigures {
  readonly name: string;
  readonly end: ReplayEnd | "failed";
  /** The reason, if the replay failed. */
  readonly error: string | null;
  /** The number of records that were not replayed, indexed by a sentence with the reason. */
  readonly refused: ReadonlyMap<string, number>;
}

/** Starts or resumes a replay, shows its progress, and runs it until it ends. Does not throw. */
export async function runReplay<Kind extends ReplayKind>(
  job: ReplayJob<Kind>,
  progressOutput: ProgressOutput,
): Promise<ReplayResult> {
  const { kafka, topics, chosen, stored, by, signal, clock, first = [] } = job;
  const name = chosen.kind === "resume" ? chosen.name : newReplayName();
  const refused = new Map<string, number>();
  const producer = commandProducer(kafka, progressOutput, signal, clock);
  await using _ended = { [Symbol.asyncDispose]: () => producer.close(0) };
  using shown = followReplay(job.progressText, progressOutput);
  if (first.length > 0) await producer.send(first);
  const verb = chosen.kind === "new" ? "started" : "resumed";
  shown.progress.say(
    `Replay ${name} ${verb}. If it is interrupted, it can be resumed with this name.`,
  );
  const onRefused = (why: string) => void refused.set(why, (refused.get(why) ?? 0) + 1);
  const work = async () => {
    const store = new ReplayStore(kafka.admin, topics, name, stored.of);
    if (chosen.kind === "new") await store.begin(stored, by);
    const deps = { ...job, ...shown, decide: job.decide(name), producer, onRefused };
    return { end: await replay(deps, name, stored), error: null };
  };
  const { end, error } = await work().catch((thrown: unknown) => {
    return { end: "failed" as const, error: asError(thrown).message };
  });
  return { name, end, error, refused, ...shown.figures() };
}

/** Shows the progress of a replay, or of counting its records, and what it is waiting for. */
export function followReplay(
  text: (figures: ReplayFigures) => string,
  progressOutput: ProgressOutput,
) {
  let figures: ReplayFigures = { read: 0, counts: {}, own: {} };
  let waitsFor: string | null = null;
  const waiting = () => (waitsFor === null ? "" : `; waiting for ${visibleLines(waitsFor)}`);
  const progress = progressOutput.follow(() => `${text(figures)}${waiting()}`);
  return {
    progress,
    figures: () => figures,
    onProgress: ({ read, counts, own }: ReplayFigures) => {
      figures = { read, counts, own };
    },
    onWaiting: (why: string | null) => {
      waitsFor = why;
    },
    [Symbol.dispose]: () => progress.end(),
  };
}
