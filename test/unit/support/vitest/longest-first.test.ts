// The files that begin first are there; none was renamed without its line.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { LONG_AND_SMALL } from "../../../support/vitest/longest-first.ts";

const FILES = readdirSync(join(import.meta.dirname, "../../../integration"));

test("each file that begins first is there, and named once", () => {
  expect(LONG_AND_SMALL.filter((name) => !FILES.includes(`${name}.test.ts`))).toEqual([]);
  expect(new Set(LONG_AND_SMALL).size).toBe(LONG_AND_SMALL.length);
});
