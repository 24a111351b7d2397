/**
 * A record of two texts, as bytes in a block that holds such records alone. For those who write very
 * many: the texts are written where they stay, with no buffer of their own in between.
 *
 *   content = key, value, no headers (record format version 2)
 */

import type { OutgoingRecord, RecordHeaders } from "../../domain/record.ts";
import { RecordReader } from "./record-reader.ts";
import { varintBytes, writeVarint } from "./varint.ts";

const BLOCK_BYTES = 64 * 1024;
/** A character takes at most so many bytes of UTF-8 for each unit of a string's length. */
const UNIT_MAX_BYTES = 3;
/** Of two lengths and the count of headers. */
const AROUND_MAX_BYTES = 11;

let block = Buffer.alloc(0);
let used = 0;

export function packText(topic: string, key: string, value: string): OutgoingRecord {
  const most = (key.length + value.length) * UNIT_MAX_BYTES + AROUND_MAX_BYTES;
  if (used + most > block.length) {
    block = Buffer.allocUnsafeSlow(Math.max(most, BLOCK_BYTES));
    used = 0;
  }
  const start = used;
  const keyBytes = writeText(start, key);
  const behindKey = start + varintBytes(keyBytes) + keyBytes;
  const valueBytes = writeText(behindKey, value);
  const end = behindKey + varintBytes(valueBytes) + valueBytes;
  block[end] = 0;
  used = end + 1;
  return new PackedText(topic, block.subarray(start, used), keyBytes);
}

/** Writes length and text. Returns the length. */
function writeText(start: number, text: string): number {
  // Known before where the text is ASCII. Of other texts the bytes are moved, if need be.
  const guessed = start + varintBytes(text.length);
  const bytes = block.write(text, guessed);
  const at = start + varintBytes(bytes);
  if (at !== guessed) block.copyWithin(at, guessed, guessed + bytes);
  writeVarint(block, start, bytes);
  return bytes;
}

class PackedText implements OutgoingRecord {
  readonly topic: string;
  readonly encoded: Buffer;
  readonly #keyBytes: number;

  constructor(topic: string, encoded: Buffer, keyBytes: number) {
    this.topic = topic;
    this.encoded = encoded;
    this.#keyBytes = keyBytes;
  }

  get key(): Buffer {
    const start = varintBytes(this.#keyBytes);
    return this.encoded.subarray(start, start + this.#keyBytes);
  }

  get value(): Buffer | null {
    return new RecordReader(this.encoded, 0).valueAt(0);
  }

  get headers(): RecordHeaders {
    return [];
  }
}
