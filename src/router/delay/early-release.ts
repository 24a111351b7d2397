/**
 * Carries out early releases. An early release takes the waiting records of one destination, before they are due, out
 * of the partitions that this process owns. All other records stay in order.
 *
 *   step in a partition                           if the process crashes after it
 *   1  a part of the log is read ahead            the part is read again. If it has none of the records, it is read
 *                                                 again even if later parts were read
 *   2  its records, and those in flight, are      the next owner writes them again: at most
 *      written to their topics, acknowledged      this part and those in flight
 *   3  if records left, the progress is written   nothing is repeated: an owner that takes one of
 *      to `operator-actions`, acknowledged        these records later only marks it as processed
 *   4  records are processed when they are taken  the same
 *
 * In all partitions together, only one step runs at a time, so that due records are not delayed. If a step fails, it
 * is repeated a few seconds later, and `/readyz` shows the failure.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { Clock } from "../../base/runtime/clock.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import type { Kafka, Producer } from "../../kafka/port.ts";
import { cancelledText, isReleasedBy } from "../control/early-release.ts";
import type { OperatorActions } from "../control/operator-action-state.ts";
import type { EarlyRelease } from "../control/operator-actions.ts";
import { releasedRecord } from "../control/operator-actions.ts";
import { type DelayedRecord, type Due, judgeNow, needsLookup } from "./due.ts";
import type { OwnedPartition } from "./owned-counts.ts";
import { type ReleasedAhead, type ReleasedPlace, releasable } from "./released-ahead.ts";
import type { TopicLookup } from "./topic-lookup.ts";

const STEP_BYTES = 512 * 1_024;
/** The check is repeated, because partitions may be assigned and revoked at any time. */
const LOOK_EVERY_MS = 5_000;
const LOOK_AGAIN_MS = 500;
const REST_MS = 5;
const TRY_AGAIN_MS = 5_000;
/** The first records of a partition arrive within this time after its assignment. */
const FIRST_RECORDS_MS = 5_000;

/** A partition of a delay topic that this process owns. */
export interface ReleasedPartition
  extends Pick<OwnedPartition, "delay" | "topic" | "partition" | "isOver">,
    Pick<ReleasedPlace, "topicId"> {
  readonly ahead: ReleasedAhead;
  readonly beganAtMs: number;
  readonly isOurs: () => Promise<boolean>;
  /** The offset after the record that was taken last; 0 if no record has been taken. */
  readonly takenTo: () => number;
  readonly inFlight: () => readonly DelayedRecord[];
  /** Removes from the queue the records for which `holds` returns true, and returns them. */
  readonly extract: (holds: (waiting: DelayedRecord) => boolean) => readonly DelayedRecord[];
  /** Resolves when the records are acknowledged. If they were in flight, they then count as processed. */
  readonly send: (due: readonly Due[], isInFlight: boolean) => Promise<void>;
  /** Resolves when no send is in progress. */
  readonly sent: () => Promise<void>;
  /** Called with records that have left the partition without being taken. */
  readonly left: (waiting: readonly DelayedRecord[]) => void;
}

export interface EarlyReleaseDeps {
  readonly kafka: Pick<Kafka, "read" | "admin">;
  readonly producer: Pick<Producer, "send">;
  readonly clock: Clock;
  readonly operatorActions: OperatorActions;
  /** The topic `operator-actions`. */
  readonly operations: string;
  readonly partitions: () => readonly ReleasedPartition[];
  /** The offset below which all records are processed; null if unknown. */
  readonly position: (topic: string, partition: number) => number | null;
  readonly read: (delay: string, record: IncomingRecord) => DelayedRecord;
  readonly lookup: TopicLookup;
}

export interface RunningEarlyReleases extends AsyncDisposable {
  readonly healthProblems: () => readonly string[];
}

/** Starts immediately. */
export function startEarlyReleases(deps: EarlyReleaseDeps): RunningEarlyReleases {
  const { clock, operatorActions } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let healthProblem: string | null = null;
  let waking = new AbortController();
  const stopListening = operatorActions.onChange(() => waking.abort());
  const round = async (): Promise<boolean> => {
    let isMore = false;
    for (const owned of deps.partitions()) {
      for (const earlyRelease of owned.ahead.pending(clock.nowMs())) {
        if (owned.isOver()) break;
        const isDone = await step(deps, owned, earlyRelease, signal);
        isMore = true;
        await clock.sleep(isDone ? REST_MS : LOOK_AGAIN_MS, signal);
      }
    }
    return isMore;
  };
  const live = async () => {
    for (;;) {
      waking = new AbortController();
      const isMore = await round();
      healthProblem = null;
      if (isMore) continue;
      const woken = AbortSignal.any([signal, waking.signal]);
      await clock.sleep(LOOK_EVERY_MS, woken).catch(() => signal.throwIfAborted());
    }
  };
  const keep = async () => {
    while (!signal.aborted) {
      try {
        await live();
      } catch (thrown) {
        if (signal.aborted) return;
        healthProblem = `deliveries cannot be retried or canceled at the moment: ${asError(thrown).message}`;
        await clock.sleep(TRY_AGAIN_MS, signal).catch(() => undefined);
      }
    }
  };
  const ended = keep();
  return {
    healthProblems: () => (healthProblem === null ? [] : [healthProblem]),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      stopListening();
      await ended;
    },
  };
}

/** Returns false if the release has to wait. */
async function step(
  deps: EarlyReleaseDeps,
  owned: ReleasedPartition,
  earlyRelease: EarlyRelease,
  signal: AbortSignal,
): Promise<boolean> {
  const { ahead } = owned;
  const end = ahead.endOf(earlyRelease) ?? (await endNow(deps, owned));
  ahead.setEnd(earlyRelease, end);
  const position = deps.position(owned.topic, owned.partition);
  // Records beyond the position may have been processed by another owner. Only the consumer has the list of these
  // records, so the step waits for the first record that the consumer passes on.
  const isFresh = deps.clock.nowMs() - owned.beganAtMs < FIRST_RECORDS_MS;
  const isWaiting = owned.takenTo() === 0 && position !== null && position < end && isFresh;
  if (position === null || isWaiting) return false;
  const from = Math.max(ahead.through(earlyRelease), owned.takenTo(), position);
  const part = await readPart(deps, owned, { from, to: end }, signal);
  const isOf = (waiting: DelayedRecord) =>
    waiting.kind === "waiting" &&
    waiting.record.offset < end &&
    isReleasedBy(earlyRelease, releasable(waiting)) &&
    ahead.leaving(waiting) === null;
  const wanted = part.waiting.filter(isOf);
  await renewPlaces(deps, [...wanted, ...owned.inFlight().filter(isOf)], signal);
  if (!(await owned.isOurs()) || owned.isOver()) return true;
  const isUncertain = (waiting: DelayedRecord) =>
    needsLookup(waiting, deps.lookup, deps.clock.nowMs());
  // Some of the records were taken meanwhile. The next step checks all records again.
  if ([...wanted, ...owned.inFlight().filter(isOf)].some(isUncertain)) return false;
  await write(deps, owned, earlyRelease, { ...part, wanted, isOf });
  return true;
}

interface ReleasePart {
  readonly waiting: readonly DelayedRecord[];
  /** The offset after the last record that was read. */
  readonly behind: number;
}

/**
 * Carries out steps 2 and 3. Runs synchronously until the writes start, so that the records are already claimed if
 * the consumer takes them later.
 */
async function write(
  { producer, clock, operations, lookup }: EarlyReleaseDeps,
  owned: ReleasedPartition,
  earlyRelease: EarlyRelease,
  {
    wanted,
    behind,
    isOf,
  }: ReleasePart & {
    readonly wanted: readonly DelayedRecord[];
    readonly isOf: (waiting: DelayedRecord) => boolean;
  },
): Promise<void> {
  const { ahead } = owned;
  const inFlight = owned.extract(isOf);
  const takenTo = owned.takenTo();
  // A record that was taken after it had been read ahead is in flight, or is already being written.
  const unread = wanted.filter(({ record }) => record.offset >= takenTo);
  const dueOf = (waiting: DelayedRecord): Due => ({
    waiting,
    verdict: verdictOf(earlyRelease, waiting),
  });
  const verdictOf = (by: EarlyRelease, waiting: DelayedRecord): Due["verdict"] => {
    if (by.kind === "cancel") {
      return { kind: "dead-letter", reason: "cancelled", error: cancelledText(by) };
    }
    const verdict = judgeNow(waiting, lookup);
    return verdict.kind === "return" ? { ...verdict, dueAtMs: clock.nowMs() } : verdict;
  };
  const offsets = unread.map(({ record }) => record.offset);
  const written = owned.send(unread.map(dueOf), false);
  ahead.claim(offsets, written);
  owned.left(unread);
  await Promise.all([written, owned.send(inFlight.map(dueOf), true)]);
  await owned.sent();
  ahead.advance(earlyRelease, behind, offsets, unread.length + inFlight.length > 0);
  if (!ahead.isUnsaved(earlyRelease)) return;
  const { id } = earlyRelease;
  const { delay, partition } = owned;
  const done = { id, delay, partition, through: behind, topicId: owned.topicId() };
  const record = releasedRecord(operations, done);
  const [refused] = await producer.send([record]);
  if (refused !== undefined) throw new Error(`cannot write to ${operations}: ${refused.error}`);
  ahead.saved(earlyRelease);
}

async function endNow(
  { kafka }: EarlyReleaseDeps,
  { topic, partition }: ReleasedPartition,
): Promise<number> {
  const offsets = await kafka.admin.offsets(topic);
  return offsets.find((each) => each.partition === partition)?.end ?? 0;
}

async function readPart(
  { kafka, read }: EarlyReleaseDeps,
  { topic, partition, delay }: ReleasedPartition,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<ReleasePart> {
  if (from >= to) return { waiting: [], behind: to };
  const range = { topic, partition, from, to, maxBytes: STEP_BYTES, signal };
  for await (const records of kafka.read(range)) {
    const behind = (records.at(-1)?.offset ?? from - 1) + 1;
    return { waiting: records.map((record) => read(delay, record)), behind };
  }
  signal.throwIfAborted();
  return { waiting: [], behind: to };
}

/** Waits until the topics to which the records are returned are known. */
async function renewPlaces(
  { clock, lookup }: EarlyReleaseDeps,
  wanted: readonly DelayedRecord[],
  signal: AbortSignal,
): Promise<void> {
  while (wanted.some((waiting) => needsLookup(waiting, lookup, clock.nowMs()))) {
    await lookup.renew(signal);
  }
}
