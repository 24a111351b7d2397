/**
 * Globs of `match`. They are matched without regular expressions, a character being one code point.
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
 * Between its stars a glob has pieces of a fixed number of characters. The first piece has to be at the start of the text,
 * the last one at its end, and each of the others is taken where it fits first: if a text matches at all, it does so
 * with these. So nothing is tried twice, and a match takes at most the text's length times the glob's.
 */

export const GLOB_BYTES_MAX = 256;

/** Null: malformed, or longer than `GLOB_BYTES_MAX`. */
export type Glob = (text: string) => boolean;

type One = (codePoint: number) => boolean;

interface Piece {
  readonly characters: readonly One[];
  /** If it has no lists and no `?`: the text that it matches. */
  readonly literal: string | null;
}

const ANY: One = () => true;

export function compileGlob(glob: string): Glob | null {
  // Bytes are at least as many as units.
  if (glob.length > GLOB_BYTES_MAX || Buffer.byteLength(glob) > GLOB_BYTES_MAX) return null;
  const pieces = piecesOf([...glob]);
  if (pieces === null) return null;
  const [first, ...others] = pieces;
  const last = others.pop();
  if (first === undefined) return null;
  if (last === undefined) return (text) => endOf(first, text, 0) === text.length;
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

/** Null: malformed. */
function piecesOf(glob: readonly string[]): readonly Piece[] | null {
  const pieces: Piece[] = [];
  let characters: One[] = [];
  let literal: string | null = "";
  for (let at = 0; at < glob.length; at += 1) {
    const character = glob[at] ?? "";
    if (character === "*") {
      pieces.push({ characters, literal });
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
      if (listed === undefined) return null;
      const codePoint = listed.codePointAt(0);
      characters.push((given) => given === codePoint);
      // Half of a character could be found inside another one.
      literal = literal === null || !listed.isWellFormed() ? null : literal + listed;
    }
  }
  pieces.push({ characters, literal });
  return pieces;
}

/** @returns the index of its bracket; null: malformed. */
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
  const one: One = (given) =>
    ranges.some(([from, to]) => from <= given && given <= to) !== isNegated;
  return { one, end: at };
}

function listedAt(glob: readonly string[], at: number): { codePoint: number; end: number } | null {
  const character = glob[at];
  if (character === "-" || character === "]") return null;
  const place = character === "\\" ? at + 1 : at;
  const codePoint = glob[place]?.codePointAt(0);
  return codePoint === undefined ? null : { codePoint, end: place + 1 };
}

/** Where the piece ends that is at `start`; -1: it is not there. */
function endOf({ characters, literal }: Piece, text: string, start: number): number {
  if (literal !== null) return text.startsWith(literal, start) ? start + literal.length : -1;
  let at = start;
  for (const one of characters) {
    const codePoint = text.codePointAt(at);
    if (codePoint === undefined || !one(codePoint)) return -1;
    at += codePoint > 0xffff ? 2 : 1;
  }
  return at;
}

/** Where the piece starts at the end of the text; -1: it is not there. */
function startOfLast(piece: Piece, text: string): number {
  const { characters, literal } = piece;
  if (literal !== null) return text.endsWith(literal) ? text.length - literal.length : -1;
  let at = text.length;
  for (let left = characters.length; left > 0; left -= 1) at -= widthBefore(text, at);
  return at >= 0 && endOf(piece, text, at) === text.length ? at : -1;
}

/** Units of the character that ends at `at`. */
function widthBefore(text: string, at: number): number {
  return at >= 2 && (text.codePointAt(at - 2) ?? 0) > 0xffff ? 2 : 1;
}

/** Where the piece ends, at the first place from `start` at which it is; -1: there is none. */
function endOfFirst(piece: Piece, text: string, start: number): number {
  if (piece.literal !== null) {
    const found = text.indexOf(piece.literal, start);
    return found < 0 ? -1 : found + piece.literal.length;
  }
  for (let at = start; at <= text.length; ) {
    const end = endOf(piece, text, at);
    if (end >= 0) return end;
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  }
  return -1;
}
