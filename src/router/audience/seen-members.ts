/**
 * Stores which users have arrived in an open sync, as one bit for each user's number. In memory, the bits form a bit
 * set. On disk, each step adds an entry with the new numbers, in one batch with the checkpoint. A sync that changes
 * nothing therefore writes only one to three bytes per member.
 *
 *   members    bits
 *   10 M       1.25 MB
 *   100 M      12.5 MB
 *   any        at most 16 MiB for all open syncs of a partition
 *
 * When the bits of a partition have used up their 16 MiB, further arrivals are marked in the members' values instead.
 * Each of these writes takes 3 to 5 µs. Before there were bits, when members were also looked up one by one
 * (`batch-lookups.ts`), a sync that changed nothing took as long as the first one.
 *
 *   step                                       if the process crashes after it
 *   1  set bits                                the bits are lost, and the records are read again
 *   2  write the entry with the checkpoint     the entry is read when the store is opened
 *   3  close the sync, in a batch              its entries are removed when the store is opened
 *   4  remove its entries, in pieces           the remaining entries are removed when the store is opened
 *
 * No entry is removed before the batch in step 3: if arrivals of an open sync were lost, the sync would remove
 * members who have arrived.
 */

import type { ArrivedNumbers } from "./membership.ts";

const PIECE_BYTES = 8_192;
const PIECE_BITS = PIECE_BYTES * 8;
/** 16 MiB, enough for 134 million members. */
const PIECES_MAX = 2_048;

/** The room for bits, which the open syncs of a partition share. */
export class ArrivalRoom {
  #free: number;

  /** @param pieces the number of pieces; each has 8 KiB, for 65,536 members. */
  constructor(pieces = PIECES_MAX) {
    this.#free = pieces;
  }

  take(): boolean {
    if (this.#free <= 0) return false;
    this.#free -= 1;
    return true;
  }

  give(pieces: number): void {
    this.#free += pieces;
  }
}

export class Arrivals implements ArrivedNumbers {
  readonly begin: number;
  readonly #room: ArrivalRoom;
  readonly #pieces = new Map<number, Uint8Array>();
  #unwritten: number[] = [];
  /** The number of entries in the store. */
  #entries = 0;

  /** @param begin offset of the sync's `begin` record. */
  constructor(begin: number, room: ArrivalRoom) {
    this.begin = begin;
    this.#room = room;
  }

  /** How many numbers have not been written to the store yet. */
  get unwritten(): number {
    return this.#unwritten.length;
  }

  has(number: number): boolean {
    const piece = this.#pieces.get(Math.floor(number / PIECE_BITS));
    if (piece === undefined) return false;
    const bit = number % PIECE_BITS;
    return ((piece[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0;
  }

  /** Returns false if there is no room. */
  add(number: number): boolean {
    if (!this.#set(number)) return false;
    this.#unwritten.push(number);
    return true;
  }

  /** Returns the entry to write in this step, and its index; null if there are no new numbers. */
  takeEntry(): { readonly at: number; readonly text: string } | null {
    if (this.#unwritten.length === 0) return null;
    const text = writeNumbers(this.#unwritten);
    this.#unwritten = [];
    const at = this.#entries;
    this.#entries += 1;
    return { at, text };
  }

  /** Reads an entry from the store. */
  read({ at, text }: { readonly at: number; readonly text: string }): void {
    this.#entries = Math.max(this.#entries, at + 1);
    for (const number of readNumbers(text)) this.#set(number);
  }

  /** Removes all bits, and frees their room. */
  clear(): void {
    this.#room.give(this.#pieces.size);
    this.#pieces.clear();
    this.#unwritten = [];
  }

  #set(number: number): boolean {
    const at = Math.floor(number / PIECE_BITS);
    let piece = this.#pieces.get(at);
    if (piece === undefined) {
      if (!this.#room.take()) return false;
      piece = new Uint8Array(PIECE_BYTES);
      this.#pieces.set(at, piece);
    }
    const bit = number % PIECE_BITS;
    piece[bit >> 3] = (piece[bit >> 3] ?? 0) | (1 << (bit & 7));
    return true;
  }
}

/** Encodes sorted numbers as varints. Each varint is the difference from the previous number. */
export function writeNumbers(numbers: readonly number[]): string {
  const sorted = Float64Array.from(numbers).sort();
  const bytes = Buffer.allocUnsafe(sorted.length * MAX_BYTES);
  let length = 0;
  let before = 0;
  for (const number of sorted) {
    let rest = number - before;
    before = number;
    for (; rest >= 128; rest = Math.floor(rest / 128)) {
      bytes[length] = (rest % 128) + 128;
      length += 1;
    }
    bytes[length] = rest;
    length += 1;
  }
  return bytes.toString("base64", 0, length);
}

/** The largest safe integer takes this many bytes as a varint. */
const MAX_BYTES = 8;

export function* readNumbers(text: string): Generator<number, void, undefined> {
  let before = 0;
  let number = 0;
  let factor = 1;
  for (const byte of Buffer.from(text, "base64")) {
    number += (byte % 128) * factor;
    factor *= 128;
    if (byte >= 128) continue;
    before += number;
    yield before;
    number = 0;
    factor = 1;
  }
}
