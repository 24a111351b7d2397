import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { JsonValue } from "../../../../src/router/rules/json-value.ts";
import { GENERATED_INPUTS } from "../../../support/build/generated-inputs.ts";

const MEMBERS = 1_000;
const many = (more: string) =>
  Buffer.from(
    `{${Array.from({ length: MEMBERS }, (_, at) => `"m${at}": ${at}, `).join("")}${more}}`,
  );

test.each<[string, (copy: JsonValue) => void, string]>([
  ["nothing", () => undefined, ' { "a" : 1 , "b": [2],\n"c":3 } '],
  ["the first", (copy) => copy.delete("a"), '{"b": [2],\n"c":3 }'],
  ["one in the middle", (copy) => copy.delete("b"), '{"a" : 1 ,\n"c":3 }'],
  ["the last", (copy) => copy.delete("c"), '{"a" : 1 , "b": [2] }'],
  ["all but the last", (copy) => ["b", "a"].map((name) => copy.delete(name)), '{"c":3 }'],
  ["all but the first", (copy) => ["c", "b"].map((name) => copy.delete(name)), '{"a" : 1  }'],
  ["all", (copy) => ["c", "a", "b"].map((name) => copy.delete(name)), "{}"],
])("what a rule does not name stays as it was: %s is deleted", (_, change, expected) => {
  const value = JsonValue.of(' { "a" : 1 , "b": [2],\n"c":3 } ');
  change(value);
  expect(value.text().trim()).toBe(expected.trim());
});

test.each([
  ["", 0],
  // The bytes in which each name is there once are written for the first of the copies.
  ['"m1": 2, ', 4 * MEMBERS],
])(
  "a change costs as many pieces for a value with 1,000 members as it changes: %j",
  (again, once) => {
    const value = JsonValue.read(many(`${again}"last": 1`));
    const copies = vi.spyOn(Buffer.prototype, "copy");
    for (let destination = 0; destination < 50; destination += 1) {
      const copy = value.copy();
      copy.set("m500", JsonValue.of(`"${destination}"`));
      copy.delete("m700");
      const expected = { ...JSON.parse(`${many(`${again}"last": 1`)}`), m500: `${destination}` };
      delete expected.m700;
      expect(JSON.parse(`${copy.toBytes()}`)).toEqual(expected);
    }
    const pieces = copies.mock.calls.length;
    copies.mockRestore();
    expect(pieces).toBeLessThanOrEqual(once + 50 * 6);
  },
);

test("whatever the members and the changes: the result is that of the same changes after JSON.parse", () => {
  const name = fc.constantFrom(..."abcdefg", "\\u0061", "é");
  const members = fc.array(fc.tuple(name, fc.constantFrom("1", "[ ]", '{"a":1}', '"x"')));
  const changes = fc.array(fc.tuple(name, fc.option(fc.constantFrom("7", '{"b":2}'))));
  const spaces = fc.constantFrom("", " ", "\n\t");
  fc.assert(
    fc.property(members, changes, spaces, (sent, changed, space) => {
      const inside = sent.map(([key, json]) => `${space}"${key}"${space}:${json}${space}`);
      const text = `{${inside.join(",")}${space}}`;
      const expected = new Map<string, unknown>(Object.entries(JSON.parse(text)));
      const value = JsonValue.of(text).copy();
      for (const [escaped, json] of changed) {
        const key = JSON.parse(`"${escaped}"`) as string;
        if (json === null) {
          value.delete(key);
          expected.delete(key);
        } else {
          value.set(key, JsonValue.of(json));
          expected.set(key, JSON.parse(json));
        }
      }
      expect(Object.entries(JSON.parse(value.text()))).toEqual([...expected]);
    }),
    { numRuns: GENERATED_INPUTS },
  );
});
