// Each function, class and constant that a file exports is imported by another file. Types are not
// looked at: a type in an exported signature is exported with it, whether or not somebody names it.

import { posix } from "node:path";
import { expect, test } from "vitest";

import { projectTexts, type Text } from "../../support/project/tracked-texts.ts";

/** Packages export these; vitest loads the others by their paths. */
const ENTRIES = /^(?:src\/sdk\/(?:client|webhooks)\/index\.ts|test\/support\/vitest\/.*)$/;
const NAMES = String.raw`\{[^{}]*\}`;
const STATIC = new RegExp(
  String.raw`^(?:import|export)\s+(?:type\s+)?(${NAMES}|\*[^"]*)\s+from\s+"(\.[^"]+)"`,
  "gm",
);
const LAZY = new RegExp(
  String.raw`(?:const\s+(${NAMES})\s*=\s*await\s+)?\bimport\(\s*"(\.[^"]+)"`,
  "g",
);
const DECLARED =
  /^export\s+(?:(?:async\s+)?function\*?|(?:abstract\s+)?class|const|let)\s+(?:(\w+)|(\{[^{}]*\}))/gm;
const LISTED = /^export\s+(?:type\s+)?(\{[^{}]*\})/gm;
const EVERYTHING = "*";

/** Of `{ a, type b, c as d }`, the names in the file that is imported from, or those that it gives. */
function listed(list: string, side: 0 | -1): readonly string[] {
  const parts = list.replaceAll(/[{}]|\/\/.*$/gm, "").split(",");
  const names = parts.map((part) => part.trim().replace(/^type\s+/, ""));
  return names.flatMap((name) =>
    name === "" ? [] : (name.split(/\s+as\s+|\s*:\s*/).at(side) ?? []),
  );
}

function unused(texts: readonly Text[]): readonly string[] {
  const code = texts.filter(({ path }) => /\.tsx?$/.test(path));
  const imported = new Set<string>();
  for (const { path, text } of code) {
    for (const [, names = EVERYTHING, from = ""] of [
      ...text.matchAll(STATIC),
      ...text.matchAll(LAZY),
    ]) {
      const file = posix.join(posix.dirname(path), from);
      const each = names.startsWith("{") ? listed(names, 0) : [EVERYTHING];
      for (const name of each) imported.add(`${file} ${name}`);
    }
  }
  return code.flatMap(({ path, text }) => {
    if (ENTRIES.test(path) || imported.has(`${path} ${EVERYTHING}`)) return [];
    const declared = [...text.matchAll(DECLARED)].flatMap(([, name, list]) =>
      name === undefined ? listed(list ?? "", -1) : [name],
    );
    const again = [...text.matchAll(LISTED)].flatMap(([, list]) => listed(list ?? "", -1));
    const names = [...declared, ...again].map((name) => `${path} ${name}`);
    return names.filter((name) => !imported.has(name));
  });
}

test("what is exported is imported", () => {
  expect(unused(projectTexts())).toEqual([]);
});

// The check must be able to fail, and to see each way of importing.
test.each([
  ["export function a() {}", "", ["src/x.ts a"]],
  ["export const { a, b: c } = d;", 'import { a } from "./x.ts";', ["src/x.ts c"]],
  ["export class A {}\nexport const b = 1;", 'import { A as B } from "./x.ts";', ["src/x.ts b"]],
  ['export { a } from "./z.ts";', "", ["src/x.ts a"]],
  ["export const a = 1;", 'import {\n  type T,\n  a,\n} from "./x.ts";', []],
  ["export const a = 1;", 'const { a } = await import("./x.ts");', []],
  ["export const a = 1;", 'import * as x from "./x.ts";', []],
  ["export const a = 1;", 'void import("./x.ts").then((x) => x.a);', []],
  ["export interface T {}", "", []],
])("%j, imported by %j", (exporting, importing, expected) => {
  const texts = [
    { path: "src/x.ts", text: exporting },
    { path: "src/y.ts", text: importing },
  ];
  expect(unused(texts)).toEqual(expected);
});
