/**
 * The records of the topic `ledger` (docs/topics.md#ledger): what a consumer of a stage processed before one of its
 * commits, and what became of it.
 *
 *   part      content
 *   key       the group, so that a group's records stay in order
 *   value     JSON:
 *   group     the consumer group
 *   process   identifies the process, from its start to its end
 *   number    the number of the record among those of the process. If the response of the brokers is lost, a record may
 *             exist twice
 *   read      for each partition, the processed ranges of offsets: `{"topic","id","partition","ranges":[[from,to],…]}`,
 *             where `to` is the offset after the range; `start` and `ours` in the first record of a tenure. Empty for a
 *             replay, whose input is not compared
 *   end       `true` in the last record of a tenure
 *   sums      a list of `[bin, destination, outcome, count, sum]`, the sum as 16 hexadecimal digits
 *
 * Offsets of one partition that are in the records of two processes were processed twice.
 */

import { isJsonObject, jsonObjectIn } from "../../domain/json.ts";
import { type OutgoingRecord, recordFor } from "../../domain/record.ts";
import type { OffsetRange, Processed } from "../../kafka/port.ts";
import { type Outcome, Tallies } from "./tallies.ts";

export interface LedgerRecord {
  readonly group: string;
  readonly process: string;
  readonly number: number;
  readonly read: readonly Processed[];
  /** True if the process no longer owns the partitions, or has ended the replay. */
  readonly isLast: boolean;
  readonly tallies: Tallies;
}

export function ledgerRecord(topic: string, record: LedgerRecord): OutgoingRecord {
  const { group, process, number, isLast, tallies } = record;
  const read = record.read.map(({ topic, topicId, partition, ranges, start }) => ({
    topic,
    ...(topicId === "" ? {} : { id: topicId }),
    partition,
    ranges,
    ...(start === undefined ? {} : { start: start.offset, ours: start.isOurs }),
  }));
  const sums: SumFields[] = [];
  tallies.each((bin, destination, outcome, { count, high, low }) => {
    sums.push([bin, destination, outcome, count, `${hex(high)}${hex(low)}`]);
  });
  const value = Buffer.from(
    JSON.stringify({ group, process, number, read, ...(isLast ? { end: true } : {}), sums }),
  );
  return recordFor(topic, Buffer.from(group), value);
}

/** Null if the value is not a ledger record, for example because another program wrote it. */
export function parseLedgerRecord(value: Buffer | null): LedgerRecord | null {
  const json = value === null ? null : jsonObjectIn(value);
  if (json === null) return null;
  const { group, process, number, read, end, sums } = json;
  if (typeof group !== "string" || typeof process !== "string") return null;
  if (!isOffset(number)) return null;
  if (!Array.isArray(read) || !Array.isArray(sums) || !sums.every(isSum)) return null;
  const processed = read.flatMap((each) => processedIn(each) ?? []);
  if (processed.length < read.length) return null;
  return {
    group,
    process,
    number,
    read: processed,
    isLast: end === true,
    tallies: talliesOf(sums),
  };
}

function talliesOf(sums: readonly SumFields[]): Tallies {
  const tallies = new Tallies();
  for (const [bin, destination, outcome, count, digits] of sums) {
    const sum = tallies.of(bin, destination, outcome);
    sum.count += count;
    sum.high = (sum.high + Number.parseInt(digits.slice(0, 8), 16)) | 0;
    sum.low = (sum.low + Number.parseInt(digits.slice(8), 16)) | 0;
  }
  return tallies;
}

type SumFields = [bin: number, destination: string, outcome: Outcome, count: number, sum: string];

function isSum(value: unknown): value is SumFields {
  if (!Array.isArray(value)) return false;
  const [bin, destination, outcome, count, digits]: unknown[] = value;
  if (typeof destination !== "string" || typeof outcome !== "string") return false;
  if (!Number.isSafeInteger(bin) || !isOffset(count)) return false;
  return typeof digits === "string" && /^[0-9a-f]{16}$/.test(digits);
}

function processedIn(value: unknown): Processed | null {
  if (!isJsonObject(value)) return null;
  const { topic, partition, id = "", ranges, start, ours } = value;
  if (typeof topic !== "string" || typeof id !== "string" || !isOffset(partition)) return null;
  if (!Array.isArray(ranges) || !ranges.every(isRange)) return null;
  const tenure = isOffset(start) ? { start: { offset: start, isOurs: ours !== false } } : {};
  return { topic, partition, topicId: id, ranges, ...tenure };
}

function isRange(value: unknown): value is OffsetRange {
  if (!Array.isArray(value)) return false;
  const [from, to]: unknown[] = value;
  return isOffset(from) && isOffset(to) && from < to;
}

function isOffset(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, "0");
}
