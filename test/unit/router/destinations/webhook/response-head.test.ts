// The start of an unsuccessful response.

import { expect, test } from "vitest";

import type { Phases } from "../../../../../src/router/destinations/port.ts";
import { keepAnswer } from "../../../../../src/router/destinations/webhook/http.ts";

function keptOf(status: number, pieces: readonly string[], keepBytes = 8): string | null {
  const phases: Phases = { keepBytes };
  for (const piece of pieces) keepAnswer(phases, status, Buffer.from(piece));
  return phases.kept === undefined ? null : Buffer.concat(phases.kept).toString();
}

test.each<[number, readonly string[], string | null]>([
  [500, ["abc"], "abc"],
  [404, ["abc", "def"], "abcdef"],
  [302, ["abcdefgh", "i"], "abcdefgh"],
  [500, ["abcdefghij", "k"], "abcdefgh"],
  [500, [], null],
  [200, ["abc"], null],
  [299, ["abc"], null],
])("of %i and %j it keeps %j", (status, pieces, kept) => {
  expect(keptOf(status, pieces)).toBe(kept);
});

test("a kept piece is a copy: the read that it came with can be freed", () => {
  const phases: Phases = { keepBytes: 2 };
  const read = Buffer.from("abcdef");
  keepAnswer(phases, 500, read);
  read.fill("x");
  expect(phases.kept?.[0]?.toString()).toBe("ab");
});
