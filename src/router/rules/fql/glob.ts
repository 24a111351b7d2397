/**
 * Matches the globs of the function `match`, without regular expressions. A character is one code point.
 *
 *   part      matches
 *   *         any number of characters
 *   ?         one
 *   [a-z_]    one that is listed; ] and - need a backslash in a list
 *   [^a-z_]   one that is not listed
 *   \x        the character x
 *   x         x
 *
 * A glob is malformed if a list is not closed, is empty or has a range from a higher character to a lower one, or if
 * nothing comes after a backslash.
 *
 * The stars divide a glob into pieces, each with a fixed number of characters. The first piece has to match at the
 * start of the text, and the last piece at its end. Each of the other pieces is matched at the first possible
 * position: if the text matches the glob at all, it also matches with these positions. A piece that contains lists
 * or `?` is compared at all positions in one pass (`endOfFirst`), in which each character of the text costs one step
 * per 32 characters of the piece.
 */

export const GLOB_BYTES_MAX = 256;

/** Null if the glob is malformed, or longer than `GLOB_BYTES_MAX`. */
export type Glob = (text: string) => boolean;

/** A character of a piece. It matches the listed code points or, with `isNegated`, all others. */
interface One {
  readonly ranges: readonly (readonly [from: number, to: number])[];
  readonly isNegated: boolean;
}

interface Piece {
  readonly characters: readonly One[];
  /** The only text that the piece matches; null if the piece contains a list or a `?`, or is not well-formed Unicode. */
  readonly literal: string | null;
  /** Null if the piece is found by its literal, or if its position is fixed, so that it need not be searched for. */
  readonly classes: Classes | null;
}

/**
 * Divides all code points into classes, so that no character of the piece matches only a part of a class. Bit n in
 * the words of a class is set if character n of the piece matches the class.
 */
interface Classes {
  /** The first code point of each class, in ascending order. */
  readonly starts: readonly number[];
  /** The class of each ASCII character. */
  readonly ascii: Uint16Array;
  readonly words: number;
  /** The bits of all classes; each class has `words` elements. */
  readonly bits: Int32Array;
}

const ANY: One = { ranges: [], isNegated: true };

function isOne({ ranges, isNegated }: One, codePoint: number): boolean {
  for (const [from, to] of ranges) {
    if (from <= codePoint && codePoint <= to) return !isNegated;
  }
  return isNegated;
}

export function compileGlob(glob: string): Glob | null {
  // A string has at least as many bytes as UTF-16 code units.
  if (glob.length > GLOB_BYTES_MAX || Buffer.byteLength(glob) > GLOB_BYTES_MAX) return null;
  const pieces = piecesOf([...glob]);
  if (pieces === null) return null;
  const [first, ...rest] = pieces;
  const last = rest.pop();
  if (first === undefined) return null;
  if (last === undefined) return (text) => endOf(first, text, 0) === text.length;
  const others = rest.map(withClasses);
  return (text) => {
    const start = endOf(first, text, 0);
    const end = startOfLast(last, text);
    return start >= 0 && end >= start && fitBetween(others, text, start, end);
  };
}

function fitBetween(pieces: readonly Piece[], text: string, start: number, end: number): boolean {
  let at = start;
  for (const piece of pieces) {
    at = endOfFirst(piece, text, at);
    if (at < 0 || at > end) return false;
  }
  return true;
}

/** Null if the glob is malformed. */
function piecesOf(glob: readonly string[]): readonly Piece[] | null {
  const pieces: Piece[] = [];
  let characters: One[] = [];
  let literal: string | null = "";
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob[at] ?? "";
    if (character === "*") {
      pieces.push({ characters, literal, classes: null });
      characters = [];
      literal = "";
    } else if (character === "?") {
      characters.push(ANY);
      literal = null;
    } else if (character === "[") {
      const list = listAt(glob, at + 1);
      if (list === null) return null;
      characters.push(list.one);
      literal = null;
      at = list.end;
    } else {
      if (character === "\\") at += 1;
      const listed = glob[at];
      const codePoint = listed?.codePointAt(0);
      if (listed === undefined || codePoint === undefined) return null;
      characters.push({ ranges: [[codePoint, codePoint]], isNegated: false });
      // An unpaired surrogate in a literal could be found in the middle of another character.
      literal = literal === null || !listed.isWellFormed() ? null : literal + listed;
    }
  }
  pieces.push({ characters, literal, classes: null });
  return pieces;
}

/** @returns the index of the closing bracket; null if the list is malformed. */
function listAt(glob: readonly string[], start: number): { one: One; end: number } | null {
  const isNegated = glob[start] === "^";
  const ranges: (readonly [from: number, to: number])[] = [];
  let at = isNegated ? start + 1 : start;
  while (glob[at] !== "]") {
    const from = listedAt(glob, at);
    if (from === null) return null;
    const isRange = glob[from.end] === "-";
    const to = isRange ? listedAt(glob, from.end + 1) : from;
    if (to === null || to.codePoint < from.codePoint) return null;
    ranges.push([from.codePoint, to.codePoint]);
    at = to.end;
  }
  if (ranges.length === 0) return null;
  return { one: { ranges, isNegated }, end: at };
}

function listedAt(glob: readonly string[], at: number): { codePoint: number; end: number } | null {
  const character = glob[at];
  if (character === "-" || character === "]") return null;
  const place = character === "\\" ? at + 1 : at;
  const codePoint = glob[place]?.codePointAt(0);
  return codePoint === undefined ? null : { codePoint, end: place + 1 };
}

/** The index at which the piece ends if it matches at `start`; otherwise -1. */
function endOf({ characters, literal }: Piece, text: string, start: number): number {
  if (literal !== null) return text.startsWith(literal, start) ? start + literal.length : -1;
  let at = start;
  for (const one of characters) {
    const codePoint = text.codePointAt(at);
    if (codePoint === undefined || !isOne(one, codePoint)) return -1;
    at += codePoint > 0xffff ? 2 : 1;
  }
  return at;
}

/** The index at which the piece starts if it matches at the end of the text; otherwise -1. */
function startOfLast(piece: Piece, text: string): number {
  const { characters, literal } = piece;
  if (literal !== null) return text.endsWith(literal) ? text.length - literal.length : -1;
  let at = text.length;
  for (let left = characters.length; left > 0; left -= 1) at -= widthBefore(text, at);
  return at >= 0 && endOf(piece, text, at) === text.length ? at : -1;
}

/** The number of UTF-16 code units of the character that ends at `at`. */
function widthBefore(text: string, at: number): number {
  return at >= 2 && (text.codePointAt(at - 2) ?? 0) > 0xffff ? 2 : 1;
}

function withClasses(piece: Piece): Piece {
  if (piece.literal !== null) return piece;
  const { characters } = piece;
  const limits = new Set([0]);
  for (const { ranges } of characters) {
    for (const [from, to] of ranges) limits.add(from).add(to + 1);
  }
  const starts = [...limits].sort((a, b) => a - b);
  const words = (characters.length + 31) >> 5;
  const bits = new Int32Array(starts.length * words);
  for (const [each, start] of starts.entries()) {
    for (const [at, one] of characters.entries()) {
      if (!isOne(one, start)) continue;
      const word = each * words + (at >> 5);
      bits[word] = (bits[word] ?? 0) | (1 << (at & 31));
    }
  }
  const ascii = new Uint16Array(128);
  for (const [each, start] of starts.entries()) ascii.fill(each, start);
  return { ...piece, classes: { starts, ascii, words, bits } };
}

function classOf(starts: readonly number[], codePoint: number): number {
  let low = 0;
  for (let high = starts.length; high - low > 1; ) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= codePoint) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * The end of the piece's first occurrence at or after `start`; -1 if it does not occur. Uses the algorithm of
 * Baeza-Yates and Gonnet: bit n of `found` is set if the last characters that were read match the characters 0 to n
 * of the piece.
 */
function endOfFirst({ characters, literal, classes }: Piece, text: string, start: number): number {
  if (literal !== null || classes === null) {
    const end = text.indexOf(literal ?? "", start);
    return end < 0 ? -1 : end + (literal ?? "").length;
  }
  const { starts, ascii, words, bits } = classes;
  const found = new Int32Array(words);
  const last = characters.length - 1;
  for (let at = start; at < text.length; ) {
    const codePoint = text.codePointAt(at) ?? 0;
    at += codePoint > 0xffff ? 2 : 1;
    const first = words * (ascii[codePoint] ?? classOf(starts, codePoint));
    let carried = 1;
    for (let word = 0; word < words; word += 1) {
      const before = found[word] ?? 0;
      found[word] = ((before << 1) | carried) & (bits[first + word] ?? 0);
      carried = before >>> 31;
    }
    if ((((found[words - 1] ?? 0) >>> (last & 31)) & 1) === 1) return at;
  }
  return -1;
}
