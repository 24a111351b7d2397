/** The decoded records of one partition in a response, as a member gets them. */

import type { CorruptBatch } from "../../domain/corrupt-batch.ts";
import type { FetchedBatch, FetchedRecord } from "../membership.ts";
import { corruptInPlaceOf } from "../wire/corrupt-batch.ts";
import { endOfBatches } from "../wire/decode-records.ts";
import type { FetchedSet } from "../wire/fetch-response.ts";
import {
  type OldMessage,
  recordOf,
  type FetchedRecord as WireRecord,
} from "../wire/fetched-record.ts";
import { withoutAborted } from "../wire/without-aborted.ts";

type Message = (WireRecord | OldMessage) & { readonly isControlRecord?: boolean };

export class DecodedBatch implements FetchedBatch {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly end: number;
  readonly last: number | null;
  readonly corrupt: CorruptBatch | null;
  readonly #messages: readonly Message[];

  /** @param decoded the records, as `decodePartition` returns them. */
  constructor(set: FetchedSet, from: number, decoded: readonly unknown[]) {
    const messages = decoded as readonly Message[];
    this.topic = set.topic;
    this.partition = set.partition;
    this.from = from;
    this.corrupt = corruptInPlaceOf(decoded);
    const behind = this.corrupt?.behind ?? behindOf(messages, from);
    this.last = behind === null ? null : behind - 1;
    // Records that are appended while the broker reads arrive with the log end offset from before.
    this.end = Math.max(set.end, behind ?? 0);
    this.#messages = visible(messages, set, from);
  }

  get count(): number {
    return this.#messages.length;
  }

  recordAt(index: number): FetchedRecord {
    const message = this.#messages[index];
    if (message === undefined) throw new RangeError(`a batch of ${this.count} has no ${index}`);
    return recordOf(this.topic, this.partition, message);
  }
}

/** The offset after everything that was read; null if nothing was. */
function behindOf(messages: readonly Message[], from: number): number | null {
  const last = messages.at(-1);
  const behind = endOfBatches(messages) ?? (last === undefined ? null : Number(last.offset) + 1);
  // Message sets of Kafka before 0.11 may end before the requested offset.
  return behind === null || behind <= from ? null : behind;
}

/** Removes control records, aborted transactions, and the records of a batch before the requested offset. */
function visible(messages: readonly Message[], set: FetchedSet, from: number): readonly Message[] {
  const [first] = messages;
  const isAll = first === undefined || Number(first.offset) >= from;
  const requested = isAll ? messages : messages.filter(({ offset }) => Number(offset) >= from);
  const kept = withoutAborted(requested, set.aborted);
  const hasControl = kept.some(({ isControlRecord }) => isControlRecord === true);
  return hasControl ? kept.filter(({ isControlRecord }) => isControlRecord !== true) : kept;
}
