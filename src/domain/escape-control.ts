/**
 * Escapes characters that could control a terminal or reorder the text on it. The escapes are those of JSON strings,
 * so JSON keeps its meaning.
 *
 *   characters                                       visibleText   visibleCell
 *   line feed, tab, ESC and the rest of C0           kept          \u000a
 *   DEL and C1 (0x7f to 0x9f)                        \u009b        \u009b
 *   bidi controls, line and paragraph separators     \u202e        \u202e
 */

const CONTROL = /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu;
const CONTROL_OR_C0 = /[\p{Cc}\u2028\u2029\p{Bidi_Control}]/gu;
/** Testing is cheaper than replacing, and most strings contain no such character. */
const ANY_CONTROL = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

/** Escapes complete output, in which Switchyard itself writes line feeds and colors. */
export function visibleText(text: string): string {
  return ANY_CONTROL.test(text) ? text.replace(CONTROL, escaped) : text;
}

/** Escapes data inside a line of output, such as an ID, a name, or a sentence that quotes an ID or a name. */
export function visibleCell(text: string): string {
  return text.replace(CONTROL_OR_C0, escaped);
}

/** Escapes a message of several lines. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visibleCell).join("\n");
}

/** The escape of a character in JSON. */
export function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
