/**
 * Names of headers as texts. A process meets the same few in every record, so their texts serve
 * again, and bytes are compared four at a time: reading names was most of what reading a record's
 * headers took.
 *
 *   the name                                    its text
 *   was met last on its slot                    is that one
 *   is another one, of 4 to 64 bytes            is made, and kept on its slot
 *   is shorter or longer                        is made
 */

const WORD = 4;
const KEPT_MAX_BYTES = 64;
/** Two to the power of 8. */
const SLOTS = 256;
const SLOT_SHIFT = 24;

interface Known {
  readonly text: string;
  readonly length: number;
  /** From its first byte on, and its last ones: the words may overlap. */
  readonly words: Int32Array;
  readonly lastWord: number;
}

const known = new Array<Known | null>(SLOTS).fill(null);

/** The name that these bytes are in UTF-8. */
export function headerName(bytes: DataView, start: number, length: number): string {
  if (length < WORD || length > KEPT_MAX_BYTES) return text(bytes, start, length);
  const lastWord = bytes.getInt32(start + length - WORD);
  const slot = slotOf(length, lastWord);
  const last = known[slot] ?? null;
  if (last !== null && last.length === length && last.lastWord === lastWord) {
    if (hasWords(bytes, start, last.words)) return last.text;
  }
  const words = new Int32Array((length - 1) >> 2);
  for (let at = 0; at < words.length; at += 1) words[at] = bytes.getInt32(start + at * WORD);
  const made = text(bytes, start, length);
  known[slot] = { text: made, length, words, lastWord };
  return made;
}

/** Where a name of 4 to 64 bytes is kept. Differs for all names of ours, which a test looks at. */
export function headerSlot(name: string): number {
  const bytes = Buffer.from(name);
  return slotOf(bytes.length, bytes.readInt32BE(bytes.length - WORD));
}

function slotOf(length: number, lastWord: number): number {
  return Math.imul(lastWord + length * 37, 0x85ebca6b) >>> SLOT_SHIFT;
}

function hasWords(bytes: DataView, start: number, words: Int32Array): boolean {
  for (let at = 0; at < words.length; at += 1) {
    if (words[at] !== bytes.getInt32(start + at * WORD)) return false;
  }
  return true;
}

function text({ buffer, byteOffset }: DataView, start: number, length: number): string {
  return Buffer.from(buffer, byteOffset + start, length).toString("utf8");
}
