// A string that users copy into a shell is one word there.

import { expect, test } from "vitest";

import { shellWord } from "../../../src/domain/shell-word.ts";

test.each([
  ["switchyard.yaml", "switchyard.yaml"],
  ["/etc/switchyard/eu-1.yaml", "/etc/switchyard/eu-1.yaml"],
  ["my files/a.yaml", "'my files/a.yaml'"],
  ["it's.yaml", "'it'\\''s.yaml'"],
  ["$HOME.yaml", "'$HOME.yaml'"],
  ["a\nb", "'a\nb'"],
  ["~/a.yaml", "'~/a.yaml'"],
  ["", "''"],
])("%j is written as %s", (text, word) => {
  expect(shellWord(text)).toBe(word);
});
