// Simple YAML and JSON are read as the YAML parser reads them.

import fc from "fast-check";
import { expect, test } from "vitest";
import { parseDocument, stringify } from "yaml";
import { plainTree } from "../../../src/config/plain-yaml.ts";
import { costlyInputs } from "../../support/build/generated-inputs.ts";
import { anyText } from "../../support/build/generated-text.ts";

const numRuns = costlyInputs(200, 20_000);

/** If the text is read as simple YAML, the parser must read the same without any complaint. */
function compare(text: string): void {
  const tree = plainTree(text);
  if (tree === null) return;
  const document = parseDocument(text, { prettyErrors: false, schema: "core" });
  expect([...document.errors, ...document.warnings]).toEqual([]);
  expect(JSON.stringify(tree)).toBe(JSON.stringify(document.toJS()));
}

const scalar = fc.oneof(
  fc.constantFrom("", "x", "x y", '"q"', "'q'", '"', "[]", "{}", "true", "No", "~", "0", "007"),
  fc.constantFrom(
    "7d",
    "1.5",
    "1e3",
    "127.0.0.1",
    "0x1f",
    "-1",
    ".5",
    "a:b",
    "a: b",
    "a #b",
    "- a",
  ),
  anyText(),
);
const line = fc
  .tuple(
    fc.constantFrom("", "", "  ", "  ", "    ", "   "),
    fc.constantFrom("", "", "- ", "-"),
    fc.constantFrom("", "a: ", "b: ", "c: ", "d:", "e:", "f:  ", "true: ", "__proto__: ", '"g": '),
    scalar,
  )
  .map((parts) => parts.join(""));

test("any lines", () => {
  const lines = fc.array(line, { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(lines, (all) => compare(all.join("\n"))),
    { numRuns: 10 * numRuns },
  );
});

test("any value as YAML or JSON, with a change anywhere", () => {
  const change = fc.tuple(fc.nat(), fc.nat({ max: 3 }), scalar);
  fc.assert(
    fc.property(fc.jsonValue(), fc.boolean(), change, (value, isJson, [at, cut, put]) => {
      const text = isJson ? JSON.stringify(value) : stringify(value);
      compare(text);
      const index = at % (text.length + 1);
      compare(`${text.slice(0, index)}${put}${text.slice(index + cut)}`);
    }),
    { numRuns },
  );
});
