/**
 * Inflates, in pieces, a batch that is too large to be kept in memory, and keeps only a part of it.
 *
 *   a record of the batch                          in the part
 *   is before the requested offset                 not at all
 *   is within the topic's limit                    unchanged
 *   is larger                                      what fits the limit: its value, then its key, then
 *                                                  headers (`fitting-headers.ts`)
 *   follows when the part is full                  not at all: the next fetch starts with it
 *
 * If the parts of a batch are requested one after another, the batch is inflated only once: its inflation is suspended
 * between two fetches. Only a few inflations are suspended at a time; any other is dropped, and starts again with the
 * next fetch.
 *
 * Each record of the batch has its own offset, so a commit may be within the batch:
 *
 *   a crash                                    the next owner
 *   while the first part is inflated, or its   reads the batch again, and repeats nothing
 *     fetch is set aside (fetch/source.ts)
 *   after a part was passed on and written     repeats the records written since the last commit,
 *                                              as with any other batch
 *   after a commit within the batch            gets the whole batch from the broker, inflates it
 *                                              again, and skips the records before that offset
 */

import { setImmediate as otherWork } from "node:timers/promises";

import { type Codec, codecOf } from "./codecs.ts";
import { FittingHeaders, NAME_BYTES } from "./fitting-headers.ts";
import { KeptRecords, type RecordsPart, varint } from "./kept-records.ts";

/** Maximum bytes of the records in a part, including their objects. The last record may exceed this limit. */
export const PART_MAX_BYTES = 4 * 1024 * 1024;
/** How many inflations may be suspended. The number is low, because a zstd window may have 128 MiB. */
const WAITING_MAX = 2;
/** The number of pieces after which other work can run, because some codecs inflate in this thread. */
const PIECES_AT_ONCE = 8;
/** Attributes, a varlong (the timestamp delta) and two varints (the offset delta and the key's length). */
const PREFIX_MAX_BYTES = 1 + 10 + 5 + 5;

interface BatchToInflate {
  /** Identifies the batch. */
  readonly key: string;
  readonly type: number;
  readonly compressed: Buffer;
  /** The number of records according to the batch's header. */
  readonly count: number;
  readonly recordMaxBytes: number;
}

const waiting = new Map<string, Inflation>();
/** Batches are inflated one at a time, which limits the memory that inflations use. */
let turn: Promise<unknown> = Promise.resolve();

/**
 * @param from offset delta of the first requested record.
 * @throws RangeError if the records do not match their lengths.
 * @throws Error if the bytes cannot be inflated.
 */
export function inflatePart(batch: BatchToInflate, from: number): Promise<RecordsPart> {
  const part = turn.then(() => nextPart(batch, from));
  turn = part.catch(() => undefined);
  return part;
}

async function nextPart(batch: BatchToInflate, from: number): Promise<RecordsPart> {
  let inflation = waiting.get(batch.key);
  waiting.delete(batch.key);
  if (inflation !== undefined && inflation.next > from) {
    await inflation.close();
    inflation = undefined;
  }
  inflation ??= new Inflation(batch);
  let part: RecordsPart | null = null;
  try {
    part = await inflation.take(from);
  } finally {
    if (part === null || part.next === null) await inflation.close();
  }
  if (part.next !== null) {
    waiting.set(batch.key, inflation);
    for (const [key, oldest] of waiting) {
      if (waiting.size <= WAITING_MAX) break;
      waiting.delete(key);
      await oldest.close();
    }
  }
  return part;
}

class Inflation {
  readonly #batch: BatchToInflate;
  readonly #pieces: AsyncIterator<Buffer> | Iterator<Buffer>;
  #pending: Buffer = Buffer.alloc(0);
  #at = 0;
  #isEnded = false;
  #pieceCount = 0;
  /** The number of records that were read or skipped. */
  #read = 0;
  /** Remaining bytes of the large record that is being read. */
  #fieldsLeft = 0;
  /** The offset delta at which the next part starts. */
  next = -1;

  constructor(batch: BatchToInflate) {
    this.#batch = batch;
    const pieces = codec(batch.type).pieces(batch.compressed);
    this.#pieces =
      Symbol.asyncIterator in pieces ? pieces[Symbol.asyncIterator]() : pieces[Symbol.iterator]();
  }

  async take(from: number): Promise<RecordsPart> {
    const { count, recordMaxBytes } = this.#batch;
    const kept = new KeptRecords();
    for (; this.#read < count; this.#read += 1) {
      if (kept.weight >= PART_MAX_BYTES) {
        this.next = kept.last + 1;
        return kept.part(this.next);
      }
      if (this.#left < 5 && !this.#isEnded) await this.#ensure(5);
      const start = this.#at;
      const length = this.#varint();
      if (length < 0) throw new RangeError(`a length of ${length}`);
      if (length > recordMaxBytes) {
        await this.#large(length, from, kept);
        continue;
      }
      const lengthBytes = this.#at - start;
      this.#at = start;
      await this.#need(lengthBytes + length);
      const record = this.#pending.subarray(this.#at, this.#at + lengthBytes + length);
      this.#at += lengthBytes;
      const end = this.#at + length;
      const delta = this.#offsetDelta();
      this.#at = end;
      if (delta >= from) kept.add(record, delta);
    }
    return kept.part(null);
  }

  async close(): Promise<void> {
    await this.#pieces.return?.();
  }

  /** Keeps as much of a large record as fits: its value, then its key, then headers. */
  async #large(length: number, from: number, kept: KeptRecords): Promise<void> {
    const limit = this.#batch.recordMaxBytes;
    this.#fieldsLeft = length;
    await this.#ensure(Math.min(length, PREFIX_MAX_BYTES));
    const start = this.#at;
    const delta = this.#offsetDelta();
    const prefix = Buffer.from(this.#pending.subarray(start, this.#at));
    this.#pass(this.#at - start);
    const keyBytes = await this.#fieldLength();
    const whole = await this.#field(keyBytes, limit);
    const valueBytes = await this.#fieldLength();
    const value = await this.#field(valueBytes, limit);
    const left = limit - (value?.length ?? 0);
    const key = whole !== null && whole.length <= left ? whole : null;
    const headers = await this.#headers(left - (key?.length ?? 0));
    if (delta < from) return;
    const cut = {
      keyBytes: key === null && keyBytes >= 0 ? keyBytes : null,
      valueBytes: value === null && valueBytes >= 0 ? valueBytes : null,
      headers: headers.cut,
    };
    kept.addPart(prefix, { key, value, headers: headers.kept }, delta, { bytes: length, cut });
  }

  async #headers(bytesMax: number): Promise<FittingHeaders> {
    const headers = new FittingHeaders(bytesMax);
    for (let left = await this.#fieldLength(); left > 0; left -= 1) {
      const nameBytes = await this.#fieldLength();
      if (nameBytes < 0) throw new RangeError(`a name of ${nameBytes} bytes`);
      const isNameShort = nameBytes <= Math.max(NAME_BYTES, bytesMax);
      const name = await this.#take(isNameShort ? nameBytes : NAME_BYTES);
      if (!isNameShort) await this.#leave(nameBytes - NAME_BYTES);
      const valueBytes = await this.#fieldLength();
      const lengths = [varint(nameBytes), varint(valueBytes)] as const;
      const bytes = nameBytes + Math.max(0, valueBytes) + lengths[0].length + lengths[1].length;
      const isWanted = isNameShort && headers.wants(bytes);
      if (isWanted) {
        const value = await this.#take(Math.max(0, valueBytes));
        headers.keep(Buffer.concat([lengths[0], name, lengths[1], value]), name);
      } else {
        await this.#leave(Math.max(0, valueBytes));
        headers.leaveOut(name, bytes);
        if (!headers.isFull) continue;
        headers.leaveOutAll(left - 1, this.#fieldsLeft);
        await this.#leave(this.#fieldsLeft);
        return headers;
      }
    }
    return headers;
  }

  /** Subtracts bytes from the remaining bytes of the large record that is being read. */
  #pass(bytes: number): void {
    this.#fieldsLeft -= bytes;
    if (this.#fieldsLeft < 0) throw new RangeError("a length that its fields do not fit");
  }

  async #fieldLength(): Promise<number> {
    const most = Math.min(this.#fieldsLeft, 5);
    if (this.#left < most) await this.#ensure(most);
    const start = this.#at;
    const bytes = this.#varint();
    this.#pass(this.#at - start);
    if (bytes > this.#fieldsLeft) throw new RangeError(`a field of ${bytes} bytes`);
    return bytes;
  }

  /** Reads a field; null if it is Kafka's null or exceeds the limit. */
  async #field(bytes: number, limit: number): Promise<Buffer | null> {
    if (bytes >= 0 && bytes <= limit) return this.#take(bytes);
    await this.#leave(Math.max(0, bytes));
    return null;
  }

  async #take(bytes: number): Promise<Buffer> {
    this.#pass(bytes);
    return this.#bytes(bytes);
  }

  async #leave(bytes: number): Promise<void> {
    this.#pass(bytes);
    await this.#skip(bytes);
  }

  /** Reads from the start of a record's content to the end of its offset delta. */
  #offsetDelta(): number {
    this.#at += 1; // attributes, unused
    for (let byte = 0x80; byte >= 0x80; this.#at += 1) byte = this.#pending[this.#at] ?? 0;
    return this.#varint();
  }

  #varint(): number {
    let zigzag = 0;
    for (let shift = 0; ; shift += 7) {
      if (shift > 28) throw new RangeError("a number of more than five bytes");
      const byte = this.#pending[this.#at];
      if (byte === undefined) throw new RangeError("no bytes left");
      this.#at += 1;
      zigzag |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
    }
  }

  get #left(): number {
    return this.#pending.length - this.#at;
  }

  /** Returns a copy, because a view would keep its whole piece in memory. */
  async #bytes(length: number): Promise<Buffer> {
    await this.#need(length);
    const bytes = Buffer.from(this.#pending.subarray(this.#at, this.#at + length));
    this.#at += length;
    return bytes;
  }

  async #skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) {
      const here = Math.min(left, this.#left);
      this.#at += here;
      left -= here;
      if (left === 0) return;
      if (this.#isEnded) throw new RangeError("no bytes left");
      await this.#ensure(1);
    }
  }

  async #need(length: number): Promise<void> {
    if (this.#left >= length) return;
    await this.#ensure(length);
    if (this.#left < length) throw new RangeError(`a length of ${length}`);
  }

  /** Reads pieces until this many bytes are available, or there are no more pieces. */
  async #ensure(length: number): Promise<void> {
    if (this.#left >= length || this.#isEnded) return;
    const parts = this.#left === 0 ? [] : [this.#pending.subarray(this.#at)];
    for (let bytes = this.#left; bytes < length; ) {
      this.#pieceCount += 1;
      if (this.#pieceCount % PIECES_AT_ONCE === 0) await otherWork();
      const { value, done } = await this.#pieces.next();
      if (done === true) {
        this.#isEnded = true;
        break;
      }
      parts.push(value);
      bytes += value.length;
    }
    // A single piece is not copied, because most inflated bytes are skipped.
    const [first] = parts;
    this.#pending = first !== undefined && parts.length === 1 ? first : Buffer.concat(parts);
    this.#at = 0;
  }
}

function codec(type: number): Codec {
  const found = codecOf(type);
  if (found === null) throw new Error(`there is no compression ${type}`);
  return found;
}
