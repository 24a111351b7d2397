/**
 * Decodes message sets, in which brokers of Kafka before 0.11 stored records. Topics may still have some.
 *
 *   entry                                        then
 *   a message                                    its offset, time, key and value; messages of version 0 have no time
 *   compressed messages                          these; in version 1, their offsets are relative to the last one
 *   a last entry that the broker has cut off     left for the next fetch
 *   a record batch                               left for the next fetch
 *   a wrong checksum, a length that is           `CorruptBatchError`
 *   impossible, more than SET_MAX_BYTES
 */

import { crc32 } from "node:zlib";
import { CorruptBatchError } from "../../domain/corrupt-batch.ts";
import { codecOf } from "./codecs.ts";
import type { OldMessage } from "./fetched-record.ts";

/** The offset and the length in front of each entry. */
const ENTRY_BYTES = 8 + 4;
/** Checksum, version, attributes, and the lengths of key and value. */
const MESSAGE_BYTES = 4 + 1 + 1 + 4 + 4;
const CODEC = 0b111;
const NO_TIME = "-1";
/** The limit for the messages of one compressed entry, which are in memory together. */
const SET_MAX_BYTES = 64 * 1024 * 1024;

interface Entry extends OldMessage {
  readonly version: number;
  readonly attributes: number;
}

export async function decodeMessageSet(records: Buffer): Promise<readonly OldMessage[]> {
  const messages: OldMessage[] = [];
  for (const entry of entriesOf(records)) {
    const compression = entry.attributes & CODEC;
    if (compression === 0) messages.push(entry);
    else for (const each of await compressedIn(entry, compression)) messages.push(each);
  }
  return messages;
}

async function compressedIn(entry: Entry, compression: number): Promise<readonly OldMessage[]> {
  const value = entry.value ?? Buffer.alloc(0);
  const inflated = await codecOf(compression)
    ?.decompress(value, SET_MAX_BYTES)
    .catch(() => null);
  if (inflated == null) {
    const corruption = `its messages cannot be inflated, or have more than ${SET_MAX_BYTES} bytes`;
    throw new CorruptBatchError(corruption, Number(entry.offset));
  }
  const inner = entriesOf(inflated);
  const last = inner.at(-1);
  const base =
    entry.version === 0 || last === undefined ? 0n : BigInt(entry.offset) - BigInt(last.offset);
  return inner.map((each) => ({ ...each, offset: `${BigInt(each.offset) + base}` }));
}

function entriesOf(records: Buffer): readonly Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at + ENTRY_BYTES <= records.length; ) {
    const end = at + ENTRY_BYTES + records.readInt32BE(at + 8);
    const offset = records.readBigInt64BE(at);
    if (end > records.length && at > 0) break;
    if (end > records.length) {
      const corruption = `it declares ${end} bytes but has ${records.length}`;
      throw new CorruptBatchError(corruption, Number(offset));
    }
    const message = records.subarray(at + ENTRY_BYTES, end);
    if (message.length < MESSAGE_BYTES)
      throw new CorruptBatchError(`its length is ${message.length}`, Number(offset));
    if (message.readInt8(4) > 1) break;
    entries.push({ offset: `${offset}`, ...messageIn(message, Number(offset)) });
    at = end;
  }
  return entries;
}

function messageIn(message: Buffer, offset: number): Omit<Entry, "offset"> {
  if (crc32(message.subarray(4)) !== message.readUInt32BE(0))
    throw new CorruptBatchError("its checksum is wrong", offset);
  const version = message.readInt8(4);
  let at = 6;
  if (version > 0 && message.length < MESSAGE_BYTES + 8)
    throw new CorruptBatchError(`its length is ${message.length}`, offset);
  const timestamp = version === 0 ? NO_TIME : `${message.readBigInt64BE(at)}`;
  if (version > 0) at += 8;
  const bytes = (): Buffer | null => {
    const length = at + 4 > message.length ? message.length : message.readInt32BE(at);
    at += 4 + Math.max(0, length);
    if (at > message.length) throw new CorruptBatchError("a length in it is too large", offset);
    return length < 0 ? null : message.subarray(at - length, at);
  };
  return { version, attributes: message.readInt8(5), timestamp, key: bytes(), value: bytes() };
}
