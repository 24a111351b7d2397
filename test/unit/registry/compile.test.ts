import { expect, test } from "vitest";

import { compileSchema } from "../../../src/registry/compile.ts";

test("values with a JSON schema are the JSON that they are", () => {
  const known = compileSchema({ type: "JSON", text: '{"type":"object"}', references: [] });
  const bytes = Buffer.from('{"type":"track"}');
  expect(known.kind === "schema" && known.read(bytes)).toEqual({ kind: "json", bytes });
});

test("values with an Avro schema are read by it and by those that it refers to", () => {
  const references = [{ name: "a.B", text: '{"type":"enum","name":"a.B","symbols":["X","Y"]}' }];
  const known = compileSchema({ type: "AVRO", text: '["null","a.B"]', references });
  const read = known.kind === "schema" ? known.read(Buffer.of(2, 2)) : null;
  expect(read?.kind === "json" && read.bytes.toString()).toBe('"Y"');
});

test.each([
  ["PROTOBUF", "", "the value is Protobuf, which is not supported"],
  ["THRIFT", "", 'the value\'s schema has the type "THRIFT", which is not supported'],
  ["AVRO", "{", "the schema is not JSON"],
])("no value is read by a schema of type %s: %s", (type, text, error) => {
  const known = compileSchema({ type, text, references: [] });
  expect(known).toEqual({ kind: "refused", reason: "undecodable", error });
});
