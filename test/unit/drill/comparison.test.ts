import { expect, test } from "vitest";

import { counted, dated, worded } from "../../drill/comparison.ts";

test.each([
  [3, { from: 3, to: 3 }, true],
  [4, { from: 3, to: 5 }, true],
  [2, { from: 3, to: 5 }, false],
  [6, { from: 3, to: 5 }, false],
  [0, null, false],
  [null, null, true],
  [null, { from: 0, to: 9 }, false],
])("a number %s, of which %j is true", (said, truth, ok) => {
  expect(counted("lag", said, truth).ok).toBe(ok);
  expect(dated("since", said, truth).ok).toBe(ok);
});

test("a word is one of those that are true", () => {
  expect(worded("state", "open", ["open", "half-open"])).toEqual({
    signal: "state",
    said: "open",
    truth: "open or half-open",
    ok: true,
  });
  expect(worded("state", "closed", ["open"]).ok).toBe(false);
});
