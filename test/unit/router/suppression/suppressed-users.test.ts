// The set of suppressed users: exact for every ID, whatever was added and removed before.

import { expect, test } from "vitest";
import { SuppressedUsers, userHash } from "../../../../src/router/suppression/suppressed-users.ts";
import { createPrng } from "../../../support/clock/prng.ts";

test("nobody matches in an empty set", () => {
  const users = new SuppressedUsers(1);
  expect([users.has("u1"), users.hasHash(userHash("u1")), users.size]).toEqual([false, false, 0]);
});

test("it agrees with a set of IDs over 200,000 random changes, in which it grows", () => {
  const random = createPrng(52);
  const users = new SuppressedUsers(random.integer(0, 2 ** 31 - 1));
  const expected = new Set<string>();
  for (let step = 0; step < 200_000; step += 1) {
    const userId = `user-${random.integer(0, 40_000)}`;
    if (random.integer(0, 2) === 0) {
      users.remove(userId);
      expected.delete(userId);
    } else {
      users.add(userId);
      expected.add(userId);
    }
  }
  expect(users.size).toBe(expected.size);
  const wrong = Array.from({ length: 40_001 }, (_, at) => `user-${at}`).filter(
    (userId) =>
      users.has(userId) !== expected.has(userId) ||
      users.hasHash(userHash(userId)) !== expected.has(userId),
  );
  expect(wrong).toEqual([]);
});

test("IDs of any length and content are told apart", () => {
  const users = new SuppressedUsers(7);
  const long = "x".repeat(1_000_000);
  const middle = `${"x".repeat(500_000)}y${"x".repeat(499_999)}`;
  for (const userId of [" ", "é", "😀", long]) users.add(userId);
  expect([" ", "é", "😀", long].map((userId) => users.has(userId))).toEqual(Array(4).fill(true));
  const others = ["", "  ", "e\u0301", "\ud83d", "\ude00", middle, long.slice(1), "U"];
  expect(others.filter((userId) => users.has(userId))).toEqual([]);
});

test("a lone surrogate does not match the ID whose bytes in UTF-8 are the same", () => {
  const users = new SuppressedUsers(7);
  users.add("a\ufffd");
  expect(users.has("a\ufffd")).toBe(true);
  expect(["a\ud800", "a\udc00"].filter((userId) => users.has(userId))).toEqual([]);
});

test("a user who is added twice is removed once", () => {
  const users = new SuppressedUsers(7);
  users.add("u1");
  users.add("u1");
  expect(users.size).toBe(1);
  users.remove("u1");
  users.remove("u1");
  expect([users.size, users.has("u1")]).toEqual([0, false]);
});
