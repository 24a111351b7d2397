/**
 * Names of headers as texts. A process meets the same few in every record, and their texts serve
 * again: while records come one or two at a time, making them was much of what a record cost.
 *
 *   the name                                    its text
 *   was met last on its slot                    is that one
 *   is another one, of up to 64 bytes           is made, and kept on its slot
 *   is longer                                   is made
 */

const KEPT_BYTES_MAX = 64;
/** A power of two. */
const SLOTS = 256;
const known = new Array<string>(SLOTS).fill("");

/** The name that these bytes are in UTF-8. */
export function headerName(buffer: Buffer, start: number, length: number): string {
  const slot = headerSlot(buffer, start, length);
  const last = known[slot] ?? "";
  if (isSame(last, buffer, start, length)) return last;
  const name = buffer.toString("utf8", start, start + length);
  if (length <= KEPT_BYTES_MAX) known[slot] = name;
  return name;
}

/** Where a name is kept. Differs for all names of ours, which a test looks at. */
export function headerSlot(buffer: Buffer, start: number, length: number): number {
  const last = buffer[start + length - 1] ?? 0;
  const third = buffer[start + length - 3] ?? 0;
  return (Math.imul(length, 31) + Math.imul(last, 5) + third) & (SLOTS - 1);
}

/**
 * A character beyond ASCII takes more bytes than it has code units, or was no UTF-8 and became
 * U+FFFD, which is no byte: so texts of as many units, each the same as its byte, are ASCII.
 */
function isSame(name: string, buffer: Buffer, start: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let at = 0; at < length; at += 1) {
    if (name.charCodeAt(at) !== buffer[start + at]) return false;
  }
  return true;
}
