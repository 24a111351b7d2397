import { expect, test } from "vitest";

import { deadLettersQuery } from "../../../src/console/dead-letters-query.ts";

test.each([
  ["", {}],
  ["since=1h&reason=expired", { reason: "expired", sinceMs: 3_600_000 }],
  ["since=forever&destination=crm", { destination: "crm" }],
  ["destination=&since=toString&state=toString", {}],
  ["state=waiting", { isReplayed: false }],
  ["state=replayed", { isReplayed: true }],
  ["state=all", {}],
])("%s", (text, expected) => {
  const all = { destination: null, reason: null, isReplayed: null, sinceMs: 86_400_000 };
  expect(deadLettersQuery(new URLSearchParams(text))).toEqual({ ...all, ...expected });
});
