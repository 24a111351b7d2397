import { expect, test } from "vitest";

import { counted, firstNames } from "../../../src/words/count.ts";

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

test("of many names the first 50, and how many more there are", () => {
  const names = Array.from({ length: 2_050 }, (_, index) => `t${index}`);
  expect(firstNames(names.slice(0, 50))).toEqual(names.slice(0, 50));
  expect(firstNames(names)).toEqual([...names.slice(0, 50), "2,000 more"]);
});
