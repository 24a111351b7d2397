import { expect, test } from "vitest";

import { compileSchema } from "../../../src/registry/compile.ts";

test("values with a JSON schema are the JSON that they are", () => {
  const known = compileSchema({ type: "JSON", text: '{"type":"object"}', references: [] });
  const bytes = Buffer.from('{"type":"track"}');
  expect(known.kind === "schema" && known.read(bytes)).toEqual({ kind: "json", bytes });
});
