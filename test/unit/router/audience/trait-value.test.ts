// Values of traits, as they are stored and compared.

import { expect, test } from "vitest";
import { keptValue } from "../../../../src/router/audience/apply-user.ts";

test("values of traits are compared whatever the order of their keys", () => {
  expect(keptValue({ a: 1, b: [{ c: 1, d: 2 }] })).toBe(keptValue({ b: [{ d: 2, c: 1 }], a: 1 }));
  expect(keptValue([1, 2])).not.toBe(keptValue([2, 1]));
  expect(keptValue("x".repeat(100))).toHaveLength(44);
  expect(keptValue(1)).not.toBe(keptValue("1"));
});
