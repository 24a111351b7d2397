/**
 * Shortens a record that is too large for a topic, and names the parts that were omitted. Headers are omitted first,
 * because the value contains the call.
 *
 *   the record has to fit into                   omitted
 *   1 MiB: planned topics accept it              headers, the largest first
 *   64 KiB: any topic accepts it                 the same
 *   ...
 *
 * Sizes are tried in descending order, until the brokers accept what remains of the record. After the two sizes in
 * the table come the size of key and value together, of the value, of the key, and zero. For each size, the value is
 * kept if it fits; then the key, if there is room for both; then headers, the smallest first. The value is therefore
 * omitted only if it is too large by itself, and then there is room for headers again.
 */

import { isOwnHeader } from "./delivery.ts";
import type { Cut, RecordContent, RecordHeader, RecordHeaders } from "./record.ts";

const SIZES = [1_048_576, 65_536, 0];
/** The maximum total size of the headers that stages write. */
const OWN_HEADER_MAX_BYTES = 4_096;
const NAME_SHOWN_MAX = 64;

export interface Shorter {
  readonly content: Pick<RecordContent, "key" | "value" | "headers">;
  readonly cut: Cut;
}

/**
 * @param whole the original record.
 * @param refused the version of the record that the brokers rejected last.
 * @returns the version to try next; null if no smaller one is possible.
 */
export function shorter(whole: RecordContent, refused: RecordContent): Shorter | null {
  const { key, value, headers } = whole;
  const [keyBytes, valueBytes] = [bytesOf(key), bytesOf(value)];
  const sizes = [...SIZES, keyBytes + valueBytes, valueBytes, keyBytes];
  const refusedBytes = contentBytes(refused);
  for (const size of sizes.toSorted((one, other) => other - one)) {
    const content = fitting({ key, value, headers }, size);
    if (contentBytes(content) < refusedBytes) return { content, cut: cutOf(whole, content) };
  }
  return null;
}

/** Names the parts that were omitted. */
export function cutWords({ keyBytes, valueBytes, headers }: Cut): string {
  const words: string[] = [];
  if (headers !== null) {
    const { count, bytes, largest } = headers;
    const name = JSON.stringify(largest.slice(0, NAME_SHOWN_MAX));
    if (count === 1) words.push(`the header ${name} (${bytes} bytes)`);
    else words.push(`${count} headers (${bytes} bytes; the largest is ${name})`);
  }
  if (valueBytes !== null) words.push(`the value (${valueBytes} bytes)`);
  if (keyBytes !== null) words.push(`the key (${keyBytes} bytes)`);
  return words.join(" and ");
}

function headerBytes([name, value]: RecordHeader): number {
  return Buffer.byteLength(name) + bytesOf(value);
}

function fitting({ key, value, headers }: Shorter["content"], size: number): Shorter["content"] {
  let left = size;
  const fits = (bytes: number): boolean => {
    if (bytes > left) return false;
    left -= bytes;
    return true;
  };
  const keptValue = fits(bytesOf(value)) ? value : null;
  const keptKey = fits(bytesOf(key)) ? key : null;
  const large = headers.filter(isCuttable).map((header) => [header, headerBytes(header)] as const);
  const gone = new Set<RecordHeader>();
  for (const [header, bytes] of large.toSorted(([, one], [, other]) => one - other)) {
    if (!fits(bytes)) gone.add(header);
  }
  return { key: keptKey, value: keptValue, headers: headers.filter((each) => !gone.has(each)) };
}

function isCuttable(header: RecordHeader): boolean {
  return !isOwnHeader(header[0]) || headerBytes(header) > OWN_HEADER_MAX_BYTES;
}

function contentBytes({ key, value, headers }: Shorter["content"]): number {
  return bytesOf(key) + bytesOf(value) + headersBytes(headers.filter(isCuttable));
}

function headersBytes(headers: RecordHeaders): number {
  return headers.reduce((sum, header) => sum + headerBytes(header), 0);
}

function cutOf(whole: RecordContent, { key, value, headers }: Shorter["content"]): Cut {
  const kept = new Set(headers);
  const gone = whole.headers.filter((header) => !kept.has(header));
  const [first, ...others] = gone;
  const isLarger = (one: RecordHeader, other: RecordHeader) =>
    headerBytes(other) > headerBytes(one) ? other : one;
  return {
    keyBytes: key === null ? (whole.key?.length ?? null) : null,
    valueBytes: value === null ? (whole.value?.length ?? null) : null,
    headers:
      first === undefined
        ? null
        : {
            count: gone.length,
            bytes: headersBytes(gone),
            largest: others.reduce(isLarger, first)[0],
          },
  };
}

function bytesOf(bytes: Buffer | null): number {
  return bytes?.length ?? 0;
}
