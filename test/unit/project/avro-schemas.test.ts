// The schemas of schemas/: documented, and of one family with their former versions. A change adds
// a file to schemas/former, and what any version wrote is read by any other.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import avro, { type Type } from "avsc";
import { expect, test } from "vitest";

import { ROOT } from "../../support/project/tracked-texts.ts";

const FOLDER = join(ROOT, "schemas");
const NAMES = names(FOLDER);
const EXAMPLES = 50;

function names(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".avsc"));
  return files.map((file) => file.replace(/\.avsc$/, "")).sort();
}

/** Versions by number, oldest first. */
function formerOf(name: string): readonly { readonly version: number; readonly text: string }[] {
  return names(join(FOLDER, "former"))
    .flatMap((file) => {
      const [, of, version] = /^(.*)\.(\d+)$/.exec(file) ?? [];
      if (of !== name) return [];
      const text = readFileSync(join(FOLDER, "former", `${file}.avsc`), "utf8");
      return [{ version: Number(version), text }];
    })
    .sort((one, other) => one.version - other.version);
}

function current(name: string): string {
  return readFileSync(join(FOLDER, `${name}.avsc`), "utf8");
}

function typeOf(text: string): Type {
  const registry: Record<string, Type> = {};
  const options = { registry, wrapUnions: true } as const;
  // The only one that others use.
  avro.Type.forSchema(JSON.parse(current("call-type")), options);
  const schema = JSON.parse(text);
  return registry[`${schema.namespace}.${schema.name}`] ?? avro.Type.forSchema(schema, options);
}

/** Null: what `writer` wrote is read. */
function misread(writer: string, reader: string): string | null {
  try {
    const [from, to] = [typeOf(writer), typeOf(reader)];
    const resolver = to.createResolver(from);
    for (let example = 0; example < EXAMPLES; example += 1) {
      to.fromBuffer(from.toBuffer(from.random()), resolver);
    }
    return null;
  } catch (error) {
    return String(error);
  }
}

test("there is one for each kind of record", () => {
  expect(NAMES).toEqual([
    "attempt",
    "audience-sync",
    "call",
    "call-type",
    "deletion-request",
    "deletion-request-for-all-sources",
  ]);
});

test("former versions are numbered from 1, and the last one is the one in use", () => {
  for (const name of NAMES) {
    const former = formerOf(name);
    expect(former.map(({ version }) => version)).toEqual(former.map((_, index) => index + 1));
    expect(former.at(-1)?.text).toBe(current(name));
  }
  const known = NAMES.flatMap((name) => formerOf(name));
  expect(known).toHaveLength(names(join(FOLDER, "former")).length);
});

test.each(NAMES)("what any version of %s wrote is read by any other", (name) => {
  const former = formerOf(name);
  const pairs = former.flatMap((writer) => former.map((reader) => [writer, reader] as const));
  expect(pairs.length).toBeGreaterThan(0);
  for (const [writer, reader] of pairs) {
    const problem = misread(writer.text, reader.text);
    expect(problem && `${writer.version} read by ${reader.version}: ${problem}`).toBeNull();
  }
});

test("a field without a default, and a symbol that a former reader lacks, are found", () => {
  const call = JSON.parse(current("call"));
  const added = { ...call, fields: [...call.fields, { name: "more", type: "string" }] };
  expect(misread(JSON.stringify(call), JSON.stringify(added))).toMatch(/more/);
  const optional = { name: "more", type: ["null", "string"], default: null };
  const fits = { ...call, fields: [...call.fields, optional] };
  expect(misread(JSON.stringify(call), JSON.stringify(fits))).toBeNull();
  expect(misread(JSON.stringify(fits), JSON.stringify(call))).toBeNull();
});

test("every schema, field and enum says what it is", () => {
  const silent = (schema: unknown, path: string): readonly string[] => {
    if (Array.isArray(schema)) return schema.flatMap((branch) => silent(branch, path));
    if (typeof schema !== "object" || schema === null) return [];
    const { type, name, doc, fields, items, values } = { ...schema } as Record<string, unknown>;
    const here = `${path}/${String(name ?? "")}`;
    const own = name !== undefined && typeof doc !== "string" ? [here] : [];
    return [...own, ...[type, fields, items, values].flatMap((inner) => silent(inner, here))];
  };
  expect(NAMES.flatMap((name) => silent(JSON.parse(current(name)), name))).toEqual([]);
  expect(silent({ type: "record", name: "A", doc: "d", fields: [{ name: "f" }] }, "")).toHaveLength(
    1,
  );
});
