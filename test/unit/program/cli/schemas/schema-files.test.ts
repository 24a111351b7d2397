// The table in the header of schema-files.ts.

import { expect, test } from "vitest";

import { orderSchemas } from "../../../../../src/program/cli/schemas/schema-files.ts";

function file(name: string, schema: unknown) {
  return { file: name, text: typeof schema === "string" ? schema : JSON.stringify(schema) };
}

function record(name: string, ...types: readonly unknown[]) {
  const fields = types.map((type, index) => ({ name: `f${index}`, type }));
  return { type: "record", name, namespace: "x", fields };
}

function problemsOf(...files: readonly ReturnType<typeof file>[]): readonly string[] {
  const ordered = orderSchemas(files);
  return ordered.kind === "invalid" ? ordered.problems : [];
}

test("those that others use come first, with full names", () => {
  const outer = record("Outer", "string", ["null", "Middle"], { type: "map", values: "y.Inner" });
  const middle = record("Middle", { type: "array", items: { type: "y.Inner" } });
  const inner = { type: "enum", name: "y.Inner", symbols: ["A"] };
  const ordered = orderSchemas([file("a", outer), file("b", middle), file("c", inner)]);
  if (ordered.kind === "invalid") throw new Error(ordered.problems.join());
  expect(ordered.schemas.map(({ name, uses }) => [name, uses])).toEqual([
    ["y.Inner", []],
    ["x.Middle", ["y.Inner"]],
    ["x.Outer", ["x.Middle", "y.Inner"]],
  ]);
  expect(ordered.schemas[2]?.text).toBe(JSON.stringify(outer));
});

test("types of the same file, and a schema that uses itself, are no references", () => {
  const nested = { type: "record", name: "Nested", fields: [{ name: "f", type: "Node" }] };
  const node = record("Node", ["null", "Node"], nested, "x.Nested", {
    type: "fixed",
    name: "z.F",
    size: 2,
  });
  const ordered = orderSchemas([file("a", node)]);
  expect(ordered).toMatchObject({ schemas: [{ name: "x.Node", uses: [] }] });
});

test("a logical type, and attributes that look like types, are none", () => {
  const time = { type: "long", logicalType: "timestamp-millis", doc: "Other" };
  expect(problemsOf(file("a", record("A", time)))).toEqual([]);
});

test.each([
  [[file("a", "{")], "a is not JSON"],
  [[file("a", '"string"')], "a is not a named Avro type, such as a record or an enum"],
  [[file("a", [])], "a is not a named Avro type, such as a record or an enum"],
  [
    [file("a", { type: "record", fields: [] })],
    "a is not a named Avro type, such as a record or an enum",
  ],
  [[file("a", record("A")), file("b", record("A"))], "b and a both define x.A"],
  [[file("a", record("A", "B"))], "a uses x.B, which no file defines"],
  [
    [file("a", record("A", "B")), file("b", record("B", "A"))],
    "these schemas use each other: a, b",
  ],
])("a problem: %j", (files, problem) => {
  expect(problemsOf(...files)).toEqual([problem]);
});
