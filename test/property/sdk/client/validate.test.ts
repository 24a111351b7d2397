/** The server can read whatever the library accepts: this compares the two sets of rules. */

import fc from "fast-check";
import { expect, test } from "vitest";
import { CALL_TYPES } from "../../../../src/domain/call.ts";
import { parseCall } from "../../../../src/domain/parse-call.ts";
import { readTimestamp } from "../../../../src/domain/timestamp.ts";
import type { CallType } from "../../../../src/sdk/client/call-input.ts";
import { ValidationError } from "../../../../src/sdk/client/client-error.ts";
import { CALL_MAX_BYTES, encode } from "../../../../src/sdk/client/encode.ts";
import { validate } from "../../../../src/sdk/client/validate.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

const digits = (min: number, max: number) =>
  fc.integer({ min, max }).map((value) => String(value).padStart(2, "0"));

/** Timestamps that are nearly valid: impossible days, hours and offsets, and other separators. */
const timestampText = fc
  .tuple(
    fc.constantFrom("0000", "0050", "1900", "2000", "2024", "2026", "9999", "10000", "26"),
    fc.tuple(digits(0, 13), digits(0, 32)).map(([month, day]) => `-${month}-${day}`),
    fc.constantFrom("", "T", "t", " ", "x"),
    fc.oneof(
      fc.tuple(digits(0, 25), digits(0, 61)).map(([hour, minute]) => `${hour}:${minute}`),
      fc
        .tuple(digits(22, 25), digits(0, 1), digits(0, 61))
        .map(([hour, minute, second]) => `${hour}:${minute}:${second}`),
      fc.constantFrom("24:00:00", "24:00:00.001", "09:30:15.", "09:30:15.1234", "09:30,5", ""),
    ),
    fc.constantFrom(
      "",
      "Z",
      "z",
      " Z",
      "+0000",
      "-02:30",
      "+02",
      "-23:59",
      "+24:00",
      "\u221201",
      "UTC",
    ),
  )
  .map((parts) => parts.join(""));

/** Returns the timestamp with which the call is sent; null if it is rejected or absent. */
function sentTimestamp(timestamp: unknown): string | null {
  try {
    const call = validate("identify", { userId: "u", timestamp }, () => "id");
    return typeof call.timestamp === "string" ? call.timestamp : null;
  } catch (error) {
    if (error instanceof ValidationError) return null;
    throw error;
  }
}

test("a timestamp is taken exactly when the server reads it, and means the same", () => {
  const anything = fc.oneof(
    timestampText,
    fc.string(),
    fc.double(),
    fc.integer({ min: 0, max: 3e14 }),
  );
  fc.assert(
    fc.property(anything, (value) => {
      const sent = sentTimestamp(value);
      expect(sent === null).toBe(readTimestamp(value) === null);
      if (sent !== null) expect(readTimestamp(sent)).toBe(readTimestamp(value));
    }),
  );
});

test("a Date is sent so that the server reads the same instant", () => {
  fc.assert(
    fc.property(fc.date({ noInvalidDate: false }), (date) => {
      const sent = sentTimestamp(date);
      if (sent !== null) expect(readTimestamp(sent)).toBe(date.getTime());
      else
        expect(date.getTime() >= -62_167_219_200_000 && date.getTime() < 253_402_300_800_000).toBe(
          false,
        );
    }),
  );
});

const junk = fc.oneof(
  fc.constantFrom("", null, undefined, 0, "u", Number.NaN, true),
  fc.object({ maxDepth: 2 }),
  fc.date(),
  timestampText,
);
const mostly = (good: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: junk });
const id = mostly(fc.oneof(fc.string(), fc.integer(), fc.constant("☕")));
const object = mostly(fc.object({ maxDepth: 3, withNullPrototype: true }));

const call = fc.record(
  {
    messageId: id,
    userId: id,
    anonymousId: id,
    groupId: id,
    previousId: id,
    event: mostly(fc.string()),
    name: mostly(fc.string()),
    category: mostly(fc.string()),
    properties: object,
    traits: object,
    context: object,
    integrations: mostly(fc.dictionary(fc.string(), fc.boolean())),
    timestamp: mostly(fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })),
  },
  { requiredKeys: [] },
);

/** Generates a call of the type, mostly without fields of other types. */
const callOfType = fc
  .tuple(fc.constantFrom<CallType[]>(...CALL_TYPES), call, fc.integer({ min: 0, max: 9 }))
  .map(([type, given, chance]) => {
    const foreign = chance === 0 ? [] : FOREIGN[type];
    const fields = Object.entries(given).filter(([field]) => !foreign.includes(field));
    return { type, given: Object.fromEntries(fields) };
  });

const FOREIGN: Readonly<Record<CallType, readonly string[]>> = {
  identify: ["groupId", "previousId", "event", "name", "category", "properties"],
  track: ["groupId", "previousId", "name", "category", "traits"],
  page: ["groupId", "previousId", "event"],
  screen: ["groupId", "previousId", "event", "traits"],
  group: ["previousId", "event", "name", "category", "properties"],
  alias: ["anonymousId", "groupId", "event", "name", "category", "properties", "traits"],
};

test("a call is rejected with a field's name, or the server takes it as it was made", () => {
  let [made, taken] = [0, 0];
  fc.assert(
    fc.property(callOfType, ({ type, given }) => {
      made += 1;
      try {
        const { json, bytes } = encode(validate(type, given, () => "made"));
        expect(bytes).toBe(Buffer.byteLength(json));
        expect(bytes).toBeLessThanOrEqual(CALL_MAX_BYTES);
        const read = parseCall(JSON.parse(json));
        expect(read).toMatchObject({ kind: "call", call: { type } });
        taken += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(ValidationError);
        expect((error as ValidationError).field).not.toBe("");
      }
    }),
    { numRuns: costlyInputs(3, 10_000) },
  );
  expect(taken).toBeGreaterThan(made / 6);
});
