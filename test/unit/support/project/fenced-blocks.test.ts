// A line of a page that was not printed is found.

import { expect, test } from "vitest";

import { isPrinted } from "../../../support/project/fenced-blocks.ts";

test.each([
  ["accepted: a", "x\naccepted: a\n", true],
  ["accepted: a.", "accepted: ab", false],
  ['…"a":1…"b"…', '{"a":1,"c":2,"b":3}', true],
  ["a…b", "a\nb", false],
])("%j in %j: %j", (line, output, expected) => {
  expect(isPrinted(line, output)).toBe(expected);
});
