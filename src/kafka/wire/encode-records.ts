/**
 * Writes the records of a batch (record format version 2): measures all sizes first, then writes each byte
 * only once.
 *
 *   record = length, attributes (0), timestamp delta, offset delta, key, value, headers
 *
 * The deliveries of a call share key, value and most headers: shared headers are encoded once for all
 * records of a request that have the same array.
 *
 * A compressed record is already encoded, is a separate batch, and is copied unchanged.
 */

import type { OutgoingRecord, RecordHeader, RecordHeaders } from "../../domain/record.ts";
import { varintBytes, varlongBytes, writeVarint, writeVarlong } from "./varint.ts";

/** A record that our producer writes. */
export interface OutgoingMessage extends Omit<OutgoingRecord, "topic"> {
  /** Milliseconds since the epoch; if absent, the time of encoding. */
  readonly timestamp?: number;
}

/** The encoded form of each array of shared headers, for the records of one request. */
export type SharedHeaders = Map<RecordHeaders, Buffer>;

export interface MeasuredRecords {
  readonly messages: readonly OutgoingMessage[];
  /** Size of each record in bytes, without the length in front. */
  readonly recordBytes: Int32Array;
  readonly totalBytes: number;
  readonly firstTimestampMs: number;
  readonly maxTimestampMs: number;
  /** The timestamp of records that have none. */
  readonly nowMs: number;
  readonly isCompressed: boolean;
}

export function measureRecords(
  messages: readonly OutgoingMessage[],
  nowMs: number,
  shared: SharedHeaders,
): MeasuredRecords {
  const compressed = messages[0]?.compression?.bytes;
  if (compressed) {
    const times = { firstTimestampMs: nowMs, maxTimestampMs: nowMs, nowMs, isCompressed: true };
    return { messages, recordBytes: NONE, totalBytes: compressed.length, ...times };
  }
  let firstTimestampMs = Number.POSITIVE_INFINITY;
  let maxTimestampMs = Number.NEGATIVE_INFINITY;
  for (const message of messages) {
    const timestampMs = timestampOf(message, nowMs);
    if (timestampMs < firstTimestampMs) firstTimestampMs = timestampMs;
    if (timestampMs > maxTimestampMs) maxTimestampMs = timestampMs;
  }
  const recordBytes = new Int32Array(messages.length);
  let totalBytes = 0;
  for (const [index, message] of messages.entries()) {
    const bytes =
      1 +
      varlongBytes(timestampOf(message, nowMs) - firstTimestampMs) +
      varintBytes(index) +
      contentBytes(message, shared);
    recordBytes[index] = bytes;
    totalBytes += varintBytes(bytes) + bytes;
  }
  const times = { firstTimestampMs, maxTimestampMs, nowMs, isCompressed: false };
  return { messages, recordBytes, totalBytes, ...times };
}

const NONE = new Int32Array(0);

/** Writes the measured records and returns the position after them. */
export function writeRecords(
  target: Buffer,
  start: number,
  measured: MeasuredRecords,
  shared: SharedHeaders,
): number {
  const { messages, recordBytes, firstTimestampMs, nowMs } = measured;
  const compressed = messages[0]?.compression?.bytes;
  if (compressed) {
    target.set(compressed, start);
    return start + compressed.length;
  }
  let at = start;
  for (const [index, message] of messages.entries()) {
    at = writeVarint(target, at, recordBytes[index] ?? 0);
    target[at++] = 0;
    at = writeVarlong(target, at, timestampOf(message, nowMs) - firstTimestampMs);
    at = writeVarint(target, at, index);
    at = writeContent(target, at, message, shared);
  }
  return at;
}

/** Encoded size of key, value and headers in bytes. */
export function contentBytes(message: OutgoingMessage, shared: SharedHeaders): number {
  const { encoded } = message;
  if (encoded !== undefined) return encoded.length;
  return sizedBytes(message.key) + sizedBytes(message.value) + headersBytes(message, shared);
}

/** Writes key, value and headers, and returns the position after them. */
export function writeContent(
  target: Buffer,
  start: number,
  message: OutgoingMessage,
  shared: SharedHeaders,
): number {
  const { encoded } = message;
  if (encoded !== undefined) {
    target.set(encoded, start);
    return start + encoded.length;
  }
  let at = writeSized(target, start, message.key);
  at = writeSized(target, at, message.value);
  return writeHeaders(target, at, message, shared);
}

function timestampOf(message: OutgoingMessage, nowMs: number): number {
  return message.timestamp ?? nowMs;
}

function sizedBytes(value: Buffer | null): number {
  return value === null ? 1 : varintBytes(value.length) + value.length;
}

function writeSized(target: Buffer, at: number, value: Buffer | null): number {
  if (value === null) return writeVarint(target, at, -1);
  const start = writeVarint(target, at, value.length);
  target.set(value, start);
  return start + value.length;
}

function headersBytes(message: OutgoingMessage, shared: SharedHeaders): number {
  const { headers: own, sharedHeaders } = message;
  let bytes = varintBytes(own.length + (sharedHeaders?.length ?? 0));
  if (sharedHeaders !== undefined) bytes += encodeShared(sharedHeaders, shared).length;
  for (const header of own) bytes += headerBytes(header);
  return bytes;
}

function writeHeaders(
  target: Buffer,
  start: number,
  message: OutgoingMessage,
  shared: SharedHeaders,
): number {
  const { headers: own, sharedHeaders } = message;
  let at = writeVarint(target, start, own.length + (sharedHeaders?.length ?? 0));
  if (sharedHeaders !== undefined) {
    const encoded = encodeShared(sharedHeaders, shared);
    target.set(encoded, at);
    at += encoded.length;
  }
  for (const header of own) at = writeHeader(target, at, header);
  return at;
}

function encodeShared(headers: RecordHeaders, shared: SharedHeaders): Buffer {
  const known = shared.get(headers);
  if (known !== undefined) return known;
  const encoded = Buffer.allocUnsafe(headers.reduce((sum, header) => sum + headerBytes(header), 0));
  let at = 0;
  for (const header of headers) at = writeHeader(encoded, at, header);
  shared.set(headers, encoded);
  return encoded;
}

function headerBytes([name, value]: RecordHeader): number {
  return nameBytes(name).length + sizedBytes(value);
}

function writeHeader(target: Buffer, at: number, [name, value]: RecordHeader): number {
  const bytes = nameBytes(name);
  target.set(bytes, at);
  return writeSized(target, at + bytes.length, value);
}

/**
 * Header names repeat in every record, so their bytes are cached. The number of cached names is limited, because
 * callers may use any names.
 */
const NAMES_MAX = 1000;
const names = new Map<string, Buffer>();

function nameBytes(name: string): Buffer {
  const known = names.get(name);
  if (known !== undefined) return known;
  const text = Buffer.from(name);
  const bytes = Buffer.allocUnsafeSlow(sizedBytes(text));
  writeSized(bytes, 0, text);
  if (names.size < NAMES_MAX && bytes.length < 256) names.set(name, bytes);
  return bytes;
}
