/**
 * Counts the records of a partition that wait behind the records in flight. There can be millions of them, so they
 * are grouped into blocks of consecutive offsets. A block has a count and the earliest times for each destination.
 *
 *   what happens                           to the blocks
 *   records are read ahead                 the last block grows to at most 64 records, then a new one starts
 *   there are more entries than allowed    neighbors are merged, and later blocks are larger
 *   the consumer takes a record            the first block has one record less
 *   a record leaves without being taken    its block has one record less
 *   the consumer passes an offset          blocks below it are removed
 *
 * Counts are exact, with one exception: records that the consumer passes without taking them are counted until their
 * block is removed. The times of the first block may belong to a record that has already been taken from it, so they
 * can be too early, but not too late. Due times and scheduling times increase with the offsets, so records behind
 * the one taken last cannot have earlier times.
 */

import { addTo, type Tallies, type Times } from "./tally.ts";

const BLOCK_RECORDS = 64;
/** There are at least two blocks, because a single block would always be the one from which records are being taken. */
const BLOCKS_MIN = 2;

interface Block {
  readonly from: number;
  /** The offset after the block's last record. */
  end: number;
  records: number;
  readonly tallies: Tallies;
  /** The record that was last taken from the block. */
  taken: Times | null;
}

export class UnreadRecords {
  #blocks: Block[] = [];
  #entries = 0;
  #blockRecords = BLOCK_RECORDS;
  readonly #entriesMax: () => number;

  constructor(entriesMax: () => number) {
    this.#entriesMax = entriesMax;
  }

  /** The total number of destinations in all blocks, as a measure of the memory in use. */
  get entries(): number {
    return this.#entries;
  }

  /** Adds a record. Its offset must be higher than in the previous call. */
  add(offset: number, label: string, times: Times): void {
    let block = this.#blocks.at(-1);
    if (block === undefined || block.records >= this.#blockRecords) {
      block = { from: offset, end: offset, records: 0, tallies: new Map(), taken: null };
      this.#blocks.push(block);
    }
    block.end = offset + 1;
    block.records += 1;
    if (addTo(block.tallies, label, times)) this.#entries += 1;
    if (this.#entries > this.#entriesMax() && this.#blocks.length > BLOCKS_MIN) this.#join();
  }

  /**
   * Removes a record that the consumer has taken. Offsets must increase from call to call.
   * @param labels the labels with which the record may have been added; the most likely one is first.
   */
  took(offset: number, labels: readonly string[], times: Times): void {
    this.passTo(offset);
    const [block] = this.#blocks;
    if (block === undefined || offset < block.from) return;
    block.taken = times;
    this.#remove(block, labels);
  }

  /** Call this when a record was removed from the buffer without being taken. @param labels as for `took`. */
  left(offset: number, labels: readonly string[]): void {
    const block = this.#blocks.find(({ from, end }) => from <= offset && offset < end);
    if (block !== undefined) this.#remove(block, labels);
  }

  /** Call this when all records below `offset` have left. */
  passTo(offset: number): void {
    while (this.#blocks[0] !== undefined && this.#blocks[0].end <= offset) {
      this.#entries -= this.#blocks[0].tallies.size;
      this.#blocks.shift();
    }
    if (this.#entries * 4 > this.#entriesMax()) return;
    this.#blockRecords = Math.max(BLOCK_RECORDS, this.#blockRecords / 2);
  }

  addTo(tallies: Tallies): void {
    for (const block of this.#blocks) sum(block, tallies);
  }

  #remove({ tallies }: Block, labels: readonly string[]): void {
    const label = labels.find((each) => tallies.has(each));
    const tally = label === undefined ? undefined : tallies.get(label);
    if (label === undefined || tally === undefined) return;
    tally.count -= 1;
    if (tally.count > 0) return;
    tallies.delete(label);
    this.#entries -= 1;
  }

  #join(): void {
    this.#blockRecords *= 2;
    const joined: Block[] = [];
    for (const block of this.#blocks) {
      const last = joined.at(-1);
      if (last === undefined || last.records + block.records > this.#blockRecords) {
        joined.push({ ...block });
        continue;
      }
      last.end = block.end;
      last.records += block.records;
      sum(block, last.tallies);
    }
    this.#blocks = joined;
    this.#entries = joined.reduce((entries, { tallies }) => entries + tallies.size, 0);
  }
}

function sum({ tallies, taken }: Block, into: Tallies): void {
  for (const [label, tally] of tallies) {
    const times = taken === null ? tally : notBefore(tally, taken);
    addTo(into, label, times, tally.count);
  }
}

function notBefore(times: Times, taken: Times): Times {
  return {
    scheduledAtMs: Math.max(times.scheduledAtMs, taken.scheduledAtMs),
    dueAtMs: Math.max(times.dueAtMs, taken.dueAtMs),
    firstAttemptAtMs: times.firstAttemptAtMs,
  };
}
