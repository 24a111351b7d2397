// The schemas of schemas/ are documented: registries and their users show these texts.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ROOT } from "../../support/project/tracked-texts.ts";

const FOLDER = join(ROOT, "schemas");
const NAMES = names(FOLDER);

function names(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((file) => file.endsWith(".avsc"));
  return files.map((file) => file.replace(/\.avsc$/, "")).sort();
}

function current(name: string): string {
  return readFileSync(join(FOLDER, `${name}.avsc`), "utf8");
}

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
