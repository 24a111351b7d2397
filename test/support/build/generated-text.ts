/** Generates strings of all characters. */

import fc from "fast-check";

const LAST = 0x10ffff;
const SURROGATES = { first: 0xd800, count: 0x800 };

/**
 * Any character except a lone surrogate, like fast-check's unit "binary". fast-check would take half a second to create
 * a table of all 1.1 million characters.
 */
const character = fc
  .nat(LAST - SURROGATES.count)
  .map((number) => number + (number < SURROGATES.first ? 0 : SURROGATES.count))
  .map((codePoint) => String.fromCodePoint(codePoint));

/** @param lengths lengths in characters. */
export function anyText(
  lengths: { readonly minLength?: number; readonly maxLength?: number } = {},
): fc.Arbitrary<string> {
  return fc.string({ unit: character, ...lengths });
}
