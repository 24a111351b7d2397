/**
 * Dead-letters records that were read only in part because they exceed the maximum size of their topic
 * (docs/topics.md#limits). These records become dead letters with the reason `too-large`, and are never passed to the
 * stage.
 *
 *   step                           if the process crashes after it
 *   1  the dead letter is written  the record is read again, and a second dead letter is written
 *   2  the record is processed     the same, until the consumer commits
 *
 * A drain waits for the dead letters that are being written.
 */

import { InFlightCount } from "../../base/runtime/in-flight-set.ts";
import { countDeadLetters } from "../../base/telemetry/count-dead-letters.ts";
import { cutWords } from "../../domain/cut.ts";
import type { IncomingRecord, RecordHeaders } from "../../domain/record.ts";
import type { StageName } from "../../domain/stages.ts";
import type { PartitionHandler } from "../../kafka/port.ts";
import type { BookedPartition, OnBooked } from "../ledger/stage-ledger.ts";
import {
  deliveryIdentity,
  placeIdentity,
  type Tallies,
  talliedDelivery,
} from "../ledger/tallies.ts";
import { type DeadLetterWriter, deadLetterWriter } from "./dead-letter-writer.ts";
import type { StageDeps } from "./running-stage.ts";

/**
 * @param headersOf returns the headers of a record that its dead letter keeps; by default, those that producers sent.
 * @returns a wrapper of a consumer's partition handlers; its `fail` is called if a dead letter cannot be written, and its
 *   `passing` are the consumer's `passingTopics`.
 */
export function deadLetterOversized(
  deps: Pick<StageDeps, "producer" | "clock" | "metrics" | "log">,
  stage: StageName,
  deadLetterTopic: string,
  headersOf?: (record: IncomingRecord) => RecordHeaders,
): (
  onAssigned: OnBooked,
  fail: (thrown: unknown) => void,
  passing?: readonly string[],
) => OnBooked {
  // Created at the first such record, because few consumers get one.
  let writer: DeadLetterWriter | undefined;
  let tell: ReturnType<typeof countDeadLetters> | undefined;
  const giveUp = async (
    records: readonly IncomingRecord[],
    partition: BookedPartition,
    passing: readonly string[],
  ) => {
    writer ??= deadLetterWriter(deps, stage, deadLetterTopic, headersOf);
    tell ??= countDeadLetters(deps);
    const deadLettered = records.map((record) => ({
      record,
      reason: "too-large" as const,
      error: wordsOf(record),
    }));
    tell((await writer.write([], deadLettered)).deadLetters);
    deps.metrics.recordsIn.bind({ stage }).inc(records.length);
    for (const record of records) {
      if (partition.book !== undefined) tally(partition.book, record, passing);
      partition.finish(record.offset);
    }
  };
  return (onAssigned, fail, passing = []) => {
    const giveUpOrFail: GiveUp = (...given) => giveUp(...given, passing).catch(fail);
    return (assigned) => new WithoutOversized(onAssigned(assigned), assigned, giveUpOrFail);
  };
}

/** A record without the headers of a delivery is counted like a call that cannot be used (`route/tally-routed.ts`). */
function tally(book: Tallies, record: IncomingRecord, passing: readonly string[]): void {
  const delivery = talliedDelivery(record);
  const { destination } = delivery;
  const isDelivery = destination !== "";
  const identity = isDelivery
    ? deliveryIdentity(delivery)
    : placeIdentity(record, record.timestampMs);
  book.add(destination, passing.includes(record.topic) ? "in:retry" : "in", identity);
  book.add(destination, "dead:too-large", identity);
}

type GiveUp = (records: readonly IncomingRecord[], partition: BookedPartition) => Promise<void>;

class WithoutOversized implements PartitionHandler {
  readonly admit?: NonNullable<PartitionHandler["admit"]>;
  readonly #handler: PartitionHandler;
  readonly #partition: BookedPartition;
  readonly #giveUp: GiveUp;
  /** Undefined if there was no such record. */
  #writes: InFlightCount | undefined;

  constructor(handler: PartitionHandler, partition: BookedPartition, giveUp: GiveUp) {
    this.#handler = handler;
    this.#partition = partition;
    this.#giveUp = giveUp;
    const { admit } = handler;
    if (admit === undefined) return;
    this.admit = (record, ahead) => (isOmitted(record) ? record : admit(record, ahead));
  }

  get followers(): number {
    return this.#handler.followers ?? 0;
  }

  take(records: readonly IncomingRecord[]): void {
    if (!records.some(isOmitted)) {
      this.#handler.take(records);
      return;
    }
    this.#writes ??= new InFlightCount();
    this.#writes.add(this.#giveUp(records.filter(isOmitted), this.#partition));
    const others = records.filter((record) => !isOmitted(record));
    if (others.length > 0) this.#handler.take(others);
  }

  async drain(): Promise<void> {
    await Promise.all([this.#handler.drain(), this.#writes?.ended()]);
  }
}

function isOmitted({ omitted }: IncomingRecord): boolean {
  return omitted !== undefined;
}

function wordsOf({ topic, omitted }: IncomingRecord): string {
  if (omitted === undefined) return "";
  const { bytes, cut } = omitted;
  const left = cutWords(cut);
  return `inflates to ${bytes} bytes, more than ${topic} allows${left === "" ? "" : `; it was read without ${left}`}`;
}
