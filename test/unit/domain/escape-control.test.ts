import { expect, test } from "vitest";

import { visibleCell, visibleText } from "../../../src/domain/escape-control.ts";

test.each([
  ["plain", "Café ☕ 日本 👋", "Café ☕ 日本 👋", "Café ☕ 日本 👋"],
  ["line feed and tab", "a\n\tb", "a\n\tb", "a\\u000a\\u0009b"],
  ["ESC", "\u001b[2J", "\u001b[2J", "\\u001b[2J"],
  ["DEL", "\u007f", "\\u007f", "\\u007f"],
  ["C1's CSI", "\u009b2J", "\\u009b2J", "\\u009b2J"],
  ["right to left override", "a\u202eb", "a\\u202eb", "a\\u202eb"],
  ["isolates", "\u2066\u2069", "\\u2066\\u2069", "\\u2066\\u2069"],
  ["marks", "\u200e\u200f\u061c", "\\u200e\\u200f\\u061c", "\\u200e\\u200f\\u061c"],
  ["line separators", "\u2028\u2029", "\\u2028\\u2029", "\\u2028\\u2029"],
])("%s", (_name, text, inText, inCell) => {
  expect(visibleText(text)).toBe(inText);
  expect(visibleCell(text)).toBe(inCell);
});

test("the look before the replacement finds every character that is replaced", () => {
  const { replaced, found } = { replaced: [] as number[], found: [] as number[] };
  for (let code = 0; code < 0x10_000; code += 1) {
    const character = String.fromCharCode(code);
    if (/[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/u.test(character)) replaced.push(code);
    if (visibleText(character) !== character) found.push(code);
  }
  expect(found).toEqual(replaced);
});

test("JSON stays the same JSON", () => {
  const value = { "\u009bkey": "a\u202eb\u007f\u2028" };
  expect(JSON.parse(visibleText(JSON.stringify(value)))).toEqual(value);
});
