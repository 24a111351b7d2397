import fc from "fast-check";
import { expect, test, vi } from "vitest";

import { decodeValue } from "../../../src/domain/decode.ts";
import { exactNumber } from "../../../src/domain/exact-ids.ts";
import { parseCall } from "../../../src/domain/parse-call.ts";
import { GENERATED_INPUTS } from "../../support/build/generated-inputs.ts";
import { recordValue } from "../../support/build/record-value.ts";

const decoded = (text: string) => {
  const value = decodeValue(recordValue(Buffer.from(text)));
  return value.kind === "json" ? value.json : value;
};

const FIELDS = [
  ...["userId", "anonymousId", "groupId", "previousId", "messageId"],
  ...["sourceId", "audienceId", "syncId"],
];

test.each(FIELDS)("%s keeps digits that JavaScript would round", (field) => {
  const digits = ["157963456373623802", "-9223372036854775808", "12345678901234567890123"];
  for (const each of digits) {
    expect(decoded(`{"a":1,"${field}" : ${each} }`)).toEqual({ a: 1, [field]: each });
  }
});

test.each(["userIds", "sourceIds"])("each of %s keeps its digits", (field) => {
  expect(decoded(`{"${field}":["a", 157963456373623801,157963456373623802,3, null]}`)).toEqual({
    [field]: ["a", "157963456373623801", "157963456373623802", 3, null],
  });
});

test.each<[string, number | string]>([
  ["0", 0],
  ["-0", -0],
  ["1.0", 1],
  ["1e3", 1_000],
  ["1e21", 1e21],
  ["0.1", 0.1],
  ["1.5E-7", 1.5e-7],
  ["9007199254740991", 9007199254740991],
  ["9007199254740992", "9007199254740992"],
  // These numbers are doubles, but JavaScript formats them with other digits.
  ["157963456373623808", "157963456373623808"],
  ["1000000000000000000000", "1000000000000000000000"],
  ["157963456373623808.0", "157963456373623808.0"],
  ["12345678901234567.5", "12345678901234567.5"],
  ["1.00000000000000000001", "1.00000000000000000001"],
  ["9007199254740991.4", "9007199254740991.4"],
  ["1e-400", "1e-400"],
  ["1e400", Number.POSITIVE_INFINITY],
])("the number %s is the id %s", (token, id) => {
  expect(exactNumber(token)).toBe(id);
  expect(decoded(`{"userId":${token}}`)).toEqual({ userId: id });
});

test("other fields, and the same names further inside, are read as before", () => {
  const inner = { userId: 157963456373623800, at: [157963456373623800] };
  expect(
    decoded(`{"userId":157963456373623802,"name":157963456373623802,
      "properties":{"userId":157963456373623802,"at":[157963456373623802]}}`),
  ).toEqual({ userId: "157963456373623802", name: 157963456373623800, properties: inner });
});

test.each([
  ["a byte-order mark", '\ufeff {"userId":157963456373623802}', "157963456373623802"],
  ["escapes in the name", '{"user\\u0049d":157963456373623802}', "157963456373623802"],
  ["a name that comes twice", '{"userId":157963456373623802,"userId":7}', 7],
  ["the same in another order", '{"userId":7,"userId":157963456373623802}', "157963456373623802"],
  ["a text in place of a number", '{"userId":157963456373623802,"userId":"7"}', "7"],
  ["a text before", '{"é😀":"\\"userId\\":1","userId":157963456373623802}', "157963456373623802"],
])("an id with %s is found", (_name, text, userId) => {
  expect(decoded(text)).toMatchObject({ userId });
});

test("however many IDs a value has, the names of its members are read at most once", () => {
  const ids = [...FIELDS.map((field) => `"${field}":1`), '"userIds":[1]', '"sourceIds":[1]'];
  const others = ['"a":0', '"userIx":0', '"\\u0061":0'].flatMap((other) => Array(100).fill(other));
  const text = `{${[...ids, ...others].join(",")},"userId":157963456373623802}`;
  const bytes = Buffer.from(text);
  const texts = vi.spyOn(bytes, "toString");
  const parses = vi.spyOn(JSON, "parse");
  const value = decodeValue(recordValue(bytes));
  const counts = [texts.mock.calls.length, parses.mock.calls.length];
  parses.mockRestore();
  expect(value).toMatchObject({ json: { userId: "157963456373623802", syncId: 1, userIds: [1] } });
  // The escaped names, and the IDs; the value itself is decoded by other means.
  expect(counts).toEqual([100 + ids.length, 100 + 1]);
});

test("whatever the integer: the user of a call has its digits", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), (id) => {
      const call = parseCall(decoded(`{"type":"page","userId":${id},"properties":{"a":[1.5]}}`));
      expect(call).toMatchObject({ call: { userId: `${id}` } });
    }),
    { numRuns: GENERATED_INPUTS },
  );
});

test("whatever the number: its text is that of JavaScript, or its own", () => {
  const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(digits, digits, fc.integer({ min: -330, max: 330 }), (whole, fraction, power) => {
      const token = `${BigInt(whole)}.${fraction}e${power}`;
      const id = exactNumber(token);
      const isOwn = id === token;
      expect(isOwn || id === Number(token)).toBe(true);
      // Numbers with at most 15 digits are always formatted unchanged by JavaScript.
      const isShort = BigInt(whole + fraction).toString().length <= 15;
      if (isShort && Math.abs(power) < 280) expect(isOwn).toBe(false);
    }),
    { numRuns: GENERATED_INPUTS },
  );
});
