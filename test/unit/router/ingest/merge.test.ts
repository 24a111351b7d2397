// The context of a batch is merged with that of a call: each row of the table in src/router/ingest/read-call.ts.

import fc from "fast-check";
import { expect, test } from "vitest";
import { merge, mergeable } from "../../../../src/router/ingest/read-call.ts";
import { anyJson } from "../../../support/build/generated-calls.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

test.each([
  ["only the batch's", { a: 1 }, undefined, { a: 1 }],
  ["both", { a: 1, b: 1 }, { b: 2, c: 2 }, { a: 1, b: 2, c: 2 }],
  ["deep", { a: { x: 1, y: 1 } }, { a: { y: 2 } }, { a: { x: 1, y: 2 } }],
  ["an empty list is an absent object", { a: { x: 1 } }, { a: [] }, { a: { x: 1 } }],
  ["also at the top", { a: 1 }, [], { a: 1 }],
  ["an empty list replaces a list", { a: [1] }, { a: [] }, { a: [] }],
  ["lists replace", { a: [1, 2] }, { a: [3] }, { a: [3] }],
  ["null replaces", { a: { x: 1 } }, { a: null }, { a: null }],
  ["an object replaces text", { a: "x" }, { a: { y: 1 } }, { a: { y: 1 } }],
  ["text replaces an object", { a: { y: 1 } }, { a: "x" }, { a: "x" }],
  ["the call's null", { a: 1 }, null, null],
])("%s", (_, ofBatch, ofCall, merged) => {
  expect(merge(ofBatch, ofCall)).toEqual(merged);
});

test("names that are special elsewhere are members like others", () => {
  const merged = merge(
    JSON.parse('{"__proto__":{"a":1},"toString":1}'),
    JSON.parse('{"__proto__":{"b":2}}'),
  );
  expect(JSON.stringify(merged)).toBe('{"__proto__":{"a":1,"b":2},"toString":1}');
  expect(({} as { a?: unknown }).a).toBeUndefined();
});

test.each([undefined, null, "x", 7, [1], {}])("%j has nothing to add", (given) => {
  expect(mergeable(given)).toBeNull();
});

test("the call's own members always win, and what it lacks comes from the batch", () => {
  const object = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), anyJson, { maxKeys: 4 });
  fc.assert(
    fc.property(object, object, (ofBatch, ofCall) => {
      const merged = merge(ofBatch, ofCall) as Record<string, unknown>;
      expect(merge(merged, ofCall)).toEqual(merged);
      for (const [name, value] of Object.entries(ofBatch)) {
        if (!Object.hasOwn(ofCall, name)) expect(merged[name]).toBe(value);
      }
    }),
    { numRuns: costlyInputs(4) },
  );
});
