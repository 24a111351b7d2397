// Message IDs of calls from audiences.

import { expect, test } from "vitest";
import {
  membershipMessageId,
  traitMessageId,
} from "../../../../src/router/audience/identify-call.ts";

test("message ids are version 5, and differ with everything that names them", () => {
  const change = { audienceId: "a", first: 3, userId: "u", by: "s", value: true };
  const ids = [
    change,
    { ...change, audienceId: "b" },
    { ...change, first: 4 },
    { ...change, userId: "v" },
    { ...change, by: "t" },
    { ...change, value: false },
  ].map(membershipMessageId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids)
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-5[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
  expect(membershipMessageId(change)).toBe(ids[0]);
  const at = { partition: 1, offset: 2 };
  expect(traitMessageId("k", "u", at)).not.toBe(traitMessageId("k", "u", { ...at, offset: 3 }));
});
