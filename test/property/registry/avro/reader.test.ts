// Laws of reading Avro: values from another implementation are read, and nothing throws.

import fc from "fast-check";
import { expect, test } from "vitest";

import { decodeValue } from "../../../../src/domain/decode.ts";
import { compileAvro } from "../../../../src/registry/avro/reader.ts";
import { encoded, varint } from "../../../support/build/avro.ts";
import { costlyInputs } from "../../../support/build/generated-inputs.ts";

/** A schema with a value, in the form that avsc expects, and as JSON. */
interface Sample {
  readonly schema: unknown;
  readonly given: unknown;
  readonly json: unknown;
}

let names = 0;
/** Each type has a different name, as in a hand-written schema. */
const freshName = () => `T${names++}`;

/** Returns a decimal with the fewest digits that is parsed as the same float. */
function shortest(float: number): number {
  for (let digits = 1; ; digits += 1) {
    const decimal = Number(float.toPrecision(digits));
    if (Math.fround(decimal) === float) return decimal;
  }
}

const primitive: fc.Arbitrary<Sample> = fc.oneof(
  fc.constant({ schema: "null", given: null, json: null }),
  same("boolean", fc.boolean()),
  same("int", fc.integer()),
  // Beyond this, the writer of avsc rounds.
  same("long", fc.integer({ min: -(2 ** 52), max: 2 ** 52 })),
  fc.double().map((given) => {
    const isNumber = Number.isFinite(given);
    return { schema: "double", given, json: isNumber ? given + 0 : null };
  }),
  fc.float().map((given) => ({
    schema: "float",
    given,
    json: Number.isFinite(given) ? shortest(given) + 0 : null,
  })),
  same("string", fc.string({ unit: "grapheme" })),
  same(
    "string",
    fc.string({ unit: "binary" }).filter((text) => text.isWellFormed()),
  ),
  fc.uint8Array().map((bytes) => {
    const given = Buffer.from(bytes);
    return { schema: "bytes", given, json: given.toString("base64") };
  }),
  fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => {
    const given = Buffer.from(bytes);
    const schema = { type: "fixed", name: freshName(), size: given.length };
    return { schema, given, json: given.toString("base64") };
  }),
  fc.constantFrom("A", "B_2").map((given) => {
    const schema = { type: "enum", name: freshName(), symbols: ["A", "B_2"] };
    return { schema, given, json: given };
  }),
  fc.date({ noInvalidDate: true, min: new Date(-4e15), max: new Date(4e15) }).map((date) => {
    const schema = { type: "long", logicalType: "timestamp-millis" };
    return { schema, given: date.getTime(), json: date.toISOString() };
  }),
  fc.integer({ min: -719_528, max: 2_932_896 }).map((days) => {
    const json = new Date(days * 86_400_000).toISOString().slice(0, 10);
    return { schema: { type: "int", logicalType: "date" }, given: days, json };
  }),
  fc.integer({ min: -99_999_999, max: 99_999_999 }).map((unscaled) => {
    const given = Buffer.alloc(4);
    given.writeInt32BE(unscaled);
    const schema = { type: "bytes", logicalType: "decimal", precision: 10, scale: 3 };
    return { schema, given, json: unscaled / 1_000 + 0 };
  }),
);

function same(schema: string, values: fc.Arbitrary<unknown>): fc.Arbitrary<Sample> {
  return values.map((given) => ({ schema, given, json: given }));
}

/** Returns the name that avsc expects for a branch of a union. */
function branchOf(schema: unknown): string {
  if (typeof schema === "string") return schema;
  const { name, type } = schema as { readonly name?: string; readonly type: string };
  return name ?? type;
}

const { sample } = fc.letrec<{ sample: Sample }>((tie) => ({
  sample: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    primitive,
    // All items of a list or map have the same schema, so the list or map contains the same value several times.
    fc.tuple(tie("sample"), fc.nat(4)).map(([item, count]) => ({
      schema: { type: "array", items: item.schema },
      given: Array.from({ length: count }, () => item.given),
      json: Array.from({ length: count }, () => item.json),
    })),
    fc.tuple(tie("sample"), fc.uniqueArray(key(), { maxLength: 4 })).map(([item, keys]) => ({
      schema: { type: "map", values: item.schema },
      given: Object.fromEntries(keys.map((each) => [each, item.given])),
      json: Object.fromEntries(keys.map((each) => [each, item.json])),
    })),
    fc.tuple(tie("sample"), fc.boolean()).map(([item, isNull]) => {
      if (Array.isArray(item.schema) || item.schema === "null") return item;
      return {
        schema: ["null", item.schema],
        given: isNull ? null : { [branchOf(item.schema)]: item.given },
        json: isNull ? null : item.json,
      };
    }),
    fc.array(tie("sample"), { maxLength: 5 }).map((items) => {
      const entries = items.map((item, at) => [`f_${at}`, item] as const);
      return {
        schema: {
          type: "record",
          name: freshName(),
          fields: entries.map(([name, { schema }]) => ({ name, type: schema })),
        },
        given: Object.fromEntries(entries.map(([name, { given }]) => [name, given])),
        json: Object.fromEntries(entries.map(([name, { json }]) => [name, json])),
      };
    }),
  ),
}));

function key(): fc.Arbitrary<string> {
  return fc.string({ maxLength: 9, unit: "grapheme" }).filter((text) => text !== "__proto__");
}

function decodedBy(schema: unknown, value: Buffer) {
  const compiled = compileAvro([{ text: JSON.stringify(schema) }]);
  if (compiled.kind === "refused") throw new Error(compiled.error);
  const known = { kind: "schema", read: compiled.read } as const;
  return decodeValue({ value, headers: [], schema: { ref: 1, known, start: 0 } });
}

const numRuns = costlyInputs(5);
const TIME_LIMIT_MS = 300_000;

test(
  "what avsc writes is read as the JSON of the same value",
  () => {
    const check = ({ schema, given, json }: Sample) => {
      expect(decodedBy(schema, encoded(schema, given))).toMatchObject({ kind: "json", json });
    };
    fc.assert(fc.property(sample, check), { numRuns });
  },
  TIME_LIMIT_MS,
);

test("every long keeps its digits", () => {
  const check = (long: bigint) => {
    expect(decodedBy("long", varint(long))).toMatchObject({ kind: "json", text: `${long}` });
  };
  fc.assert(fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), check));
});

test(
  "whatever bytes there are for a schema, they are read or refused with a sentence",
  () => {
    const check = ({ schema, given }: Sample, bytes: Uint8Array, at: number) => {
      const value = encoded(schema, given);
      const cut = value.subarray(0, Math.max(0, value.length - 1));
      const corrupt = Buffer.from(value);
      if (corrupt.length > 0) corrupt[at % corrupt.length] = bytes[0] ?? 0xff;
      for (const each of [Buffer.from(bytes), cut, corrupt]) {
        const decoded = decodedBy(schema, each);
        if (decoded.kind === "json") continue;
        expect(decoded.reason).toBe("undecodable");
        expect(decoded.error).toMatch(/\(schema 1\)$|is not UTF-8$/);
        expect(decoded.error).not.toContain("cannot be read");
      }
      // A truncated value always has too few bytes.
      if (value.length > 0) expect(decodedBy(schema, cut).kind).toBe("refused");
    };
    fc.assert(fc.property(sample, fc.uint8Array(), fc.nat(), check), { numRuns });
  },
  TIME_LIMIT_MS,
);

test(
  "whatever JSON a schema is, it is compiled or refused with a sentence",
  () => {
    const check = (schema: unknown) => {
      const compiled = compileAvro([{ text: JSON.stringify(schema) }]);
      if (compiled.kind === "refused") expect(compiled.error).toMatch(/^the schema (?!cannot)/);
    };
    const part = fc.oneof(
      fc.constantFrom("record", "enum", "array", "map", "fixed", "string", "int", "R", "a.b"),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const attributes = fc.dictionary(
      fc.constantFrom(
        ...["type", "name", "namespace", "fields", "items", "values", "symbols", "size"],
        ...["logicalType", "precision", "scale", "default", "__proto__"],
      ),
      part,
    );
    fc.assert(fc.property(fc.oneof(attributes, part, fc.array(attributes)), check), { numRuns });
  },
  TIME_LIMIT_MS,
);
