/**
 * Counts the records of a partition that wait behind those in hand. There can be millions. So they
 * are kept in blocks of neighbouring offsets: for each block and destination a count and the
 * earliest times.
 *
 *   what happens                           to the blocks
 *   records are read ahead                 the last block grows, up to 64 records; then a new one
 *   there are more entries than allowed    neighbours are joined, and blocks grow larger from now on
 *   the consumer takes a record            one less in the first block
 *   a record leaves, and is not taken      one less in its block
 *   the consumer passes an offset          blocks below it go
 *
 * Counts are exact, but for records that are passed without being taken: those count until their
 * block has gone. Times of the block that is being taken can be those of a record that was taken
 * from it, so they are too early rather than too late. Records are due in the order in which they
 * stand, so nothing behind the record that was taken last is due, or was parked, before it.
 */

import { addTo, type Tallies, type Times } from "./tally.ts";

const BLOCK_RECORDS = 64;
/** With fewer there would always be one that is being taken. */
const BLOCKS_MIN = 2;

interface Block {
  readonly from: number;
  /** Behind its last record. */
  end: number;
  records: number;
  readonly tallies: Tallies;
  /** The record that was taken last from it. */
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

  /** Destinations of the blocks, summed up: the memory that they take. */
  get entries(): number {
    return this.#entries;
  }

  /** Offsets rise from call to call. */
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

  /** Offsets rise from call to call. @param labels as it may have been added, the likeliest first. */
  took(offset: number, labels: readonly string[], times: Times): void {
    this.passTo(offset);
    const [block] = this.#blocks;
    if (block === undefined || offset < block.from) return;
    block.taken = times;
    this.#remove(block, labels);
  }

  /** One that was not taken has left. @param labels as it may have been added, the likeliest first. */
  left(offset: number, labels: readonly string[]): void {
    const block = this.#blocks.find(({ from, end }) => from <= offset && offset < end);
    if (block !== undefined) this.#remove(block, labels);
  }

  /** Nothing waits below `offset` any more. */
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
