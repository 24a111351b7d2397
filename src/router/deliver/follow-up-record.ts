/**
 * Creates and writes the records that replace a delivery which was not accepted: a record in a delay topic or
 * a dead letter. The value of the delivery is copied byte for byte.
 *
 *   case                                   record
 *   scheduled for retry                    in the delay topic of its retry delay, with the delivery's key
 *   dead-lettered                          a dead letter with the delivery's current headers
 *   the record is not a valid delivery     a dead letter with its headers unchanged
 *   brokers reject one of these as too     a dead letter with the reason too-large
 *   large
 *   brokers reject that one too            as much of it as fits (`domain/cut.ts`): headers before the value; the
 *                                          original record can still be read from its topic
 *   brokers reject even that               nothing
 */

import { type DeadLetterReason, deadLetter as deadLetterRecord } from "../../domain/dead-letter.ts";
import { short, tooLargeFor } from "../../domain/dead-letter-records.ts";
import {
  type CallNames,
  callNames,
  deliveryHeaders,
  foreignHeaders,
} from "../../domain/delivery.ts";
import {
  type IncomingRecord,
  type OutgoingRecord,
  placeOf,
  type RecordContent,
  type RecordPlace,
  recordFor,
} from "../../domain/record.ts";
import { untilTickMs } from "../../domain/timer-tick.ts";
import type { TopicNames } from "../../domain/topics.ts";
import { type Producer, packRecord } from "../../kafka/port.ts";
import type { Outcome } from "../ledger/tallies.ts";
import { ownPlace, withoutPlace } from "../order/facts.ts";
import type { Output, Waited } from "./decide.ts";

/** Holds no reference to the replaced record, so that the replaced record does not stay in memory. */
export type Replacement =
  | {
      readonly kind: "retry";
      readonly dueAtMs: number;
      readonly place: RecordPlace;
      readonly outgoing: OutgoingRecord;
    }
  | {
      readonly kind: "dead-letter";
      readonly reason: DeadLetterReason;
      readonly error: string;
      readonly place: RecordPlace;
      readonly call: CallNames;
      readonly outgoing: OutgoingRecord;
      /** The record before it was cut; absent if it was not cut. */
      readonly whole?: RecordContent;
      readonly waited?: Waited | undefined;
    };

export type DeadLetterTopics = Pick<TopicNames, "retries" | "delays" | "deadLetters">;

export function replacement(
  output: Output,
  record: IncomingRecord,
  topics: DeadLetterTopics,
  nowMs: number,
): Replacement {
  if (output.kind === "dead-letter") {
    const { reason, error, delivery, waited } = output;
    const headers = [...deliveryHeaders(delivery), ...ownPlace(record), ...foreignHeaders(record)];
    return deadLetter(record, reason, error, topics, nowMs, headers, waited);
  }
  const { delayMs, delivery } = output;
  const retry = recordFor(topics.delays(delayMs), record.key, record.value, [
    ...deliveryHeaders({ ...delivery, retryTopic: topics.retries(delivery.destination) }),
    ...ownPlace(record),
    ...foreignHeaders(record),
  ]);
  return { kind: "retry", dueAtMs: nowMs + delayMs, place: placeOf(record), outgoing: retry };
}

export function deadLetter(
  record: RecordPlace & RecordContent,
  reason: DeadLetterReason,
  error: string,
  topics: DeadLetterTopics,
  nowMs: number,
  headers = record.headers,
  waited?: Waited,
): Replacement {
  const cause = { stage: "deliver", reason, error, failedAtMs: nowMs } as const;
  const outgoing = deadLetterRecord(topics.deadLetters, record, cause, headers);
  const [place, call] = [placeOf(record), callNames(headers)];
  return { kind: "dead-letter", reason, error, place, call, outgoing, waited };
}

/** Replaces a record that the brokers rejected because of its size; null if nothing is left to cut. */
function smaller(
  refused: Replacement,
  error: string,
  topics: DeadLetterTopics,
  nowMs: number,
): Replacement | null {
  const { place, outgoing } = refused;
  const { key, value, headers } = outgoing;
  if (refused.kind === "retry") {
    const sentence = tooLargeFor(outgoing.topic, error);
    const whole = { ...place, key, value, headers: withoutPlace(headers) };
    return deadLetter(whole, "too-large", sentence, topics, nowMs);
  }
  const { reason, error: deadLetteredFor, whole = { key, value, headers } } = refused;
  const cause = { stage: "deliver", reason, error: deadLetteredFor, failedAtMs: nowMs } as const;
  const shorter = short(cause, place, whole, outgoing, topics.deadLetters);
  return shorter === null ? null : { ...refused, outgoing: shorter, whole };
}

/**
 * Writes the records that replace deliveries, and reports each that was written.
 *
 * @param fail called if nothing more can be written.
 */
export function followUpWriter(
  { producer, clock }: { readonly producer: Pick<Producer, "send">; readonly clock: SleepClock },
  topics: DeadLetterTopics,
  onWritten: (replacement: Replacement) => void,
  fail: (error: unknown) => void,
): FollowUpWriter {
  const write = async (replacements: readonly Gathered[]): Promise<void> => {
    const refused = await producer.send(replacements.map(({ outgoing }) => outgoing));
    const errors = new Map(refused.map(({ record, error }) => [record, error]));
    for (const each of replacements) {
      const error = errors.get(each.outgoing);
      if (error === undefined) {
        onWritten(each);
        continue;
      }
      const instead = smaller(each, error, topics, clock.nowMs());
      if (instead === null) {
        throw new Error(`Cannot write dead letters to the topic ${topics.deadLetters}: ${error}`);
      }
      each.instead = "dead:too-large";
      await write([{ ...instead, instead: null }]);
    }
  };
  const gathered = new GatheredWrites<Gathered>(clock, (replacements) =>
    write(replacements).catch((error: unknown) => {
      fail(error);
      throw error;
    }),
  );
  return {
    write: (replacements, ended) => {
      const own = replacements.map(packed);
      gathered.add(own, (isWritten) => ended(isWritten ? own.map(outcomeOf) : null));
    },
  };
}

/** A replacement that waits until it is written. */
type Gathered = Replacement & { instead: Outcome | null };

function outcomeOf(gathered: Gathered): Outcome {
  if (gathered.instead !== null) return gathered.instead;
  return gathered.kind === "retry" ? "retry" : `dead:${gathered.reason}`;
}

export interface FollowUpWriter {
  /**
   * Calls back asynchronously when all records are acknowledged, with what became of the delivery; with null when an
   * acknowledgment has become impossible.
   */
  write(
    replacements: readonly Replacement[],
    ended: (outcomes: readonly Outcome[] | null) => void,
  ): void;
}

/**
 * Copies the replacement without references to other objects. The copy waits until it is written, and must
 * not keep anything else in memory during that time.
 */
function packed(replacement: Replacement): Gathered {
  return { ...replacement, outgoing: packRecord(replacement.outgoing), instead: null };
}

/** Called when all records are written, or can no longer be written. */
type Ended = (isWritten: boolean) => void;

/**
 * Collects the records that replace deliveries, so that records written at about the same time share a
 * request to Kafka. A short wait does not matter, because retries wait for seconds anyway, and a broken
 * endpoint causes up to 1,000 retries per second.
 *
 *   a write that arrives     what happens to it
 *   while none waits         waits for the next tick (`timer-tick.ts`), which all destinations share
 *   while others wait        is sent with them
 *
 * A delivery counts as processed only after its record was written. If the process crashes before that, the delivery is
 * attempted again.
 */
export class GatheredWrites<Item> {
  readonly #clock: SleepClock;
  readonly #write: (items: readonly Item[]) => Promise<void>;
  #gathered: Item[] = [];
  // A promise for each record would live as long as the write, and the garbage collector would have to copy
  // it.
  #waiting: Ended[] = [];

  /**
   * @param clock used to sleep until the tick. If the sleep is aborted, the collected records are sent
   *   immediately.
   * @param write rejects if nothing more can be written.
   */
  constructor(clock: SleepClock, write: (items: readonly Item[]) => Promise<void>) {
    this.#clock = clock;
    this.#write = write;
  }

  add(items: readonly Item[], ended: Ended): void {
    this.#gathered.push(...items);
    this.#waiting.push(ended);
    if (this.#waiting.length > 1) return;
    const go = () => this.#go();
    this.#clock.sleep(untilTickMs(this.#clock.nowMs(), 1)).then(go, go);
  }

  #go(): void {
    const items = this.#gathered;
    const sharing = this.#waiting;
    this.#gathered = [];
    this.#waiting = [];
    const tell = (isWritten: boolean) => {
      for (const ended of sharing) ended(isWritten);
    };
    void this.#write(items).then(
      () => tell(true),
      () => tell(false),
    );
  }
}

interface SleepClock {
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}
