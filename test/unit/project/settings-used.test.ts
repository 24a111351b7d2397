// A setting that is declared is used: a file outside src/config reads its field. What a declaration
// alone brings (a row of the page, a variable, a line of `config print`) changes nothing.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { settingNames } from "../../support/project/setting-names.ts";
import { ROOT } from "../../support/project/tracked-texts.ts";

/** A field of a type says that there is one, not what it is for. So does the declaration of a setting. */
const DECLARATION =
  /^\s*(?:readonly \w+\??: .*|\w+: (?:setting|required|optional|list|section|optionalSection|variants)\(.*)$/gm;
const COMMENT = /^\s*(?:\*|\/\*|\/\/).*$/gm;

function unused(fields: readonly string[], sources: readonly string[]): readonly string[] {
  const words = new Set(
    sources.flatMap(
      (source) => source.replace(COMMENT, "").replace(DECLARATION, "").match(/\w+/g) ?? [],
    ),
  );
  return fields.filter((field) => !words.has(field));
}

const FIELDS = [...new Set(settingNames().map(({ field }) => field))];
const SOURCES = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.startsWith("config/"))
  .map((file) => readFileSync(join(ROOT, "src", file), "utf8"));

test("every setting is used", () => {
  expect(FIELDS.length).toBeGreaterThan(40);
  expect(unused(FIELDS, SOURCES)).toEqual([]);
});

test.each([
  "interface Settings {\n  readonly bodyMaxBytes: number | null;\n}\n",
  "/** Larger than `bodyMaxBytes`: rejected. */\n",
  "// bodyMaxBytes\n",
  'const fields = {\n  bodyMaxBytes: optional(size(1, 9), "Maximum size."),\n};\n',
])("a setting that is only spoken of is found: %j", (source) => {
  expect(unused(["bodyMaxBytes"], [source])).toEqual(["bodyMaxBytes"]);
});

test("a setting that is read is not found", () => {
  const source = "if (body.length > destination.bodyMaxBytes) return rejected();\n";
  expect(unused(["bodyMaxBytes"], [source])).toEqual([]);
});
