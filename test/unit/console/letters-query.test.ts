import { expect, test } from "vitest";

import { lettersQuery } from "../../../src/console/letters-query.ts";

test.each([
  ["", { destination: null, reason: null, sinceMs: 86_400_000 }],
  ["since=1h&reason=expired", { destination: null, reason: "expired", sinceMs: 3_600_000 }],
  ["since=forever&destination=crm", { destination: "crm", reason: null, sinceMs: 86_400_000 }],
  ["destination=&since=toString", { destination: null, reason: null, sinceMs: 86_400_000 }],
])("%s", (text, expected) => {
  expect(lettersQuery(new URLSearchParams(text))).toEqual(expected);
});
