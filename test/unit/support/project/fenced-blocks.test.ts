// The fenced blocks of a page, and printed lines.

import { expect, test } from "vitest";

import { fencedBlocks, isPrinted } from "../../../support/project/fenced-blocks.ts";

test("a page's blocks have a language, what follows it, and their text", () => {
  const page = "a\n```sh terminal 1\nls\n```\n\n```\nnone\n```\n\n```js a/b.mjs\nx;\n```\n";
  expect(fencedBlocks(page)).toEqual([
    { language: "sh", info: "terminal 1", text: "ls\n" },
    { language: "js", info: "a/b.mjs", text: "x;\n" },
  ]);
});

test("a block in a list is reported without its indentation", () => {
  const page = "1. First:\n\n   ```sh status 1\n   ls\n     x\n   ```\n\n```sh\npwd\n```\n";
  expect(fencedBlocks(page)).toEqual([
    { language: "sh", info: "status 1", text: "ls\n  x\n" },
    { language: "sh", info: "", text: "pwd\n" },
  ]);
});

test.each([
  ["accepted: a", "x\naccepted: a\n", true],
  ["accepted: a.", "accepted: ab", false],
  ['…"a":1…"b"…', '{"a":1,"c":2,"b":3}', true],
  ["a…b", "a\nb", false],
])("%j in %j: %j", (line, output, expected) => {
  expect(isPrinted(line, output)).toBe(expected);
});
