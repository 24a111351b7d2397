// A literal is not spread into another one: that saves lines, and hides what is overwritten.

import { expect, test } from "vitest";

import { projectTexts } from "../../support/project/tracked-texts.ts";

const SPREAD = /\.\.\.\{ *(?:[\w.#]+|"[^"]*") *[,:}]/;

test("no literal is spread into another one", () => {
  const code = projectTexts().filter(({ path }) => path.startsWith("src/"));
  expect(code.length).toBeGreaterThan(200);
  expect(code.filter(({ text }) => SPREAD.test(text)).map(({ path }) => path)).toEqual([]);
});

test.each([
  ["{ ...{ a, b }, c }", true],
  ["{ ...{ a: 1 } }", true],
  ['{ ...{ "a-b": 1 } }', true],
  ["{ ...rest, a }", false],
  ["{ ...(isOne ? { a } : {}) }", false],
])("%j: %s", (code, expected) => {
  expect(SPREAD.test(code)).toBe(expected);
});
