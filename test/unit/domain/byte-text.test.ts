// Text as bytes equals the text, for any initial size of the buffer.

import { expect, test } from "vitest";

import { ByteText } from "../../../src/domain/byte-text.ts";

function written(write: (out: ByteText) => void): string {
  const out = new ByteText(1);
  write(out);
  return out.bytes.toString("utf8", 0, out.length);
}

test.each(["", "a", "x".repeat(47), "x".repeat(48), "é\u{1f600}", "\ud800".toWellFormed()])(
  "%j is written as text and as a piece",
  (text) => {
    const both = written((out) => {
      out.addText(text);
      out.add(Buffer.from(`${text}.`));
      out.addText(text);
    });
    expect(both).toBe(`${text}${text}.${text}`);
  },
);

test.each([0, 9, 10, 99, 100, 65_535, 2 ** 31, 2 ** 32 + 1, Number.MAX_SAFE_INTEGER])(
  "the number %d",
  (value) => {
    expect(written((out) => out.addInteger(value))).toBe(`${value}`);
  },
);

test.each([
  [0, "0"],
  [0.04, "0"],
  [0.05, "0.1"],
  [0.95, "1"],
  [9.96, "10"],
  [12.34, "12.3"],
  [4_999.99, "5000"],
  [86_400_000.5, "86400000.5"],
])("%d to a tenth is %s", (value, text) => {
  expect(written((out) => out.addTenths(value))).toBe(text);
});

test.each([
  ["m-1 ~!#[]", true],
  ["", true],
  ['a"', false],
  ["a\\", false],
  ["a\u007f", false],
  ["a\u001f", false],
  ["aé", false],
])("%j is plain: %s", (text, isPlain) => {
  const out = new ByteText(1);
  out.addText("before");
  expect(out.addPlain(text)).toBe(isPlain);
  expect(out.bytes.toString("utf8", 0, out.length)).toBe(isPlain ? `before${text}` : "before");
});
