// Calls of suppressed users: accepted like any other, and not written.

import { expect, test } from "vitest";
import type { CallsRead } from "../../../../src/router/ingest/read-calls.ts";
import { ingested, valuesOf } from "../../../support/build/ingested.ts";
import { suppressing } from "../../../support/build/suppressions.ts";

const read = (calls: readonly object[], ...suppressed: readonly string[]) => {
  const body = Buffer.from(JSON.stringify({ batch: calls }));
  return ingested(body, null, true, suppressing(...suppressed)) as CallsRead;
};
const page = (more: object) => ({ type: "page", messageId: "m", ...more });

test("the calls of a suppressed user are counted and not written, the others are", () => {
  const calls = [
    page({ userId: "u1" }),
    page({ userId: "u2" }),
    page({ anonymousId: "u1" }),
    page({ userId: "\u00751", name: "escaped" }),
    { type: "alias", userId: "u3", previousId: "u1" },
    { type: "alias", userId: "u3", previousId: "u4" },
    { type: "alias", userId: "u3" },
  ];
  const result = read(calls, "u1");
  expect(valuesOf(result).map(({ userId, anonymousId }) => userId ?? anonymousId)).toEqual([
    ...["u2", "u1", "u3"],
  ]);
  expect([result.suppressed, result.rejected.get("invalid-call")?.count]).toEqual([3, 1]);
  expect(read(calls).suppressed).toBe(0);
});

test("a number matches with all of its digits, and an invalid call is still rejected", () => {
  const id = "157963456373623802";
  const suppressions = suppressing(id, "u1");
  const body = (call: string) => Buffer.from(`{"batch":[${call}]}`);
  const result = (call: string) => ingested(body(call), null, true, suppressions) as CallsRead;
  expect(result(`{"type":"page","userId":${id}}`).suppressed).toBe(1);
  expect(result('{"type":"page","userId":157963456373623801}').suppressed).toBe(0);
  expect(result('{"type":"page","userId":"u1","n":NaN}').suppressed).toBe(1);
  expect(result('{"type":"track","userId":"u1"}')).toMatchObject({ suppressed: 0, records: [] });
});
