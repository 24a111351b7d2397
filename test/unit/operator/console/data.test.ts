import { expect, test } from "vitest";

import { queryOf, userHash } from "../../../../src/operator/console/data.ts";

test.each([
  ["", {}],
  ["since=1h&reason=expired", { reason: "expired", sinceMs: 3_600_000 }],
  ["since=forever&destination=crm", { destination: "crm" }],
  ["destination=&since=toString&state=toString", {}],
  ["state=not+replayed", { isReplayed: false }],
  ["state=replayed", { isReplayed: true }],
  ["state=all", {}],
])("%s", (text, expected) => {
  const all = { destination: null, reason: null, isReplayed: null, sinceMs: 86_400_000 };
  const query = queryOf(new URLSearchParams(text), null);
  expect(query).toEqual({ ...all, messageId: "", isUser: null, ...expected });
});

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
