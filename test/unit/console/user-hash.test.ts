import { expect, test } from "vitest";

import { userHash } from "../../../src/console/user-hash.ts";

test("the hash of a user id fits an address, is the same each time, and goes by the token", () => {
  const hash = userHash("ada@example.com", "0123456789abcdef");
  expect(hash).toMatch(/^[\da-f]{32}$/);
  expect(userHash("ada@example.com", "0123456789abcdef")).toBe(hash);
  const others = [
    userHash("ada@example.com", "fedcba9876543210"),
    userHash("ada@example.com", null),
    userHash("bob@example.com", "0123456789abcdef"),
  ];
  expect(new Set([hash, ...others]).size).toBe(4);
});
