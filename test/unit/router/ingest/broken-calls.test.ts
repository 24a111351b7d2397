// A broken call in a batch affects at most itself (docs/http-apis.md#broken-calls).

import fc from "fast-check";
import { expect, test } from "vitest";
import { repaired } from "../../../../src/domain/scan-scalar.ts";
import { CALL_MAX_BYTES, readBodyAtOnce } from "../../../../src/router/ingest/read-body.ts";
import type { CallsRead } from "../../../../src/router/ingest/read-calls.ts";
import { anyJson } from "../../../support/build/generated-calls.ts";
import { GENERATED_INPUTS } from "../../../support/build/generated-inputs.ts";
import { ingested, RECEIVED_AT, valuesOf } from "../../../support/build/ingested.ts";

function read(bytes: Buffer, isBatch = true): CallsRead {
  const result = ingested(bytes, isBatch ? null : "track");
  if (typeof result === "string") throw new Error(result);
  return result;
}

const NO_JSON = { kind: "refused", code: "invalid-json", error: "the body is not JSON" };
const track = (properties: string, id = "m") =>
  `{"type":"track","userId":"u","event":"e","messageId":"${id}","properties":${properties}}`;
const nulls = (length: number) => ({ a: Array.from({ length }, () => null) });
const WHOLE = { type: "track", userId: "u", event: "e", messageId: "m", receivedAt: RECEIVED_AT };

test.each<[string, string, unknown]>([
  ["NaN", '{"a":NaN}', { a: null }],
  ["Infinity", '{"a":Infinity}', { a: null }],
  ["-Infinity", '{"a":-Infinity}', { a: null }],
  ["those of C and Perl", '{"a":[nan,-nan,-NaN,inf,-inf,+Infinity,infinity,NAN,INF]}', nulls(9)],
  [
    "one beside true and null",
    '{"a":[true,false,null,-1e3,nan]}',
    { a: [true, false, null, -1e3, null] },
  ],
  [
    "several, nested",
    '{"a":[1, NaN,{"b":-Infinity }],"c" : Infinity}',
    { a: [1, null, { b: null }], c: null },
  ],
  [
    "one beside texts with the words",
    '{"NaN":"NaN, -Infinity","q":"\\\\\\"NaN","b":NaN}',
    { NaN: "NaN, -Infinity", q: '\\"NaN', b: null },
  ],
  ["a raw line feed in a text", '{"a":"x\ny"}', { a: "x\ny" }],
  ["a raw zero byte and a tab", '{"a":"\u0000\t"}', { a: "\u0000\t" }],
  ["one as the properties", "NaN", null],
  ["a raw line feed in a name, which no other call has", '{"a\nb":1}', { "a\nb": 1 }],
])(
  "a call with %s is repaired and counted, the others are as they were",
  (_name, broken, properties) => {
    const other = track('{"n":1}', "m2");
    const result = read(Buffer.from(`{"batch":[${track(broken)} , ${other}]}`));
    const [first] = valuesOf(result);
    expect(first).toEqual({ ...WHOLE, properties });
    expect(`${result.records[1]?.value}`).toBe(
      `${other.slice(0, -1)},"receivedAt":"${RECEIVED_AT}"}`,
    );
    expect([result.records.length, result.repaired, result.rejected.size]).toEqual([2, 1, 0]);
  },
);

test("so is a single call, and what stands next to a batch", () => {
  const single = read(Buffer.from(track('{"a":NaN}')), false);
  expect([valuesOf(single)[0]?.properties, single.repaired]).toEqual([{ a: null }, 1]);
  const beside = read(Buffer.from(`{"context":{"x":NaN,"y":"NaN"},"batch":[${track("{}")}]}`));
  expect(valuesOf(beside)[0]?.context).toEqual({ x: null, y: "NaN" });
});

test.each(["NaN", "Infinity", "-Infinity"])("an id that is %s counts as absent", (word) => {
  const call = `{"type":"track","event":"e","messageId":"m","anonymousId":"a","userId":${word}}`;
  const result = read(Buffer.from(`{"batch":[${call}]}`));
  expect([valuesOf(result)[0]?.userId, `${result.records[0]?.key}`]).toEqual([null, "a"]);
});

test("a call that is not UTF-8 is omitted, the others are taken", () => {
  const broken = track('{"a":"\u00ff"}');
  const bytes = Buffer.concat([
    Buffer.from(`{"batch":[${track('{"a":"é"}', "1")},`),
    Buffer.from(broken, "latin1"),
    Buffer.from(`,${track("{}", "3")}]}`),
  ]);
  const result = read(bytes);
  expect(valuesOf(result).map(({ messageId }) => messageId)).toEqual(["1", "3"]);
  expect(result.rejected.get("invalid-call")).toEqual({ count: 1, error: "the call is not UTF-8" });
});

test.each<[string, Buffer, string]>([
  ["a single call", Buffer.from(track('{"a":"\u00ff"}'), "latin1"), "single"],
  [
    "what stands beside a batch",
    Buffer.from('{"context":{"a":"\u00ff"},"batch":[]}', "latin1"),
    "batch",
  ],
  ["a body of UTF-16", Buffer.from('{"batch":[]}\u00ff', "utf16le"), "batch"],
])("%s that is not UTF-8 is rejected", (_name, bytes, kind) => {
  expect(readBodyAtOnce(bytes, kind === "batch")).toEqual({
    kind: "refused",
    code: "invalid-json",
    error: "the body is not UTF-8",
  });
});

const MISTAKES = [
  ...["Inf", "- NaN", "--NaN", "NaN1", "nano", "Infinit", "undefined", "None", "True", "'a'"],
  ...[
    '"\\\n"',
    '"\\x41"',
    '"\\u12"',
    "1,",
    "01",
    "1.",
    ".5",
    "+1",
    "1 /* one */",
    "",
    "[1,]",
    '{"b" 1}',
    '{b:"}"}',
  ],
  ...['"a" "b"', "1 2"],
];

test.each(MISTAKES)("a call in which a value is %s is omitted alone", (value) => {
  const others = [track("{}", "1"), track("[]", "2")];
  const [first, second] = others;
  const broken = track(`{"a":${value}}`);
  const result = read(Buffer.from(`{"batch":[${first},${broken} ,\n${broken},${second}]}`));
  expect(valuesOf(result).map(({ messageId }) => messageId)).toEqual(["1", "2"]);
  expect(result.rejected.get("invalid-call")).toEqual({ count: 2, error: "the call is not JSON" });
  expect(result.repaired).toBe(0);
});

test.each(MISTAKES)(
  "a body with no other call than one in which a value is %s is no JSON",
  (value) => {
    const broken = track(`{"a":${value}}`);
    expect(readBodyAtOnce(Buffer.from(`{"batch":[${broken}]}`), true)).toEqual(NO_JSON);
    expect(readBodyAtOnce(Buffer.from(broken), false)).toEqual(NO_JSON);
  },
);

test.each([
  ["a text that does not end", track('{"a":"b}')],
  ["a bracket that is not closed", track('{"a":[1}')],
  ["a bracket too many", track('{"a":1}}')],
  ["nothing", ""],
  ["a word", "undefined"],
  ["two objects", "{}{}"],
])("nobody can say where a call ends that is %s: the body is no JSON", (_name, broken) => {
  const body = `{"batch":[${track("{}")},${broken},${track("{}")}]}`;
  expect(readBodyAtOnce(Buffer.from(body), true)).toEqual(NO_JSON);
});

test("a broken call over the limit is too large, and brackets of any depth cost no stack", () => {
  const large = track(`{"a":"${"x".repeat(CALL_MAX_BYTES)}",}`);
  const deep = `${"[".repeat(1_000_000)}x${"]".repeat(1_000_000)}`;
  const result = read(Buffer.from(`{"batch":[${large},${deep},${track("{}")}]}`));
  expect(result.records).toHaveLength(1);
  expect(result.rejected.get("too-large")?.count).toBe(2);
});

test.each<[string, string, string]>([
  ["null", "null", "a call must be a JSON object, but this is null"],
  ["a list", "[1]", "a call must be a JSON object, but this is a list"],
  ["NaN", "NaN", "a call must be a JSON object, but this is null"],
  ["too deep", track(`${"[".repeat(2_001)}${"]".repeat(2_001)}`), "nests more than 2000 levels"],
])("an entry that is %s is omitted alone", (_name, entry, error) => {
  const result = read(Buffer.from(`{"batch":[${entry},${track("{}")}]}`));
  expect(result.records).toHaveLength(1);
  expect(result.rejected.get("invalid-call")?.error).toContain(error);
});

test("whatever the texts: a repair changes nothing that is JSON", () => {
  const words = fc.constantFrom("NaN", '"NaN', "-Infinity,", "\\NaN", '\\"Infinity');
  const json = fc.tuple(anyJson, fc.array(words)).map(([value, texts]) => ({ value, texts }));
  fc.assert(
    fc.property(json, (value) => {
      const text = JSON.stringify(value);
      expect(JSON.parse(repaired(text))).toEqual(JSON.parse(text));
    }),
    { numRuns: GENERATED_INPUTS },
  );
});
