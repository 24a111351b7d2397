/** Values for property tests: calls, values that are nearly calls, and all kinds of bytes. */

import fc from "fast-check";

import { CALL_TYPES } from "../../../src/domain/call.ts";
import { anyText } from "./generated-text.ts";

/** Ordinary keys, and keys that programs often handle incorrectly. */
const key = fc.oneof(
  { weight: 6, arbitrary: fc.string({ maxLength: 6 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("__proto__", "constructor", "toJSON", "7", "-1", "\ud800", ""),
  },
);

const leaf = fc.oneof(
  anyText({ maxLength: 12 }),
  fc.double(),
  fc.maxSafeInteger(),
  fc.boolean(),
  fc.constant(null),
);

/** Any JSON in the form that JSON.parse returns, in which every key is an own property. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.array(tie("json"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("json")), { maxLength: 4 }).map(asObject),
  ),
})).json;

/** A spread or an assignment would lose `__proto__`. */
function asObject(entries: readonly (readonly [string, unknown])[]): unknown {
  const object = {};
  for (const [name, value] of entries) {
    const own = { value, enumerable: true, configurable: true, writable: true };
    Object.defineProperty(object, name, own);
  }
  return object;
}

const jsonObject = fc
  .dictionary(key, anyJson, { maxKeys: 4 })
  .map((given) => asObject(Object.entries(given)));

const id = fc.oneof(fc.string({ minLength: 1, maxLength: 8 }), fc.integer());
const timestamp = fc.oneof(
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.integer({ min: 0, max: 4e12 }),
  anyJson,
);

/** Values in which every field is valid, so that they are calls. */
export const validCall = fc.record(
  {
    type: fc.constantFrom(...CALL_TYPES),
    userId: id,
    event: fc.string({ minLength: 1 }),
    groupId: id,
    previousId: id,
    anonymousId: fc.option(id),
    messageId: anyJson,
    name: fc.option(fc.string()),
    category: fc.option(fc.string()),
    properties: fc.option(jsonObject),
    traits: fc.option(jsonObject),
    context: fc.option(jsonObject),
    integrations: fc.oneof(jsonObject, anyJson),
    timestamp,
    originalTimestamp: timestamp,
    sentAt: timestamp,
    receivedAt: timestamp,
  },
  { requiredKeys: ["type", "userId", "event", "groupId", "previousId"] },
);

/** A call in which one field, rarely the type, has any value. */
export const nearCall = fc
  .tuple(validCall, fc.oneof({ weight: 4, arbitrary: field() }, fc.constant("type")), anyJson)
  .map(([call, name, value]) => ({ ...call, [name]: value }));

function field(): fc.Arbitrary<string> {
  return fc.constantFrom("userId", "anonymousId", "event", "groupId", "traits", "properties");
}

/** Values of records: calls, JSON, and other bytes. They are complete, truncated or changed. */
export const anyValue: fc.Arbitrary<Buffer | null> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(null) },
  { weight: 3, arbitrary: bytes() },
  { weight: 1, arbitrary: bytes().map((rest) => Buffer.concat([Buffer.of(0), rest])) },
  { weight: 4, arbitrary: validCall.map(asBytes) },
  { weight: 2, arbitrary: anyJson.map(asBytes) },
  { weight: 4, arbitrary: nearCall.map(asBytes) },
  {
    weight: 3,
    arbitrary: fc.tuple(validCall, fc.nat(), fc.nat(255)).map(([call, at, byte]) => {
      const value = asBytes(call);
      value[at % value.length] = byte;
      return value;
    }),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(validCall, fc.nat()).map(([call, at]) => {
      const value = asBytes(call);
      return value.subarray(0, at % value.length);
    }),
  },
);

function bytes(): fc.Arbitrary<Buffer> {
  return fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
}

function asBytes(json: unknown): Buffer {
  return Buffer.from(JSON.stringify(json));
}
