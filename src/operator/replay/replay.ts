/**
 * A replay reads a range of records, decides for each of them whether it is replayed, and writes the results.
 * The records are dead letters (`dead-letter-replay.ts`) or past calls (`call-replay.ts`). Its
 * progress is the offsets of a consumer group (`replay-store.ts`), so it can be interrupted at any time. An operator
 * can then resume it by its name, and it continues from its last commit.
 *
 *   the process ends                        then, when the replay is resumed
 *   before the plan was committed           the replay does not exist; nothing was written
 *   after that, with a batch in memory      the batch, which was not written, is written now
 *   while a batch is being written          its records, at most 500, are written again
 *   after its acknowledgment, before        the same, because nothing shows that they were written. The ledger has
 *     its ledger record is acknowledged     them once. An audit counts those that were written between the last record
 *                                           of this process and the first one of the next as repeated
 *   after its ledger record, before its     the same, but the ledger has them twice
 *     marks are written
 *   after its marks, before the commit      dead letters: nothing is repeated, because of the marks
 *                                           calls have no marks: the batch is written again
 *   after the commit                        nothing is repeated
 *   after the last commit, before the       nothing is left to do; the groups are deleted
 *     groups are deleted, or before the
 *     last ledger record
 *
 * No record is omitted, because a position is committed only when every record before it has been acknowledged. On a
 * graceful interruption, the batch in memory is written and committed, so nothing is repeated. Only the process that
 * owns the replay writes.
 *
 *   a problem                                       then
 *   the brokers do not respond                      the replay waits; if interrupted, for 5 more seconds
 *   a topic is not writable                         the batch is tried again until it is writable
 *   ... because it is missing, or forbidden         the replay fails, and can be resumed
 *   the topic `ledger` is not writable              the replay does not wait for it (`process-ledger.ts`)
 *   a record is too large for its topic             the record is counted as refused
 *   a corrupt batch is in the range                 the replay fails with its offset in the error
 *
 * Topic destinations have no stage that checks suppressions later. Before a batch is written, and before it is tried again,
 * the suppressions are therefore read again, unless the last reading is younger than 2 s. If they have changed, the
 * batch's records are decided again. If the replay is interrupted and the last reading is older than 10 s, the batch is not
 * written; its records are read again when the replay is resumed.
 *
 * Records of the same partition keep their order, and so do records with the same key. Records of several partitions
 * are written in the order of time.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/runtime/clock.ts";
import { createRateLimiter, type RateLimiter } from "../../domain/rate-limit.ts";
import { allHeaders, type IncomingRecord, type OutgoingRecord } from "../../domain/record.ts";
import { destinationOfTopic, groupNames, type TopicNames } from "../../domain/topics.ts";
import { ClosedError, type Kafka, type Producer } from "../../kafka/port.ts";
import { ProcessLedger } from "../../router/ledger/process-ledger.ts";
import { StageLedger } from "../../router/ledger/stage-ledger.ts";
import { deliveryIdentity, Tallies, talliedDelivery } from "../../router/ledger/tallies.ts";
import { forbiddenText, NotWrittenError } from "../connect/command-producer.ts";
import type { ReadSuppressions } from "../connect/known-operations.ts";
import { readRanges } from "./read-records.ts";
import { ReplayProgress } from "./replay-progress.ts";
import {
  type CountKey,
  type Counts,
  type ReplayKind,
  type ReplayStore,
  rangesOf,
  type StoredReplay,
  topicOf,
} from "./replay-store.ts";

const BATCH_MAX = 500;
const BATCH_MAX_BYTES = 4 * 1_048_576;
/** If the rate is limited, records wait at most this long for their batch to be complete. */
const BATCH_AGE_MAX_MS = 200;
/** Maximum number of records between two commits if nothing is written for them. */
const SKIPPED_MAX = 20_000;
const TRY_AGAIN_MS = 1_000;
const CHECK_SUPPRESSIONS_AFTER_MS = 2_000;
/** Within this time, every process applies a suppression. */
const SUPPRESSIONS_AGE_MAX_MS = 10_000;
/** Much shorter than the time after which brokers delete commits: 7 days by default, hours on some clusters. */
const RENEW_AFTER_MS = 600_000;

export type ReplayDecision =
  | { readonly kind: "write"; readonly outgoing: OutgoingRecord }
  /** `as` is null if the record is not counted. Records that are refused for the same reason have the same `why`. */
  | { readonly kind: "skip"; readonly as: CountKey | null; readonly why?: string };

/**
 * @param onWaiting called with what the decision waits for, such as a schema, and with null when it no longer waits.
 */
export type Decide = (
  record: IncomingRecord,
  onWaiting: (why: string | null) => void,
) => ReplayDecision | Promise<ReplayDecision>;

export interface ReplayFigures {
  /** The number of records that this process has read. */
  readonly read: number;
  /** Counts of all processes that have worked on the replay. */
  readonly counts: Counts;
  /** Counts of this process. */
  readonly own: Counts;
}

/** What one kind of replay does with the records that it reads. */
export interface ReplayRules {
  readonly decide: Decide;
  /** Reads the suppressions that `decide` uses. */
  readonly suppressions?: Pick<ReadSuppressions, "read">;
  /** Records that are written before the replay starts. */
  readonly first?: readonly OutgoingRecord[];
  /** Creates the marks for acknowledged records. They are written before the positions are committed. */
  readonly marksOf?: (written: readonly IncomingRecord[]) => readonly OutgoingRecord[];
}

/** Shows the work on a replay to an operator. */
export interface ReplayFollower {
  readonly onProgress: (figures: ReplayFigures) => void;
  readonly onWaiting: (why: string | null) => void;
  /** Called for each record that was not replayed. */
  readonly onRefused: (why: string) => void;
}

/** The topics of a replay, and the process that works on it. */
export interface ReplayCluster {
  readonly kafka: Pick<Kafka, "admin" | "read">;
  readonly topics: TopicNames;
  /** True if deliveries that are written again are in the ledger (`audit.enabled`). */
  readonly hasLedger: boolean;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

export type ReplayEnd = "done" | "interrupted";

/** A replay that this process has planned or taken over (`run-replay.ts`). */
export interface Replay<Kind extends ReplayKind = ReplayKind> {
  readonly cluster: ReplayCluster;
  readonly store: ReplayStore<Kind>;
  readonly stored: StoredReplay<Kind>;
  readonly isNew: boolean;
}

/** Counts the records that a replay still has to process, without writing anything. Returns false if interrupted. */
export async function countReplay(
  replay: Replay,
  decide: Decide,
  follower: ReplayFollower,
): Promise<boolean> {
  const { signal } = replay.cluster;
  const progress = new ReplayProgress(replay.stored);
  for await (const records of recordsOf(replay)) {
    for (const record of records) {
      if (progress.isFull) return true;
      const decision = await decided(decide, record, follower, signal);
      if (decision === null) return false;
      progress.moveOn(record, decision.kind === "write" ? "written" : decision.as);
    }
    follower.onProgress(progress);
  }
  return !signal.aborted;
}

/**
 * Runs a replay until it is done or the signal aborts.
 *
 * @throws Error if Kafka fails, or if another process takes over the replay. The replay can then be resumed.
 */
export async function sendReplay(
  replay: Replay,
  rules: ReplayRules,
  producer: Producer,
  follower: ReplayFollower,
): Promise<ReplayEnd> {
  const { store, stored, cluster, isNew } = replay;
  if (isNew) await store.begin(stored);
  try {
    const end = await new ReplayRun(replay, rules, producer, follower).run();
    if (end === "done") await store.delete();
    return end;
  } catch (error) {
    const isClosed = error instanceof ClosedError || error instanceof NotWrittenError;
    if (cluster.signal.aborted && isClosed) return "interrupted";
    throw error;
  }
}

/** Yields the records that are still to be processed, in the order of time. */
function recordsOf({ cluster: { kafka, topics, signal }, stored }: Replay) {
  return readRanges({ kafka, topic: topicOf(stored.of, topics), signal }, rangesOf(stored));
}

/** Returns null if interrupted, perhaps while waiting for a schema. */
async function decided(
  decide: Decide,
  record: IncomingRecord,
  { onWaiting }: ReplayFollower,
  signal: AbortSignal,
): Promise<ReplayDecision | null> {
  if (signal.aborted) return null;
  try {
    return await decide(record, onWaiting);
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

class ReplayRun {
  readonly #replay: Replay;
  readonly #rules: ReplayRules;
  readonly #producer: Producer;
  readonly #follower: ReplayFollower;
  readonly #ledger: StageLedger | null;
  readonly #progress: ReplayProgress;
  readonly #limiter: RateLimiter | null;
  /** The records to write, each with the record from which it was made. Emptied by `#flush`. */
  #batch = new Map<OutgoingRecord, IncomingRecord>();
  #batchBytes = 0;
  #batchSinceMs = 0;
  /** Records since the last commit for which nothing is written. */
  #skipped = 0;
  #renewedAtMs: number;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  /** The version of the suppressions with which the batch was decided. */
  #suppressionsVersion = 0;

  constructor(replay: Replay, rules: ReplayRules, producer: Producer, follower: ReplayFollower) {
    const { perSecond } = replay.stored.plan;
    const { hasLedger, topics } = replay.cluster;
    const group = groupNames(topics.prefix).replay(replay.store.name);
    const { clock } = replay.cluster;
    const own = { producer, clock, topic: topics.ledger, process: randomUUID() };
    const ledger = new ProcessLedger(own);
    this.#ledger = hasLedger ? new StageLedger(ledger, group) : null;
    this.#replay = replay;
    this.#rules = rules;
    this.#producer = producer;
    this.#follower = follower;
    this.#progress = new ReplayProgress(replay.stored);
    this.#limiter = perSecond === null ? null : createRateLimiter(perSecond);
    this.#renewedAtMs = replay.cluster.clock.nowMs();
  }

  async run(): Promise<ReplayEnd> {
    await this.#book([]);
    await this.#stillWanted([]);
    reading: for await (const records of recordsOf(this.#replay)) {
      for (const record of records) {
        if (this.#progress.isFull || !(await this.#take(record))) break reading;
      }
    }
    await this.#flush();
    await this.#book([], true);
    const { signal } = this.#replay.cluster;
    return signal.aborted && !this.#progress.isFull ? "interrupted" : "done";
  }

  /** Returns false if the signal aborted before the record was taken. */
  async #take(record: IncomingRecord): Promise<boolean> {
    const { clock, signal } = this.#replay.cluster;
    const decision = await decided(this.#rules.decide, record, this.#follower, signal);
    if (decision === null) return false;
    if (decision.kind === "skip") {
      this.#progress.moveOn(record, decision.as);
      if (decision.why !== undefined) this.#follower.onRefused(decision.why);
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
    const { clock, signal } = this.#replay.cluster;
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

  /** Writes the batch, then the ledger, then the marks, then commits. */
  async #flush(): Promise<void> {
    await this.#replay.store.assertOwned();
    await this.#write([...this.#batch.keys()], true);
    if (this.#batch.size > 0) await this.#book([...this.#batch.keys()]);
    await this.#write(this.#rules.marksOf?.([...this.#batch.values()]) ?? []);
    this.#batch = new Map();
    this.#batchBytes = 0;
    this.#skipped = 0;
    // The owner is checked again, because writing may have taken a long time during an outage.
    await this.#replay.store.assertOwned();
    await this.#commit();
    this.#follower.onProgress(this.#progress);
  }

  /** Resolves when each record has been acknowledged, or refused because of its size. */
  async #write(records: readonly OutgoingRecord[], isBatch = false): Promise<void> {
    const { clock, signal } = this.#replay.cluster;
    const { onWaiting } = this.#follower;
    let isWaiting = false;
    for (let left = records; left.length > 0; ) {
      if (isBatch) left = await this.#stillWanted(left);
      const returned = await this.#producer.send(left, { giveBack: true });
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

  /** Returns these records of the batch without those whose users were suppressed since they were decided. */
  async #stillWanted(records: readonly OutgoingRecord[]): Promise<readonly OutgoingRecord[]> {
    const { clock, signal } = this.#replay.cluster;
    const { suppressions, decide } = this.#rules;
    const nowMs = clock.nowMs();
    const ageMaxMs = signal.aborted ? SUPPRESSIONS_AGE_MAX_MS : CHECK_SUPPRESSIONS_AFTER_MS;
    if (suppressions === undefined || nowMs - this.#checkedAtMs < ageMaxMs) return records;
    const known = signal.aborted ? null : await suppressions.read();
    if (known === null || signal.aborted) throw new ClosedError("interrupted");
    this.#checkedAtMs = nowMs;
    if (known.version === this.#suppressionsVersion) return records;
    this.#suppressionsVersion = known.version;
    const wanted: OutgoingRecord[] = [];
    for (const record of records) {
      const from = this.#batch.get(record);
      assert(from !== undefined);
      const decision = await decided(decide, from, this.#follower, signal);
      if (decision === null) throw new ClosedError("interrupted");
      if (decision.kind === "write") wanted.push(record);
      else {
        this.#batch.delete(record);
        this.#progress.recount(from.partition, decision.as);
      }
    }
    return wanted;
  }

  /** Calls and syncs are not in the ledger before a stage has processed them. */
  async #book(written: readonly OutgoingRecord[], isLast = false): Promise<void> {
    const tallies = new Tallies();
    const { topics } = this.#replay.cluster;
    for (const record of written) {
      if (destinationOfTopic(record.topic, topics) === null) continue;
      const delivery = talliedDelivery({ headers: allHeaders(record) });
      const { destination } = delivery;
      const outcome = record.topic === topics.retries(destination) ? "returned" : "queued";
      tallies.add(destination, outcome, deliveryIdentity(delivery));
    }
    await this.#ledger?.write({ read: [], isLast, tallies });
  }

  #refuse(record: OutgoingRecord, error: string): void {
    const from = this.#batch.get(record);
    if (from === undefined)
      throw new Error(`The record of what was replayed is too large for ${record.topic}: ${error}`);
    this.#batch.delete(record);
    this.#progress.recount(from.partition, "refused");
    this.#follower.onRefused(`it is too large: ${error}`);
  }

  async #commit(): Promise<void> {
    const nowMs = this.#replay.cluster.clock.nowMs();
    if (nowMs - this.#renewedAtMs >= RENEW_AFTER_MS) {
      this.#renewedAtMs = nowMs;
      await this.#replay.store.own();
      this.#progress.renew();
    }
    await this.#replay.store.commit(this.#progress.commits());
    this.#progress.committed();
  }
}
