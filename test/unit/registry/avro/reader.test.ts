import { expect, test } from "vitest";

import { compileAvro } from "../../../../src/registry/avro/reader.ts";
import { encoded, varint } from "../../../support/build/avro.ts";

function readerOf(...schemas: unknown[]) {
  const compiled = compileAvro(schemas.map((schema) => ({ text: JSON.stringify(schema) })));
  if (compiled.kind === "refused") throw new Error(compiled.error);
  return compiled.read;
}

function textOf(schema: unknown, bytes: Buffer): string {
  const read = readerOf(schema)(bytes);
  return read.kind === "json" ? read.bytes.toString() : `refused: ${read.error}`;
}

const record = (...fields: readonly (readonly [string, unknown])[]) => ({
  type: "record",
  name: "R",
  fields: fields.map(([name, type]) => ({ name, type })),
});
const logical = (type: string, logicalType: string, more = {}) => ({ type, logicalType, ...more });
const long = (logicalType: string) => logical("long", logicalType);
const fixed = (size: number, more = {}) => ({ type: "fixed", name: "F", size, ...more });

test.each<[string, unknown, unknown, string]>([
  ["null", "null", null, "null"],
  ["true", "boolean", true, "true"],
  ["false", "boolean", false, "false"],
  ["an int", "int", -2_147_483_648, "-2147483648"],
  ["a long of 33 bits", "long", 4_294_967_296, "4294967296"],
  ["a float", "float", 0.5, "0.5"],
  ["a float that is no double", "float", 12.34, "12.34"],
  ["a float below zero", "float", -0.1, "-0.1"],
  ["a float of nine digits", "float", 0.100000024, "0.100000024"],
  ["the largest float", "float", 3.4028234663852886e38, "3.4028235e+38"],
  ["the smallest float", "float", 1.401298464324817e-45, "1e-45"],
  ["a float of another size", "float", 1e10, "10000000000"],
  ["a whole float beyond 24 bits", "float", 123_456_792, "123456790"],
  ["floats in a list", { type: "array", items: "float" }, [0.3, 16_777_216], "[0.3,16777216]"],
  ["a double", "double", 1e300, "1e+300"],
  ["minus zero", "double", -0, "0"],
  ["NaN", "double", Number.NaN, "null"],
  ["infinity", "float", Number.NEGATIVE_INFINITY, "null"],
  ["a text", "string", "Café ☕ 😀", '"Café ☕ 😀"'],
  ["a text with escapes", "string", '"\\\n\u0000\u007f', '"\\"\\\\\\u000a\\u0000\u007f"'],
  ["an escape late in a text", "string", 'abcdefghijk"lmn', '"abcdefghijk\\"lmn"'],
  ["bytes", "bytes", Buffer.from([0, 255, 16]), '"AP8Q"'],
  ["a fixed", fixed(2), Buffer.from([1, 2]), '"AQI="'],
  ["an enum", { type: "enum", name: "E", symbols: ["A", "B"] }, "B", '"B"'],
  ["a list", { type: "array", items: "int" }, [1, 2], "[1,2]"],
  ["an empty list", { type: "array", items: "int" }, [], "[]"],
  ["a map", { type: "map", values: "int" }, { a: 1, "": 2 }, '{"a":1,"":2}'],
  ["an empty map", { type: "map", values: "int" }, {}, "{}"],
  ["a union's null", ["null", "string"], null, "null"],
  ["a union", ["null", "string"], { string: "x" }, '"x"'],
  [
    "a map of unions",
    { type: "map", values: ["null", "int", "string"] },
    { n: { int: 1 }, s: { string: "x" }, z: null },
    '{"n":1,"s":"x","z":null}',
  ],
  [
    "a list of unions",
    { type: "array", items: ["string", { type: "array", items: "int" }] },
    [{ string: "x" }, { array: [1] }],
    '["x",[1]]',
  ],
  ["a record", record(["a", "int"], ["b", "string"]), { a: 1, b: "x" }, '{"a":1,"b":"x"}'],
  ["a record without fields", record(), {}, "{}"],
  ["an error", { ...record(["a", "int"]), type: "error" }, { a: 1 }, '{"a":1}'],
])("%s is written as JSON", (_name, schema, value, json) => {
  expect(textOf(schema, encoded(schema, value))).toBe(json);
});

test.each([
  ["the largest long that a double is", 9_007_199_254_740_991n],
  ["a long of 54 bits as it is written", -4_503_599_627_370_497n],
  ["the smallest long", -9_223_372_036_854_775_808n],
  ["the largest long", 9_223_372_036_854_775_807n],
  ["a long that no double is", 9_007_199_254_740_993n],
  ["minus one of 2^53", -9_007_199_254_740_993n],
])("%s keeps its digits, as in JSON", (_name, long) => {
  expect(textOf("long", varint(long))).toBe(`${long}`);
});

test("a record that holds itself, and one that is named twice", () => {
  const node = record(["v", "int"], ["next", ["null", "R"]], ["same", ["null", "R"]]);
  const leaf = { v: 2, next: null, same: null };
  const value = { v: 1, next: { R: leaf }, same: { R: leaf } };
  expect(JSON.parse(textOf(node, encoded(node, value)))).toEqual({ v: 1, next: leaf, same: leaf });
});

test("names are those of their namespace, and of schemas that are referred to", () => {
  const address = { ...record(["city", "string"]), name: "Address", namespace: "com.acme" };
  const order = {
    ...record(["to", "com.acme.Address"], ["from", { type: "array", items: "Address" }]),
    name: "com.acme.Order",
  };
  const read = readerOf(address, order)(Buffer.from("\x02A\x02\x02B\x00"));
  expect(read).toMatchObject({ kind: "json" });
  expect(read.kind === "json" && `${read.bytes}`).toBe('{"to":{"city":"A"},"from":[{"city":"B"}]}');
});

test("a schema may be written in longer forms than it needs", () => {
  const schema = record(["a", { type: { type: "string" } }], ["b", { type: ["null", "int"] }]);
  expect(textOf(schema, Buffer.from("\x02x\x02\x02"))).toBe('{"a":"x","b":1}');
  const compiled = compileAvro([{ text: "string" }]);
  expect(compiled.kind === "reader" && compiled.read(Buffer.from("\x02x")).kind).toBe("json");
});

test("defaults, aliases, orders and unknown attributes make no difference, even wrong ones", () => {
  const field = { name: "a", type: "int", default: "none", order: "descending", doc: 7 };
  const schema = { type: "record", name: "R", aliases: ["x-y"], fields: [field], java: "class" };
  expect(textOf(schema, varint(5n))).toBe('{"a":5}');
});

const DAY = 20_513n; // 2026-03-01
const AT_MS = 1_772_357_415_250n; // 2026-03-01T09:30:15.250Z

test.each<[string, unknown, bigint, string]>([
  ["a date", logical("int", "date"), DAY, '"2026-03-01"'],
  ["a date before 1970", logical("int", "date"), -1n, '"1969-12-31"'],
  ["a date out of range", logical("int", "date"), 2_147_483_647n, "2147483647"],
  ["time-millis", logical("int", "time-millis"), 34_215_250n, '"09:30:15.250"'],
  ["time-micros", long("time-micros"), 34_215_250_999n, '"09:30:15.250"'],
  ["a time out of range", logical("int", "time-millis"), 86_400_000n, "86400000"],
  ["a time below zero", long("time-micros"), -1n, "-1"],
  ["millis", long("timestamp-millis"), AT_MS, '"2026-03-01T09:30:15.250Z"'],
  ["millis before 1970", long("timestamp-millis"), -1n, '"1969-12-31T23:59:59.999Z"'],
  ["micros", long("timestamp-micros"), AT_MS * 1_000n + 7n, '"2026-03-01T09:30:15.250007Z"'],
  ["micros before 1970", long("timestamp-micros"), -1n, '"1969-12-31T23:59:59.999999Z"'],
  [
    "micros beyond 2^53",
    long("timestamp-micros"),
    253_402_300_799_999_999n,
    '"9999-12-31T23:59:59.999999Z"',
  ],
  ["nanos", long("timestamp-nanos"), AT_MS * 1_000_000n + 1n, '"2026-03-01T09:30:15.250000001Z"'],
  [
    "nanos before 1970",
    long("timestamp-nanos"),
    -9_223_372_036_854_775_808n,
    '"1677-09-21T00:12:43.145224192Z"',
  ],
  ["local millis", long("local-timestamp-millis"), AT_MS, '"2026-03-01T09:30:15.250"'],
  ["local micros", long("local-timestamp-micros"), AT_MS * 1_000n, '"2026-03-01T09:30:15.250000"'],
  ["an instant out of range", long("timestamp-millis"), 9_999_999_999_999_999n, "9999999999999999"],
  ["an unknown logical type", long("lunar"), 5n, "5"],
  ["one on a type that it is not for", logical("int", "timestamp-millis"), 5n, "5"],
])("%s: a logical type of a number", (_name, schema, number, json) => {
  expect(textOf(schema, varint(number))).toBe(json);
});

const decimal = (scale: number, precision = 2_000) =>
  logical("bytes", "decimal", { precision, scale });
const withLength = (bytes: Buffer) => Buffer.concat([varint(BigInt(bytes.length)), bytes]);

test.each<[string, unknown, Buffer, string]>([
  ["a decimal", decimal(2), Buffer.from([0x30, 0x39]), "123.45"],
  ["a decimal below zero", decimal(2), Buffer.from([0xff]), "-0.01"],
  ["a decimal below one", decimal(3), Buffer.from([5]), "0.005"],
  ["a decimal without digits after the point", decimal(0), Buffer.from([0x80]), "-128"],
  ["a decimal of no bytes", decimal(2), Buffer.alloc(0), "0.00"],
  ["a decimal of 7 bytes", decimal(2), Buffer.alloc(7, 0xff), "-0.01"],
  [
    "a decimal of 16 bytes",
    decimal(5),
    Buffer.from(`7f${"ff".repeat(15)}`, "hex"),
    "1701411834604692317316873037158841.05727",
  ],
  ["a decimal with more bytes than it needs", decimal(0), Buffer.alloc(100_000), "0"],
  ["a decimal larger than a double", decimal(0), Buffer.alloc(129, 0x7f), "null"],
  ["a decimal of a megabyte", decimal(10), Buffer.alloc(1_000_000, 0x7f), "null"],
  ["a decimal with a scale above its precision", decimal(5, 2), Buffer.from([1]), '"AQ=="'],
  ["a decimal with a scale beyond all doubles", decimal(1_001), Buffer.from([1]), '"AQ=="'],
])("%s", (_name, schema, bytes, json) => {
  expect(textOf(schema, withLength(bytes))).toBe(json);
});

test.each<[string, unknown, string, string]>([
  [
    "a decimal of fixed size",
    fixed(4, { logicalType: "decimal", precision: 9, scale: 2 }),
    "fffff830",
    "-20.00",
  ],
  [
    "a uuid of 16 bytes",
    fixed(16, { logicalType: "uuid" }),
    "123e4567e89b12d3a456426614174000",
    '"123e4567-e89b-12d3-a456-426614174000"',
  ],
  [
    "a duration",
    fixed(12, { logicalType: "duration" }),
    "0100000002000000bc0b0000",
    '"P1M2DT3.004S"',
  ],
  ["a duration of the wrong size", fixed(1, { logicalType: "duration" }), "01", '"AQ=="'],
])("%s: a logical type of fixed size", (_name, schema, hex, json) => {
  expect(textOf(schema, Buffer.from(hex, "hex"))).toBe(json);
});

test("a uuid that is a text stays as it is", () => {
  expect(textOf(logical("string", "uuid"), Buffer.from("\x04ab"))).toBe('"ab"');
});

const CALL = {
  ...record(
    ["type", "string"],
    ["user_id", ["null", "string"]],
    ["sent_at", ["null", long("timestamp-micros")]],
    ["timestamp", long("timestamp-nanos")],
    [
      "properties",
      {
        ...record(["user_id", "string"], ["sent_at", long("timestamp-micros")]),
        name: "P",
      },
    ],
  ),
};
const CALL_BYTES = Buffer.concat([
  Buffer.from("\x0atrack\x02\x02u\x02"),
  varint(AT_MS * 1_000n + 999n),
  varint(AT_MS * 1_000_000n + 999_999n),
  Buffer.from("\x02p"),
  varint(AT_MS * 1_000n + 7n),
]);

test("fields at the top are renamed, and a call's own times have milliseconds; others are not", () => {
  const json = {
    type: "track",
    userId: "u",
    sentAt: "2026-03-01T09:30:15.250Z",
    timestamp: "2026-03-01T09:30:15.250Z",
    properties: { user_id: "p", sent_at: "2026-03-01T09:30:15.250007Z" },
  };
  expect(JSON.parse(textOf(CALL, CALL_BYTES))).toEqual(json);
  // In a union of records, these are also at the top level.
  const union = [CALL, { ...record(["user_id", "int"]), name: "S" }];
  expect(JSON.parse(textOf(union, Buffer.concat([varint(0n), CALL_BYTES])))).toEqual(json);
  expect(textOf(union, Buffer.from("\x02\x02"))).toBe('{"userId":1}');
});

test("every field of calls, syncs and deletion requests has its name in camelCase", () => {
  const names = [
    ...["message_id", "user_id", "anonymous_id", "group_id", "previous_id", "sent_at"],
    ...["received_at", "original_timestamp", "write_key", "source_id", "audience_id"],
    ...["audience_name", "sync_id", "user_ids", "trait_name", "source_ids"],
  ];
  const schema = record(...[...names, "user_agent"].map((name) => [name, "null"] as const));
  const camelCase = names.map((name) =>
    name.replace(/_(.)/g, (_, deadLetter) => deadLetter.toUpperCase()),
  );
  expect(Object.keys(JSON.parse(textOf(schema, Buffer.alloc(0))))).toEqual([
    ...camelCase,
    "user_agent",
  ]);
});

test("a field that is there in camelCase wins", () => {
  const schema = record(["user_id", "int"], ["userId", "int"]);
  expect(textOf(schema, Buffer.from("\x02\x04"))).toBe('{"user_id":1,"userId":2}');
});

test("a record inside that is also the top one keeps its names there", () => {
  const schema = record(["user_id", "int"], ["more", ["null", "R"]]);
  const value = Buffer.from([2, 2, 4, 0]);
  expect(textOf(schema, value)).toBe('{"userId":1,"more":{"user_id":2,"more":null}}');
});

test("names that objects have are properties of their own", () => {
  const json = JSON.parse(
    textOf(record(["__proto__", "int"], ["constructor", "int"]), Buffer.from("\x02\x04")),
  );
  expect(Object.keys(json)).toEqual(["__proto__", "constructor"]);
  const map = textOf({ type: "map", values: "int" }, Buffer.from("\x02\x12__proto__\x02\x00"));
  expect(Object.keys(JSON.parse(map))).toEqual(["__proto__"]);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

test("values after a large one, and after a refused one, are right", () => {
  const read = readerOf("string");
  const large = withLength(Buffer.alloc(300_000, "x"));
  const json = (bytes: Buffer) => {
    const value = read(bytes);
    return value.kind === "json" ? value.bytes : null;
  };
  const first = json(Buffer.from("\x02a"));
  expect(json(large)?.length).toBe(300_002);
  const second = json(Buffer.from("\x02b"));
  expect(json(Buffer.from("\x06b"))).toBeNull();
  const third = json(Buffer.from("\x02c"));
  for (let index = 0; index < 40_000; index += 1) json(Buffer.from("\x02d"));
  expect(`${first}${second}${third}`).toBe('"a""b""c"');
});
