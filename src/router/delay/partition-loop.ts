/**
 * Runs the loop of one partition of a delay topic: waits until the first record is due, sends all due records, and
 * repeats.
 *
 *   a record                                 is
 *   taken, but already released early        processed when it has been written to its topic
 *   taken                                    queued
 *   due                                      sent, and processed when that is acknowledged
 *   due, and was canceled                    sent as a dead letter, unless its user is suppressed
 *   due, and released by another owner       processed
 *   released early                           removed from the queue and sent (`early-release.ts`)
 */

import type { Clock } from "../../base/runtime/clock.ts";
import { InFlightCount, type InFlightItem, InFlightSet } from "../../base/runtime/in-flight-set.ts";
import type { IncomingRecord } from "../../domain/record.ts";
import { untilTickMs } from "../../domain/timer-tick.ts";
import type { PartitionHandler } from "../../kafka/port.ts";
import { cancelledText, cancelOf } from "../control/early-release.ts";
import type { OperatorActions } from "../control/operator-action-state.ts";
import type { BookedPartition } from "../ledger/stage-ledger.ts";
import { deliveryIdentity, type Outcome, talliedDelivery } from "../ledger/tallies.ts";
import type { Fail } from "../stage/consuming-stage.ts";
import { serialRunner } from "../stage/serial-runner.ts";
import { type DelayedRecord, type Due, takeDue } from "./due.ts";
import type { ReleasedPartition } from "./early-release.ts";
import type { OwnedCounts } from "./owned-counts.ts";
import { ReleasedAhead, releasable } from "./released-ahead.ts";
import type { TopicLookup } from "./topic-lookup.ts";

/** Maximum number of records in one send. */
const RETURN_RECORDS_MAX = 500;
/**
 * Maximum length of a single sleep. After each sleep the time is checked, because the clock may have been set
 * forward.
 */
const SLEEP_MAX_MS = 10_000;

export interface Waiters {
  readonly delay: string;
  readonly delayMs: number;
  readonly operatorActions: OperatorActions;
  /** All assigned partitions, for early releases. */
  readonly released: Set<ReleasedPartition>;
  readonly clock: Clock;
  readonly read: (record: IncomingRecord) => DelayedRecord;
  readonly lookup: TopicLookup;
  readonly counts: OwnedCounts;
  /** Writes due records. Resolves with the outcome of each of them when all are acknowledged. */
  readonly write: (due: readonly Due[]) => Promise<readonly Outcome[]>;
  readonly fail: Fail;
}

/** Records that are being returned to their topics. */
interface Sending extends InFlightItem {
  readonly waiting: readonly DelayedRecord[];
  readonly isInFlight: boolean;
  readonly sent: Promise<void>;
}

export function waitOn(partition: BookedPartition, work: Waiters): PartitionHandler {
  const waiting = new WaitingPartition(partition, work);
  return { take: (records) => waiting.take(records), drain: () => waiting.drain() };
}

class WaitingPartition {
  readonly #partition: BookedPartition;
  readonly #work: Waiters;
  readonly #draining = new AbortController();
  readonly #sends = new InFlightCount();
  readonly #sending = new InFlightSet<Sending>();
  readonly #ahead: ReleasedAhead;
  readonly #count;
  readonly #returning;
  /** Records that wait, in offset order: added by `take`; removed when they are due, released early or drained. */
  #queue: DelayedRecord[] = [];
  /** The offset after the last record that was taken. */
  #takenTo = 0;

  constructor(partition: BookedPartition, work: Waiters) {
    this.#partition = partition;
    this.#work = work;
    const { delay, delayMs, operatorActions, counts, clock } = work;
    const place = { delay, topic: partition.topic, partition: partition.partition };
    const topicId = () => partition.topicId();
    const ahead = new ReleasedAhead(operatorActions, { ...place, delayMs, topicId });
    this.#ahead = ahead;
    const isOver = () => this.#draining.signal.aborted;
    this.#count = counts.begin({
      ...place,
      inFlight: () => [
        ...this.#sending.all().flatMap(({ waiting, isInFlight }) => (isInFlight ? waiting : [])),
        ...this.#queue,
      ],
      isGone: (waiting) => ahead.isGone(waiting),
      isOver,
    });
    this.#returning = serialRunner(
      () => (this.#queue.length === 0 || isOver() ? null : this.#step()),
      (thrown) => {
        if (!isOver()) work.fail(thrown);
      },
    );
    work.released.add({
      ...place,
      topicId,
      ahead,
      isOver,
      beganAtMs: clock.nowMs(),
      isOurs: () => partition.isOurs(),
      takenTo: () => this.#takenTo,
      inFlight: () => this.#queue,
      extract: (holds) => this.#extract(holds),
      send: (due, isInFlight) => this.#send(due, isInFlight),
      sent: async (holds) => {
        const sends = this.#sending.all().filter(({ waiting }) => waiting.some(holds));
        await Promise.all(sends.map(({ sent }) => sent));
      },
      left: (waiting) => this.#count.left(waiting),
    });
  }

  take(records: readonly IncomingRecord[]): void {
    const taken = records.map(this.#work.read);
    this.#takenTo = (records.at(-1)?.offset ?? this.#takenTo - 1) + 1;
    const here = taken.filter((waiting) => !this.#hasLeft(waiting));
    this.#queue.push(...here);
    this.#count.took(here);
    this.#count.passed(this.#takenTo);
    this.#returning.wake();
  }

  async drain(): Promise<void> {
    this.#draining.abort();
    this.#queue = [];
    await this.#sends.ended();
  }

  async #step(): Promise<void> {
    const { clock, lookup } = this.#work;
    const { signal } = this.#draining;
    // After a long sleep, for example because the process was suspended, another owner may already have returned the
    // record.
    if (!(await this.#partition.isOurs())) this.#draining.abort();
    if (signal.aborted) return;
    const next = takeDue(this.#queue, lookup, clock.nowMs(), RETURN_RECORDS_MAX);
    if (next.kind === "due") this.#sendDue(next.due);
    else if (next.kind === "lookup") await lookup.renew(signal);
    else if (next.kind === "wait") await sleepUntilTick(clock, next.waitMs, signal);
  }

  #sendDue(due: readonly Due[]): void {
    const gone = due.filter(({ waiting }) => this.#ahead.isGone(waiting));
    for (const { waiting } of gone) this.#finish(waiting);
    const here = gone.length === 0 ? due : due.filter((each) => !gone.includes(each));
    // `#send` reports its own failures.
    this.#send(cancelled(here, this.#work.operatorActions), true).catch(() => undefined);
  }

  /** Sends records. When they are acknowledged, marks those in flight as processed. */
  #send(due: readonly Due[], isInFlight: boolean): Promise<void> {
    if (due.length === 0) return Promise.resolve();
    const sent = this.#work.write(due).then((outcomes) => {
      for (const [at, { waiting }] of due.entries()) {
        const outcome = outcomes[at];
        if (isInFlight) this.#finish(waiting, outcome);
        else if (outcome !== undefined) this.#tally(waiting, [outcome]);
      }
      this.#sending.delete(own);
    });
    const own = { place: -1, waiting: due.map(({ waiting }) => waiting), isInFlight, sent };
    this.#sending.add(own);
    this.#sends.add(sent.catch(this.#work.fail));
    return sent;
  }

  /**
   * If the record was released early, marks it as processed as soon as its write has been acknowledged, and returns
   * true.
   */
  #hasLeft(waiting: DelayedRecord): boolean {
    const leaving = this.#ahead.leaving(waiting);
    if (leaving === null) return false;
    this.#sends.add(leaving.then(() => this.#finish(waiting)).catch(this.#work.fail));
    return true;
  }

  /** @param outcome absent if it was counted earlier, when the record was released early. */
  #finish(waiting: DelayedRecord, outcome?: Outcome): void {
    this.#tally(waiting, outcome === undefined ? ["in"] : ["in", outcome]);
    this.#partition.finish(waiting.record.offset);
  }

  #tally({ record }: DelayedRecord, outcomes: readonly Outcome[]): void {
    const { book } = this.#partition;
    if (book === undefined) return;
    const delivery = talliedDelivery(record);
    const identity = deliveryIdentity(delivery);
    for (const outcome of outcomes) book.add(delivery.destination, outcome, identity);
  }

  #extract(holds: (waiting: DelayedRecord) => boolean): readonly DelayedRecord[] {
    const found = this.#queue.filter(holds);
    if (found.length > 0) {
      const taken = new Set(found);
      this.#queue = this.#queue.filter((waiting) => !taken.has(waiting));
    }
    return found;
  }
}

/** Turns due records that were canceled into dead letters. */
function cancelled(due: readonly Due[], operatorActions: OperatorActions): readonly Due[] {
  if (operatorActions.earlyReleases().length === 0) return due;
  return due.map((each) => {
    const { waiting } = each;
    if (waiting.kind === "invalid") return each;
    const cancel = cancelOf(
      operatorActions.earlyReleasesOf(waiting.destination),
      releasable(waiting),
    );
    if (cancel === null) return each;
    const error = cancelledText(cancel);
    return { waiting, verdict: { kind: "dead-letter", reason: "cancelled", error } };
  });
}

/**
 * Sleeps until a tick, so that records of several partitions that are due in the same tick are returned in one send.
 */
function sleepUntilTick(clock: Clock, waitMs: number, signal: AbortSignal): Promise<void> {
  return clock.sleep(untilTickMs(clock.nowMs(), Math.min(waitMs, SLEEP_MAX_MS)), signal);
}
