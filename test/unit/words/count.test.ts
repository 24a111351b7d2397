import { expect, test } from "vitest";

import { counted } from "../../../src/words/count.ts";

test.each([
  [0, "0 records"],
  [1, "1 record"],
  [2, "2 records"],
  [1_024, "1,024 records"],
])("%i", (count, text) => {
  expect(counted(count, "record")).toBe(text);
});

test("a plural of its own", () => {
  expect(counted(2, "entry", "entries")).toBe("2 entries");
});
