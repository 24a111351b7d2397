// The output of `status --watch` fits the terminal, whatever there is to show.

import { stripVTControlCharacters } from "node:util";
import picocolors from "picocolors";
import { expect, test } from "vitest";

import { pageOf } from "../../../../../src/program/cli/status/watch.ts";

const lines = (page: string) => stripVTControlCharacters(page).split("\n");

test("a short page is shown whole", () => {
  expect(lines(pageOf("a\nb\n", { rows: 24, columns: 80 }))).toEqual([
    "a",
    "b",
    "Press Ctrl-C to stop.",
  ]);
});

test("a long page is cut to the rows of the terminal, and says what is omitted", () => {
  const text = Array.from({ length: 100 }, (_, at) => `line ${at}`).join("\n");
  const shown = lines(pageOf(text, { rows: 10, columns: 80 }));
  expect(shown).toHaveLength(10);
  expect(shown.at(-1)).toBe("91 more lines. Press Ctrl-C to stop.");
});

test("a wide line is cut, without the colours that would then not end", () => {
  const { red } = picocolors.createColors(true);
  const [cut] = pageOf(red("x".repeat(50)), { rows: 24, columns: 20 }).split("\n");
  expect(stripVTControlCharacters(cut ?? "")).toBe(`${"x".repeat(19)}…`);
  expect(cut).not.toContain("[31m");
  expect(pageOf(red("short"), { rows: 24, columns: 20 })).toContain("[31m");
});
