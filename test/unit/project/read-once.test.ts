// Pages and comments are in English that is read once: subject first, one fact a sentence.

import { expect, test } from "vitest";

import { readTwice } from "../../support/project/read-once.ts";
import { projectTexts } from "../../support/project/tracked-texts.ts";

const texts = projectTexts().filter(({ path }) => path.startsWith("src/") || path.endsWith(".md"));

test("no page and no comment of src has a clause in place of a subject", () => {
  expect(texts.length).toBeGreaterThan(200);
  const found = texts.flatMap(({ path, text }) =>
    readTwice(path, text).map((sentence) => `${path}: ${sentence}`),
  );
  expect(found).toEqual([]);
});

test.each([
  ["src/x.ts", "/** A list of them would grow; whoever still lacks something is found here. */"],
  ["src/x.ts", "// By whom was asked: how often in a row a topic was unknown."],
  ["src/x.ts", "/**\n * It waits. What is left\n * goes on later.\n */"],
  ["src/x.ts", "/** What the partitions share. */"],
  ["src/x.ts", " *   nobody     What is kept stays"],
  ["x.md", "Who resumes a run takes it over."],
  ["x.md", "| `a` | What is planned. |"],
  ["x.md", "- **What cannot be used** becomes a dead letter."],
  ["x.md", "## What is stored"],
  ["x.md", "It goes to whomever\nasks."],
])("in %s, %j is found", (path, text) => {
  expect(readTwice(path, text)).toHaveLength(1);
});

test.each([
  ["src/x.ts", 'const text = "What is planned.";'],
  ["src/x.ts", "// It says what is planned, whatever comes."],
  ["x.md", "| What fails? | `What is this` |"],
  ["x.md", "```\nWhoever runs this\n```\n"],
])("in %s, %j is not", (path, text) => {
  expect(readTwice(path, text)).toEqual([]);
});
