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
 * In all partitions together, only one step runs at a time, so that due records are not delayed. What is slow or
 * fails in one place does not hold up the other partitions and releases, and `/readyz` shows it:
 *
 *   a step that                                   then
 *   fails, or cannot get the log end offsets      it is tried again after 10 s
 *   has not ended after 2 s                       the next one starts, but in this partition only when this one
 *                                                 has read its part, and for this release only when it has ended
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
const TRY_AGAIN_MS = 10_000;
const STEP_WAIT_MS = 2_000;
/** Maximum number of steps that have not ended, each with up to `STEP_BYTES` of records in memory. */
const STEPS_MAX = 100;
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
  /** Resolves when the sends that contain records for which `holds` returns true are acknowledged. */
  readonly sent: (holds: (waiting: DelayedRecord) => boolean) => Promise<void>;
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
  const attempts = new Attempts(clock);
  let waking = new AbortController();
  const stopListening = operatorActions.onChange(() => waking.abort());
  const carryOut = async (owned: ReleasedPartition, earlyRelease: EarlyRelease) => {
    const begun = await attempts.run(placeOf(owned), () => step(deps, owned, earlyRelease, signal));
    if (begun === null) return LOOK_AGAIN_MS;
    if (begun !== undefined) await attempts.run(nameOf(owned, earlyRelease), () => begun.written);
    return REST_MS;
  };
  const carrying = new Set<Promise<unknown>>();
  const round = async (): Promise<boolean> => {
    let isMore = false;
    const wanted = new Set<string>();
    for (const [topic, partitions] of Map.groupBy(deps.partitions(), (owned) => owned.topic)) {
      wanted.add(topic);
      if (attempts.mayStart(topic))
        await soon(
          clock,
          attempts.run(topic, () => findEnds(deps, partitions)),
        );
      for (const owned of partitions) {
        for (const earlyRelease of owned.ahead.pending(clock.nowMs())) {
          const names = [placeOf(owned), nameOf(owned, earlyRelease)];
          for (const name of names) wanted.add(name);
          const hasEnd = owned.ahead.endOf(earlyRelease) !== null;
          if (owned.isOver() || !hasEnd || !names.every((name) => attempts.mayStart(name)))
            continue;
          isMore = true;
          const carried = carryOut(owned, earlyRelease);
          carrying.add(carried);
          void carried.then(() => carrying.delete(carried));
          const restMs = await soon(clock, carried);
          await clock.sleep(restMs ?? REST_MS, signal);
        }
      }
    }
    attempts.keep(wanted);
    return isMore;
  };
  const live = async () => {
    for (;;) {
      waking = new AbortController();
      if (await round()) continue;
      const woken = AbortSignal.any([signal, waking.signal]);
      await clock.sleep(LOOK_EVERY_MS, woken).catch(() => signal.throwIfAborted());
    }
  };
  const ended = live().catch((thrown: unknown) => {
    if (!signal.aborted) throw thrown;
  });
  return {
    healthProblems: () => attempts.healthProblems(),
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      stopListening();
      await ended;
      // What has been written would be written again by the next owner, if the progress were not.
      await soon(clock, Promise.all(carrying));
    },
  };
}

function placeOf({ topic, partition }: ReleasedPartition): string {
  return `partition ${partition} of ${topic}`;
}

function nameOf(owned: ReleasedPartition, { kind, destination, id }: EarlyRelease): string {
  return `${placeOf(owned)}, ${kind} of ${destination} (${id})`;
}

/** What is in progress or has failed: the query for a topic's ends, a partition's step, or the writes of one release in it. */
class Attempts {
  readonly #clock: Clock;
  /** The error is null while the attempt is in progress. */
  readonly #all = new Map<string, { readonly sinceMs: number; readonly error: string | null }>();
  #running = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  mayStart(name: string): boolean {
    const last = this.#all.get(name);
    const hasFailed = last !== undefined && last.error !== null;
    const isFree = last === undefined || (hasFailed && this.#ageMs(last) >= TRY_AGAIN_MS);
    return isFree && this.#running < STEPS_MAX;
  }

  /** Never rejects; returns undefined if it fails. */
  async run<Result>(name: string, act: () => Promise<Result>): Promise<Result | undefined> {
    this.#all.set(name, { sinceMs: this.#clock.nowMs(), error: null });
    this.#running += 1;
    try {
      const result = await act();
      this.#all.delete(name);
      return result;
    } catch (thrown) {
      this.#all.set(name, { sinceMs: this.#clock.nowMs(), error: asError(thrown).message });
      return undefined;
    } finally {
      this.#running -= 1;
    }
  }

  /** Forgets failures of what is not going to be tried again. */
  keep(wanted: ReadonlySet<string>): void {
    for (const [name, { error }] of this.#all) {
      if (error !== null && !wanted.has(name)) this.#all.delete(name);
    }
  }

  healthProblems(): readonly string[] {
    return [...this.#all].flatMap(([name, last]) => {
      if (last.error === null && this.#ageMs(last) < TRY_AGAIN_MS) return [];
      const error = last.error ?? "no response from Kafka yet, or a topic is not writable";
      return [`deliveries cannot be retried or canceled at the moment in ${name}: ${error}`];
    });
  }

  #ageMs({ sinceMs }: { readonly sinceMs: number }): number {
    return Math.abs(this.#clock.nowMs() - sinceMs);
  }
}

/** Resolves with undefined if this takes longer than `STEP_WAIT_MS`. */
async function soon<Result>(clock: Clock, act: Promise<Result>): Promise<Result | undefined> {
  const done = new AbortController();
  const late = clock.sleep(STEP_WAIT_MS, done.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([act, late]);
  } finally {
    done.abort();
  }
}

/** Fetches the log end offsets for the releases that need them. */
async function findEnds(
  { kafka, clock }: EarlyReleaseDeps,
  partitions: readonly ReleasedPartition[],
): Promise<void> {
  const lacking = partitions.flatMap(({ topic, partition, ahead }) => {
    const pending = ahead.pending(clock.nowMs()).filter((each) => ahead.endOf(each) === null);
    return pending.map((earlyRelease) => ({ topic, partition, ahead, earlyRelease }));
  });
  const [first] = lacking;
  if (first === undefined) return;
  const offsets = await kafka.admin.offsets(first.topic);
  for (const { partition, ahead, earlyRelease } of lacking) {
    const end = offsets.find((each) => each.partition === partition)?.end ?? 0;
    ahead.setEnd(earlyRelease, end);
  }
}

/** Returns null if the release has to wait, and resolves when the writes have started. */
async function step(
  deps: EarlyReleaseDeps,
  owned: ReleasedPartition,
  earlyRelease: EarlyRelease,
  signal: AbortSignal,
): Promise<{ readonly written: Promise<void> } | null> {
  const { ahead } = owned;
  const end = ahead.endOf(earlyRelease) ?? 0;
  const position = deps.position(owned.topic, owned.partition);
  // Records beyond the position may have been processed by another owner. Only the consumer has the list of these
  // records, so the step waits for the first record that the consumer passes on.
  const isFresh = deps.clock.nowMs() - owned.beganAtMs < FIRST_RECORDS_MS;
  const isWaiting = owned.takenTo() === 0 && position !== null && position < end && isFresh;
  if (position === null || isWaiting) return null;
  const from = Math.max(ahead.through(earlyRelease), owned.takenTo(), position);
  const part = await readPart(deps, owned, { from, to: end }, signal);
  const isReleased = (waiting: DelayedRecord) =>
    waiting.kind === "waiting" &&
    waiting.record.offset < end &&
    isReleasedBy(earlyRelease, releasable(waiting));
  const isOf = (waiting: DelayedRecord) => isReleased(waiting) && ahead.leaving(waiting) === null;
  const wanted = part.waiting.filter(isOf);
  await renewPlaces(deps, [...wanted, ...owned.inFlight().filter(isOf)], signal);
  if (!(await owned.isOurs()) || owned.isOver()) return { written: Promise.resolve() };
  const isUncertain = (waiting: DelayedRecord) =>
    needsLookup(waiting, deps.lookup, deps.clock.nowMs());
  // Some of the records were taken meanwhile. The next step checks all records again.
  if ([...wanted, ...owned.inFlight().filter(isOf)].some(isUncertain)) return null;
  const { behind } = part;
  return { written: write(deps, owned, earlyRelease, { behind, wanted, isReleased, isOf }) };
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
    behind,
    wanted,
    isReleased,
    isOf,
  }: Pick<ReleasePart, "behind"> & {
    readonly wanted: readonly DelayedRecord[];
    readonly isReleased: (waiting: DelayedRecord) => boolean;
    /** True if it is released, and has not left yet. */
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
  await owned.sent(isReleased);
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
