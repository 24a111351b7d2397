// Bodies to records: the tables of src/router/ingest/read-body.ts and read-call.ts.

import fc from "fast-check";
import { expect, test, vi } from "vitest";

import { CALL_TYPES, type CallType } from "../../../../src/domain/call.ts";
import { parseCall } from "../../../../src/domain/parse-call.ts";
import {
  CALL_MAX_BYTES,
  CALLS_MAX,
  ENVELOPE_MAX_BYTES,
  readBody,
  readBodyAtOnce,
  refusedEarly,
} from "../../../../src/router/ingest/read-body.ts";
import type { CallsRead } from "../../../../src/router/ingest/read-calls.ts";
import { anyJson, nearCall, validCall } from "../../../support/build/generated-calls.ts";
import { costlyInputs, GENERATED_INPUTS } from "../../../support/build/generated-inputs.ts";
import { anyText } from "../../../support/build/generated-text.ts";
import { ingested, RECEIVED_AT, valuesOf } from "../../../support/build/ingested.ts";

/** Used as the time of receipt. */
const AT = "2026-11-20T10:00:01Z";

function read(body: string | Buffer, type: CallType | null = null): CallsRead | string {
  return ingested(Buffer.from(body as string), type);
}

const call = (more: object = {}) => ({
  type: "track",
  userId: "u",
  event: "e",
  messageId: "m",
  ...more,
});
const batch = (calls: readonly unknown[], more: object = {}) =>
  JSON.stringify({ batch: calls, ...more });

test("a call's bytes stay as they were sent, big numbers and spaces too", () => {
  const sent =
    '{ "type":"track","userId":"u", "event":"\\u00e9", "messageId":"m","properties":{"n":12345678901234567890} }';
  const result = read(`{"batch": [${sent}], "sentAt":"2026-11-20T10:00:00Z"}`) as CallsRead;
  expect(`${result.records[0]?.value}`).toBe(
    `${sent.slice(0, -1)},"receivedAt":"${RECEIVED_AT}","sentAt":"2026-11-20T10:00:00Z"}`,
  );
  expect(result.records[0]).toMatchObject({ topic: "calls", key: Buffer.from("u"), headers: [] });
});

const to = (integrations: object) => ({ integrations });
const GO = { Integrations: { X: false } };
const BOTH = { context: { a: 1, b: 2 } };

test.each<readonly [string, object, object, object]>([
  ["receivedAt is set", {}, {}, { receivedAt: RECEIVED_AT }],
  ["whatever the call says", { receivedAt: "1999" }, {}, { receivedAt: RECEIVED_AT }],
  ["the batch's sentAt is copied", { sentAt: "a" }, { sentAt: AT }, { sentAt: AT }],
  ["one that cannot be read is not", { sentAt: AT }, { sentAt: "b" }, { sentAt: AT }],
  ["nor one of another epoch", { sentAt: AT }, { sentAt: 700_000_000 }, { sentAt: AT }],
  ["nor an empty one", { sentAt: AT }, { sentAt: "" }, { sentAt: AT }],
  ["also as a number", {}, { sentAt: 1.7e12 }, { sentAt: 1.7e12 }],
  ["a strange one is not", { sentAt: "a" }, { sentAt: {} }, { sentAt: "a" }],
  ["nor a long one", { sentAt: "a" }, { sentAt: "x".repeat(101) }, { sentAt: "a" }],
  ["the write key goes", { writeKey: "k" }, { writeKey: "k" }, { writeKey: undefined }],
  ["a message id stays", { messageId: "x" }, {}, { messageId: "x" }],
  ["one is made where there is none", { messageId: undefined }, {}, { messageId: "new" }],
  ["or none that can be used", { messageId: {} }, {}, { messageId: "new" }],
  ["or one too long", { messageId: "x".repeat(101) }, {}, { messageId: "new" }],
  ["context is merged", { context: { a: 1 } }, { context: { a: 2, b: 2 } }, BOTH],
  ["context is added", {}, { context: { b: 2 } }, { context: { b: 2 } }],
  ["an empty one changes nothing", { context: { a: 1 } }, { context: {} }, { context: { a: 1 } }],
  ["nor one that is none", { context: { a: 1 } }, { context: "x" }, { context: { a: 1 } }],
  ["integrations too", to({ All: true }), to({ All: false, X: true }), to({ All: true, X: true })],
  ["Go's spelling is not hidden", GO, to({ Y: true }), to({ X: false, Y: true })],
  ["nor the batch's", {}, { Integrations: { Y: true } }, { integrations: { Y: true } }],
  ["an empty list is no context", { context: [] }, { context: { b: 2 } }, { context: { b: 2 } }],
  ["and no integrations", { integrations: [], ...GO }, to({ Y: true }), to({ X: false, Y: true })],
  ["an empty list adds nothing", { context: { a: 1 } }, { context: [], integrations: [] }, {}],
  ["a sourceId stays, and chooses nothing", { sourceId: "other" }, {}, { sourceId: "other" }],
])("%s", (_, own, envelope, expected) => {
  expect(valuesOf(read(batch([call(own)], envelope)))[0]).toEqual({
    ...JSON.parse(JSON.stringify({ ...call(own), receivedAt: RECEIVED_AT, ...expected })),
  });
});

test("the key is the user's, else the anonymous id, a number as its text", () => {
  const calls = [call(), call({ userId: 7 }), call({ userId: "", anonymousId: "anon" })];
  const result = read(batch(calls)) as CallsRead;
  expect(result.records.map(({ key }) => `${key}`)).toEqual(["u", "7", "anon"]);
});

test.each(["157963456373623802", "-9223372036854775808", "12345678901234567890123"])(
  "the id %s keeps its digits, in the key and in the value",
  (digits) => {
    const sent = `{"type":"track","event":"e","userId":${digits},"messageId":${digits}}`;
    for (const more of ["", ',"context":{"a":1}', ',"sentAt":"2026-11-20T11:00:00Z"']) {
      const [record] = (read(`{"batch":[${sent}]${more}}`) as CallsRead).records;
      expect(`${record?.key}`).toBe(digits);
      expect(`${record?.value}`).toContain(`"userId":${digits},"messageId":${digits}`);
    }
    const anonymous = sent.replace("userId", "anonymousId");
    expect(`${(read(anonymous, "track") as CallsRead).records[0]?.key}`).toBe(digits);
  },
);

test("a message id of more than 100 digits is replaced", () => {
  const sent = `{"type":"track","event":"e","userId":"u","messageId":${"9".repeat(101)}}`;
  expect(valuesOf(read(`{"batch":[${sent}]}`))).toMatchObject([{ messageId: "new" }]);
});

test.each(CALL_TYPES)("a single %s needs no type, and may not have another", (type) => {
  const fields = { userId: "u", groupId: "g", event: "e", previousId: "p", messageId: "m" };
  const expected = { ...fields, type, receivedAt: RECEIVED_AT };
  expect(valuesOf(read(JSON.stringify(fields), type))).toEqual([expected]);
  const other = { ...fields, type: "other", writeKey: "k" };
  expect(valuesOf(read(JSON.stringify(other), type))).toEqual([expected]);
});

test("a single call's key is found in it, however large the call is", () => {
  const large = { writeKey: "k\u00e9", properties: { text: "x".repeat(CALL_MAX_BYTES) } };
  expect(readBodyAtOnce(Buffer.from(JSON.stringify(large)), false)).toMatchObject({
    envelope: { writeKey: "k\u00e9" },
  });
});

test("calls that are not valid are omitted by reason, the rest continues in order", () => {
  const large = call({ properties: { text: "x".repeat(CALL_MAX_BYTES) } });
  const calls = [
    call({ messageId: "a" }),
    {},
    large,
    7,
    null,
    "x",
    [],
    call({ messageId: "b" }),
    call({ event: 7 }),
  ];
  const result = read(batch(calls)) as CallsRead;
  expect(valuesOf(result).map((value) => (value as { messageId: string }).messageId)).toEqual([
    "a",
    "b",
  ]);
  expect(Object.fromEntries(result.rejected)).toEqual({
    "invalid-call": {
      count: 6,
      error: "type is missing, expected one of identify, track, page, screen, group, alias",
    },
    "too-large": { count: 1, error: "the call is more than 32 KB of JSON" },
  });
});

test("32 KB are counted in bytes of the JSON as sent", () => {
  const sized = (bytes: number, filler: string) => {
    const text = JSON.stringify(call({ properties: { text: "" } }));
    const room = bytes - Buffer.byteLength(text);
    const size = Buffer.byteLength(filler);
    return text.replace(
      '""',
      `"${filler.repeat(Math.floor(room / size))}${"x".repeat(room % size)}"`,
    );
  };
  for (const filler of ["x", "é", "☕", "\\u0041"]) {
    const exactly = sized(CALL_MAX_BYTES, filler);
    expect(Buffer.byteLength(exactly)).toBe(CALL_MAX_BYTES);
    expect((read(`{"batch":[${exactly}]}`) as CallsRead).records).toHaveLength(1);
    const over = sized(CALL_MAX_BYTES + 1, filler);
    expect((read(`{"batch":[${over}]}`) as CallsRead).records).toHaveLength(0);
  }
});

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

test.each<readonly [string, string]>([
  ["", "invalid-json: the body is not JSON"],
  ["   ", "invalid-json: the body is not JSON"],
  ["{", "invalid-json: the body is not JSON"],
  ["nonsense", "invalid-json: the body is not JSON"],
  ['{"batch":[]} x', "invalid-json: the body is not JSON"],
  ['{"batch":[],}', "invalid-json: the body is not JSON"],
  ['{"batch":[] "a":1}', "invalid-json: the body is not JSON"],
  ['{"batch":[],"a":nonsense}', "invalid-json: the body is not JSON"],
  ['{"batch":[],"a":[}]}', "invalid-json: the body is not JSON"],
  ["{batch:[]}", "invalid-json: the body is not JSON"],
  ['{"batch":nonsense}', "invalid-json: the body is not JSON"],
  ['{"batch":[nonsense]}', "invalid-json: the body is not JSON"],
  ['{"batch":[{}{}]}', "invalid-json: the body is not JSON"],
  ['{"batch":[{},]}', "invalid-json: the body is not JSON"],
  ['{"batch":[,{}]}', "invalid-json: the body is not JSON"],
  ['{"batch":[{"a":1,}]}', "invalid-json: the body is not JSON"],
  ['{"batch":[{]}', "invalid-json: the body is not JSON"],
  [`{"batch":[{"a":"${"x".repeat(CALL_MAX_BYTES)}",}]}`, "invalid-json: the body is not JSON"],
  ["7", "invalid-body: the body is a number, expected an object"],
  ['"x"', "invalid-body: the body is a string, expected an object"],
  ["null", "invalid-body: the body is null, expected an object"],
  ["[]", "invalid-body: the body is a list, expected an object"],
  ["{}", "invalid-body: the body has no field batch, expected a list"],
  ['{"batch":{}}', "invalid-body: batch is an object, expected a list of calls"],
  ['{"batch":null}', "invalid-body: batch is null, expected a list of calls"],
  ['{"batch":NaN}', "invalid-body: batch is a number, expected a list of calls"],
  ['{"batch":"a\u0001b"}', "invalid-body: batch is a string, expected a list of calls"],
  [
    `{"batch":[],"context":{"a":${nested(2_000)}}}`,
    "invalid-body: the members outside batch nest more than 2000 levels deep",
  ],
  [
    `{"batch":[],"context":{"a":"${"x".repeat(ENVELOPE_MAX_BYTES)}"}}`,
    "invalid-body: the members outside batch take more than 32 KB; move them into the calls that need them",
  ],
])("%.60s is rejected: %s", (body, expected) => {
  expect(read(body)).toBe(expected);
});

test("five million brackets are no call, and cost no stack", () => {
  const brackets = nested(2_500_000);
  expect(read(brackets)).toBe("invalid-body: the body is a list, expected an object");
  expect(read('{"a":'.repeat(1_000_000))).toBe("invalid-json: the body is not JSON");
  const inBatch = read(`{"batch":[${JSON.stringify(call())},${brackets}]}`) as CallsRead;
  expect([inBatch.records.length, inBatch.rejected.get("too-large")?.count]).toEqual([1, 1]);
  const inCall = JSON.stringify(call()).replace('"e"', `"e","x":${nested(10_000)}`);
  const deep = read(`{"batch":[${inCall}]}`) as CallsRead;
  expect(deep.rejected.get("invalid-call")?.error).toBe(
    "the call nests more than 2000 levels deep",
  );
});

test("of a repeated name the last one counts, and names may be escaped", () => {
  const twice = `{"batch":[1],"sentAt":"a","b\\u0061tch":[${JSON.stringify(call())}],"sentAt":"${AT}"}`;
  expect(valuesOf(read(twice))).toEqual([{ ...call(), receivedAt: RECEIVED_AT, sentAt: AT }]);
  const hidden = JSON.stringify(call()).replace("{", '{"write\\u004bey":"k","__proto__":{"a":1},');
  const [value] = (read(`{"batch":[${hidden}]}`) as CallsRead).records;
  expect(`${value?.value}`).not.toContain("write");
  expect(`${value?.value}`).toContain('"__proto__":{"a":1}');
});

test("20,000 calls are taken in a body, not one more", () => {
  const body = (calls: number) => `{"batch":[${"{},".repeat(calls - 1)}{}]}`;
  const all = read(body(CALLS_MAX)) as CallsRead;
  expect(all.rejected.get("invalid-call")?.count).toBe(CALLS_MAX);
  expect(read(body(CALLS_MAX + 1))).toBe("body-too-large: batch has more than 20000 calls");
});

test("too many calls are seen in the first bytes of a body, however it continues", () => {
  const many = Buffer.from(`{"sentAt":"a","batch":[${"[],".repeat(CALLS_MAX + 1)}`);
  expect(refusedEarly(many, true)).toMatchObject({ code: "body-too-large" });
  expect(readBodyAtOnce(many, true)).toMatchObject({ code: "body-too-large" });
  expect(refusedEarly(many, false)).toBeNull();
  const few = many.subarray(0, -9);
  expect(refusedEarly(few, true)).toBeNull();
  for (const other of ["", "[[", "{", '{"a":[1,', '{"batch":{"a":1', '{"batch":[{}]}', '{"a":1}']) {
    expect(refusedEarly(Buffer.from(other), true)).toBeNull();
  }
});

test("a large body is gone through in pieces, with the same result", () => {
  const calls = Array.from({ length: 3_000 }, (_, number) => call({ messageId: `m${number}` }));
  const bytes = Buffer.from(batch(calls));
  const steps = readBody(bytes, true);
  let pieces = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pieces += 1;
  expect(pieces).toBe(Math.floor(bytes.length / 65_536));
  expect(step.value).toEqual(readBodyAtOnce(bytes, true));
});

test.each(['"a":NaN', '"a":"\u0001"', '"a":nonsense'])(
  "a batch before the last one may have %j",
  (broken) => {
    const first = `{"sentAt":"${AT}","batch":[{},{${broken}}]`;
    const twice = `${first},"batch":[${JSON.stringify(call())}],"integrations":{}}`;
    expect(valuesOf(read(twice))).toEqual([{ ...call(), receivedAt: RECEIVED_AT, sentAt: AT }]);
    const large = `${first},"batch":[${JSON.stringify({ a: "x".repeat(ENVELOPE_MAX_BYTES) })}],"batch":[]}`;
    expect(valuesOf(read(large))).toEqual([]);
  },
);

test.each([true, false])("a name is read once, however often a large call has it", (isBatch) => {
  const call = `{${'"userId":1e5,'.repeat(60_000)}"userId":7,"writeKey":"k"}`;
  const bytes = Buffer.from(isBatch ? `{"batch":[${call}]}` : call);
  const parses = vi.spyOn(JSON, "parse");
  const steps = readBody(bytes, isBatch);
  let pieces = 0;
  let step = steps.next();
  for (; step.done !== true; step = steps.next()) pieces += 1;
  const parsed = parses.mock.calls.map(([text]) => text);
  parses.mockRestore();
  expect(pieces).toBe(Math.floor(bytes.length / 65_536));
  expect(parsed).toEqual(isBatch ? ["7", '{"batch":null}'] : ["7"]);
  expect(step.value).toMatchObject({ calls: [{ fields: { userId: 7, writeKey: "k" } }] });
});

test("too many members beside the calls are seen before the rest is read", () => {
  const beside = `"context":{"a":"${"x".repeat(ENVELOPE_MAX_BYTES)}"}`;
  for (const body of [`{${beside},nonsense`, `{"batch":[],${beside},nonsense`]) {
    expect(read(body)).toMatch(/^invalid-body: the members outside batch take more than 32 KB/);
  }
});

test("an empty batch is nothing", () => {
  expect(valuesOf(read('{"batch":[]}'))).toEqual([]);
  expect(valuesOf(read('{ "batch" : [ ] }'))).toEqual([]);
});

/** Returns the expected result for a batch of these calls, computed only with JSON.parse and the domain's parser. */
function expectedIds(calls: readonly unknown[]): string[] {
  return calls.flatMap((one) => {
    const text = JSON.stringify(one);
    const parsed = parseCall(JSON.parse(text));
    if (parsed.kind === "refused" || Buffer.byteLength(text) > CALL_MAX_BYTES) return [];
    return [parsed.call.messageId ?? "new"];
  });
}

test("whatever the calls: those that are valid are taken, in order, and only those", () => {
  const calls = fc.array(fc.oneof(validCall, nearCall, anyJson), { maxLength: 8 });
  const envelope = fc.record(
    { context: anyJson, integrations: anyJson, sentAt: anyJson, more: anyJson },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(calls, envelope, fc.constantFrom(0, 1, 3), (all, beside, indent) => {
      const body = JSON.stringify({ ...beside, batch: all }, null, indent);
      const result = read(body) as CallsRead;
      const taken = valuesOf(result) as {
        messageId: unknown;
        receivedAt: unknown;
        writeKey: unknown;
      }[];
      expect(taken.map(({ messageId }) => `${messageId}`)).toEqual(expectedIds(all));
      for (const value of taken)
        expect([value.receivedAt, value.writeKey]).toEqual([RECEIVED_AT, undefined]);
      const out = [...result.rejected.values()].reduce((sum, { count }) => sum + count, 0);
      expect(taken.length + out).toBe(all.length);
    }),
    { numRuns: costlyInputs(4, 10_000) },
  );
});

test("whatever the bytes: JSON.parse and we agree whether they are a batch, but for calls omitted", () => {
  const pieces = fc.constantFrom(
    ...'{}[]",:\\ 1e-',
    '"batch":',
    '{"batch":[',
    "{}",
    "null",
    "é",
    "\n",
  );
  const bytes = fc.oneof(
    fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join("")),
    anyText(),
    fc.tuple(anyJson, fc.nat(), pieces).map(([json, at, piece]) => {
      const text = JSON.stringify({ batch: [json], beside: json });
      return text.slice(0, at % text.length) + piece + text.slice((at % text.length) + 1);
    }),
  );
  fc.assert(
    fc.property(bytes, (text) => {
      const result = read(Buffer.from(text.toWellFormed()));
      let json: unknown;
      try {
        // Line feeds are repaired inside strings. Between values, they have no meaning.
        const asEscapes = text.replace(/"(?:[^"\\]|\\.)*"(\s*:)?/g, (each, colon?: string) =>
          colon === undefined ? each.replaceAll("\n", "\\n") : each,
        );
        json = JSON.parse(asEscapes.toWellFormed());
      } catch {
        // A batch may contain calls that are not valid JSON, if another call is valid.
        const rejected = typeof result === "string" ? null : result.rejected.get("invalid-call");
        expect(rejected?.error ?? result).toMatch(
          /^invalid-json|^the call is not JSON|^a call is a/,
        );
        return;
      }
      const isBatch =
        typeof json === "object" &&
        json !== null &&
        Array.isArray((json as { batch?: unknown }).batch);
      expect(typeof result).toBe(isBatch ? "object" : "string");
    }),
    { numRuns: Math.min(GENERATED_INPUTS, 20_000) },
  );
});
