// Keys of the store.

import { expect, test } from "vitest";

import {
  digestOf,
  firstOf,
  memberPrefix,
  traitsRange,
  userOf,
} from "../../../../src/router/audience/keys.ts";

test("keys keep the offset and the user apart, whatever is in the id", () => {
  for (const user of ["u", "a/b", "0", "\u{10ffff}x", " "]) {
    const key = memberPrefix(123_456) + user;
    expect([firstOf(key), userOf(key)]).toEqual([123_456, user]);
  }
  expect(traitsRange("a/b").from).not.toBe(traitsRange("a").from);
  expect(digestOf("s1")).not.toBe(digestOf("s2"));
});
