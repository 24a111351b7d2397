// Values and schemas that are hostile or broken.

import { expect, test } from "vitest";

import { compileAvro } from "../../../../src/registry/avro/reader.ts";
import { varint } from "../../../support/build/avro.ts";

const record = (...fields: readonly (readonly [string, unknown])[]) => ({
  type: "record",
  name: "R",
  fields: fields.map(([name, type]) => ({ name, type })),
});

function errorOf(schema: unknown, bytes: Buffer): string {
  const compiled = compileAvro([{ text: JSON.stringify(schema) }]);
  if (compiled.kind === "refused") throw new Error(compiled.error);
  const read = compiled.read(bytes);
  return read.kind === "json" ? `read: ${read.bytes.length}` : read.error;
}

const NULLS = { type: "array", items: "null" };
const BLOCKS = Buffer.concat(Array.from({ length: 500 }, () => varint(10_000n)));
const LISTS = record(["l", { type: "array", items: "R" }]);
const LIST = record(["next", ["null", "R"]]);
const WIDE = {
  type: "array",
  items: record(...Array.from({ length: 500 }, (_, at) => [`field_${at}`, "null"] as const)),
};

test.each<[string, unknown, Buffer, string]>([
  ["no bytes at all", "int", Buffer.alloc(0), "ends before"],
  ["a number cut short", "long", Buffer.of(0x80), "ends before"],
  ["a text cut short", "string", Buffer.from("\x06ab"), "ends before"],
  ["a text of a gigabyte", "string", varint(1_000_000_000n), "ends before"],
  ["a text of 2^62 bytes", "string", varint(2n ** 62n), "or of bytes is not valid"],
  ["a text of less than no bytes", "string", varint(-1n), "or of bytes is not valid"],
  ["a double cut short", "double", Buffer.alloc(7), "ends before"],
  ["a fixed cut short", { type: "fixed", name: "F", size: 9 }, Buffer.alloc(8), "ends before"],
  ["a byte left over", "int", Buffer.of(2, 2), "1 more byte than its schema"],
  ["bytes left over", "null", Buffer.alloc(7), "7 more bytes than its schema"],
  ["a number of 11 bytes", "long", Buffer.alloc(11, 0x80), "more than 64 bits"],
  ["a number of 70 bits", "long", Buffer.concat([Buffer.alloc(9, 0x80), Buffer.of(2)]), "64 bits"],
  ["a boolean of 2", "boolean", Buffer.of(2), "neither 0 nor 1"],
  ["a branch that is not there", ["null", "int"], varint(2n), "no such branch"],
  ["a branch below zero", ["null", "int"], varint(-1n), "no such branch"],
  ["a branch of 2^60", ["null", "int"], varint(2n ** 60n), "no such branch"],
  ["a symbol too far", { type: "enum", name: "E", symbols: ["A"] }, varint(1n), "no such symbol"],
  ["2^31 nulls", NULLS, Buffer.concat([varint(2n ** 31n), Buffer.of(0)]), "more items than"],
  ["2^31 nulls backwards", NULLS, Buffer.concat([varint(-(2n ** 31n)), varint(0n)]), "more items"],
  ["2^62 nulls", NULLS, Buffer.concat([varint(2n ** 62n), Buffer.of(0)]), "more items than"],
  ["a map of 2^40", { type: "map", values: "null" }, varint(2n ** 40n), "more items than"],
  ["many blocks of nulls", NULLS, BLOCKS, "bytes as JSON"],
  ["few bytes, much JSON", WIDE, varint(10_000n), "more than 65728 bytes as JSON"],
  ["a record that only holds itself", record(["a", "R"]), Buffer.alloc(0), "500 levels deep"],
  ["a long chain of records", LIST, Buffer.alloc(100_000, 2), "500 levels deep"],
  ["lists in lists", LISTS, Buffer.alloc(100_000, 2), "500 levels deep"],
])("%s: rejected", (_name, schema, bytes, error) => {
  expect(errorOf(schema, bytes)).toContain(error);
});

test("lists whose blocks state their size are read", () => {
  const block = Buffer.concat([varint(-2n), varint(2n), Buffer.of(2, 4), Buffer.of(2, 6, 0)]);
  expect(errorOf({ type: "array", items: "int" }, block)).toBe("read: 7");
});

test("many nulls are read, where they are not too many", () => {
  expect(errorOf(NULLS, Buffer.concat([varint(10_000n), Buffer.of(0)]))).toBe("read: 50001");
});

const deep = (levels: number): unknown =>
  levels === 0 ? "int" : { type: "array", items: deep(levels - 1) };
const INJECTED = "x=1;globalThis.polluted=1;//";

test.each<[string, unknown, string]>([
  ["no type", {}, "type that is not valid"],
  ["a number", 7, "type that is not valid"],
  ["a type that is not there", "Nowhere", "undefined type name"],
  ["an empty union", [], "empty union"],
  ["a union in a union", [["int"]], "nested"],
  ["a union with a branch twice", ["int", "int"], "duplicate"],
  ["a name twice", record(["a", { ...record(["b", "int"]) }]), "duplicate type name"],
  ["a field twice", record(["a", "int"], ["a", "int"]), "duplicate field name"],
  ["a record without fields", { type: "record", name: "R" }, "without fields"],
  ["a record without a name", { type: "record", fields: [] }, "without a name"],
  ["a field that is none", { type: "record", name: "R", fields: [null] }, "that is not valid"],
  ["an enum without symbols", { type: "enum", name: "E" }, "without symbols"],
  ["a fixed without a size", { type: "fixed", name: "F" }, "fixed type whose size"],
  ["a fixed of a gigabyte", { type: "fixed", name: "F", size: 2 ** 30 }, "fixed type whose size"],
  ["a name like Avro's own", { type: "fixed", name: "int", size: 1 }, "of a primitive type"],
  ["code in a type", INJECTED, "undefined type name"],
  ["a type that every object has", "toString", "undefined type name"],
  ["a name that is empty", record(["", "int"]), "a field whose name"],
  ["a type's name of a kilobyte", { ...record(), name: "a".repeat(1_000) }, "very long name"],
  ["a namespace that is a number", { ...record(), namespace: 7 }, "namespace that is not valid"],
  ["70 levels", deep(70), "64 levels deep"],
  ["a name of a kilobyte", record(["a".repeat(1_000), "int"]), "a field whose name"],
  [
    "4,000 fields",
    record(...Array.from({ length: 4_000 }, (_, at) => [`f${at}`, "int"] as const)),
    "over 3000 fields and symbols",
  ],
  [
    "4,000 symbols",
    { type: "enum", name: "E", symbols: Array.from({ length: 4_000 }, (_, at) => `S${at}`) },
    "over 3000 fields and symbols",
  ],
  [
    "12,000 types",
    record(
      ...Array.from({ length: 2_900 }, (_, at) => [`f${at}`, ["null", "int", "long"]] as const),
    ),
    "over 10000 types",
  ],
  [
    "201 records",
    Array.from({ length: 201 }, (_, at) => ({ ...record(), name: `R${at}` })),
    "over 200 records",
  ],
  ["300 KB of text", { type: "int", doc: "x".repeat(300_000) }, "over 262144 characters"],
])("a schema with %s is rejected", (_name, schema, error) => {
  const compiled = compileAvro([{ text: JSON.stringify(schema) }]);
  expect(compiled).toEqual({ kind: "refused", error: expect.stringContaining(error) });
  expect(globalThis).not.toHaveProperty("polluted");
});

const ONE = Buffer.from([2]);
const FIRST = Buffer.from([0]);
test.each<[string, unknown, Buffer, string]>([
  ["code in a field's name", record([INJECTED, "int"]), ONE, `{${JSON.stringify(INJECTED)}:1}`],
  ["code in a record's name", { ...record(["a", "int"]), name: INJECTED }, ONE, '{"a":1}'],
  ["code in a namespace", { ...record(["a", "int"]), namespace: INJECTED }, ONE, '{"a":1}'],
  ["code in a symbol", { type: "enum", name: "E", symbols: [INJECTED] }, FIRST, `"${INJECTED}"`],
  ["a line end in a name", record(["a\n", "int"]), ONE, '{"a\\n":1}'],
  ["a quote in a name", record(['a"b', "int"]), ONE, '{"a\\"b":1}'],
  ["a name beyond ASCII", record(["größe", "int"]), ONE, '{"größe":1}'],
  ["a symbol beyond ASCII", { type: "enum", name: "E", symbols: ["Ö"] }, FIRST, '"Ö"'],
  ["a name like an inner one", record(["__hex_61", "int"]), ONE, '{"__hex_61":1}'],
  ["a dash in a namespace", { ...record(["a", "int"]), namespace: "a-b.c" }, ONE, '{"a":1}'],
  ["a dollar in a name", { ...record(["a", "int"]), name: "Outer$Inner" }, ONE, '{"a":1}'],
  ["a number in a namespace", { ...record(["a", "int"]), namespace: "a.2026" }, ONE, '{"a":1}'],
  ["the name of a prototype", { ...record(["a", "int"]), name: "__proto__" }, ONE, '{"a":1}'],
  ["the name of a method", { ...record(["a", "int"]), name: "a.constructor" }, ONE, '{"a":1}'],
  [
    "a reference to such a name",
    {
      ...record(["a", { type: "fixed", name: "x-y", namespace: "n-1", size: 1 }], ["b", "n-1.x-y"]),
      namespace: "o-p",
    },
    Buffer.from([0, 0]),
    '{"a":"AA==","b":"AA=="}',
  ],
])("a schema with %s is read, since bytes do not depend on names", (_name, schema, bytes, json) => {
  const compiled = compileAvro([{ text: JSON.stringify(schema) }]);
  const read = compiled.kind === "reader" ? compiled.read(bytes) : null;
  expect(read?.kind === "json" ? `${read.bytes}` : (read ?? compiled)).toBe(json);
  expect(globalThis).not.toHaveProperty("polluted");
});

const COLOR = (...symbols: readonly string[]) =>
  JSON.stringify({ type: "enum", name: "Color", namespace: "a.b", symbols });
const CAR = (name: string) =>
  JSON.stringify({ ...record(["color", "Color"]), name, namespace: "a.b" });
const BOTH = JSON.stringify({ ...record(["one", "a.b.Car"], ["two", "a.b.Bike"]) });

test.each<[string, readonly string[], string]>([
  [
    "the same twice: it counts once",
    [COLOR("RED", "BLUE"), CAR("Car"), COLOR("RED", "BLUE"), CAR("Bike"), BOTH],
    '{"one":{"color":"BLUE"},"two":{"color":"BLUE"}}',
  ],
  [
    "others in two versions: the first one counts for all",
    [COLOR("RED", "BLUE"), CAR("Car"), COLOR("RED", "GREEN", "BLUE"), CAR("Bike"), BOTH],
    '{"one":{"color":"BLUE"},"two":{"color":"BLUE"}}',
  ],
  [
    "others in two versions, the second with a type of its own, which is not used either",
    [
      JSON.stringify({ ...record(["x", "int"]), name: "a.b.Color" }),
      CAR("Car"),
      JSON.stringify({
        ...record(["y", { type: "enum", name: "a.b.Inner", symbols: ["RED"] }]),
        name: "a.b.Color",
      }),
      JSON.stringify({ type: "enum", name: "a.b.Inner", symbols: ["OTHER", "BLUE"] }),
      JSON.stringify({ ...record(["color", "Inner"]), name: "a.b.Bike" }),
      BOTH,
    ],
    '{"one":{"color":{"x":1}},"two":{"color":"BLUE"}}',
  ],
  [
    "one that the schema itself defines again: it uses its own definition",
    [
      COLOR("RED", "BLUE"),
      CAR("Car"),
      JSON.stringify(
        record(
          ["one", "a.b.Car"],
          ["two", { type: "enum", name: "a.b.Color", symbols: ["A", "B"] }],
        ),
      ),
    ],
    '{"one":{"color":"BLUE"},"two":"B"}',
  ],
])("references that define %s", (_what, texts, json) => {
  const compiled = compileAvro(texts.map((text) => ({ text })));
  const read = compiled.kind === "reader" ? compiled.read(Buffer.from([2, 2])) : null;
  expect(read?.kind === "json" ? `${read.bytes}` : (read ?? compiled)).toBe(json);
});

test("a schema that is no JSON, and one with 101 references, is rejected", () => {
  expect(compileAvro([{ text: "{" }])).toMatchObject({
    kind: "refused",
    error: "the schema is not JSON",
  });
  expect(compileAvro(Array.from({ length: 102 }, () => ({ text: '"int"' })))).toMatchObject({
    error: "the schema has over 100 references",
  });
});

test("JSON that nests 20,000 levels deep as a schema is rejected", () => {
  const text = `${'{"type":'.repeat(20_000)}"int"${"}".repeat(20_000)}`;
  expect(compileAvro([{ text }])).toMatchObject({ error: expect.stringContaining("64 levels") });
  expect(compileAvro([{ text: "[".repeat(20_000) + "]".repeat(20_000) }])).toMatchObject({
    kind: "refused",
  });
});

test("names that are words of JavaScript are names like others", () => {
  const words = [
    "class",
    "function",
    "arguments",
    "eval",
    "this",
    "prototype",
    "v0",
    "t",
    "__proto__",
  ];
  const fields = words.map((name, at) => {
    const type = {
      ...record([name, "int"]),
      name: name === "__proto__" ? "P" : name,
      namespace: "n",
    };
    return [`${name}_${at}`, at % 2 === 0 ? type : ["null", type]] as const;
  });
  const schema = { ...record(...fields), name: "R0" };
  const bytes = Buffer.from(words.flatMap((_, at) => (at % 2 === 0 ? [2] : [2, 2])));
  const compiled = compileAvro([{ text: JSON.stringify(schema) }]);
  const read = compiled.kind === "reader" ? compiled.read(bytes) : null;
  const json: unknown = read?.kind === "json" ? JSON.parse(`${read.bytes}`) : null;
  expect(JSON.stringify(json)).toBe(
    `{${words.map((name, at) => `"${name}_${at}":{"${name}":1}`).join()}}`,
  );
});

test("nothing else of a schema gets anywhere: doc, defaults, attributes with odd names", () => {
  const text = `{"type":"record","name":"R","doc":"*/${INJECTED}","__proto__":{"polluted":1},
    "fields":[{"name":"a","type":"int","doc":"${INJECTED}","default":"${INJECTED}","constructor":1}]}`;
  const compiled = compileAvro([{ text }]);
  expect(compiled.kind === "reader" && compiled.read(varint(1n))).toMatchObject({ kind: "json" });
  expect(globalThis).not.toHaveProperty("polluted");
  expect({}).not.toHaveProperty("polluted");
});
