import { expect, test } from "vitest";

import { comparedCalls, Rows, usersOutOfOrder } from "../../control/row.ts";

test.each([
  [["a", "b"], ["b", "a"], "2 calls", true],
  [["a"], ["a"], "1 call", true],
  [[], [], "0 calls", true],
  [["a", "b"], ["a"], "1 call; 1 missing (b)", false],
  [["a"], ["a", "b"], "2 calls; 1 not expected (b)", false],
  [["a", "b"], ["a", "b", "a", "a"], "2 calls; 1 more than once (a)", false],
  [[..."abcd"], [], "0 calls; 4 missing (a, b, c, …)", false],
])("of %j, %j is seen: %s", (expected, seen, text, isSame) => {
  expect(comparedCalls(new Set(expected), seen)).toEqual({ text, isSame });
});

test("a line that is seen otherwise is not ok", () => {
  const rows = new Rows("step");
  rows.same("status", 0, 0);
  rows.same("status", 0, 1);
  rows.within("count", [2, 4], 4);
  rows.within("count", [2, 4], 5);
  rows.calls("arrived", ["a"], ["a"]);
  rows.calls("arrived", ["a"], []);
  expect(rows.all.map(({ expected, seen, ok }) => [expected, seen, ok])).toEqual([
    ["0", "0", true],
    ["0", "1", false],
    ["2 to 4", "4", true],
    ["2 to 4", "5", false],
    ["1 call", "1 call", true],
    ["1 call", "0 calls; 1 missing (a)", false],
  ]);
});

test("users whose calls came in another order", () => {
  const call = (id: string, user: string) => ({ id, user });
  const published = [call("1", "a"), call("2", "b"), call("3", "a"), call("4", "b")];
  const arrived = [call("2", "b"), call("3", "a"), call("4", "b"), call("1", "a")];
  expect(usersOutOfOrder(published, published)).toEqual([]);
  expect(usersOutOfOrder(published, arrived)).toEqual(["a"]);
});
