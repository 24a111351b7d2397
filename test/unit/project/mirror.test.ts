// test/unit and test/property are mirrors of src, so that the tests of a file are found without a
// search. A test's subject is the file that it imports and has the name of:
//
//   the test's folder is the subject's                              right
//   it is another folder                                            misplaced
//   no import has its name, the folder is one of src                right: a test of several files
//   the folder is none of src, and none of those below              misplaced

import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");
const MIRRORS = ["unit", "property"];
/** What test/unit holds besides: folders that mirror another one, and tests of the whole project. */
const BESIDE: Readonly<Record<string, string | null>> = {
  bench: "bench",
  chaos: "test/chaos",
  "suite-control": "test/control",
  drill: "test/drill",
  project: null,
  support: "test/support",
  tools: "tools",
};
const IMPORT = /^import\s+(?!type\s)[^"=;]*?from\s+"(\.[^"]+)"/gm;

/** The folder that a test's folder mirrors, from the project's; null for one that mirrors none. */
function mirrored(folder: string): string | null {
  const [first = "", ...rest] = folder.split("/");
  if (!(first in BESIDE)) return join("src", folder);
  const beside = BESIDE[first] ?? null;
  return beside === null ? null : join(beside, ...rest);
}

/** @param file from a mirror's folder, such as `kafka/wire/varint.test.ts`. */
function misplaced(file: string, source: string, folders: ReadonlySet<string>): string | null {
  const place = mirrored(dirname(file));
  if (place === null) return null;
  if (!folders.has(place)) return `${file}: there is no folder ${place}`;
  const name = basename(file).replace(/\.test\.ts$/, ".ts");
  const imported = [...source.matchAll(IMPORT)].map(([, specifier = ""]) =>
    join("test/unit", dirname(file), specifier),
  );
  const subjects = imported.filter((path) => basename(path) === name);
  if (subjects.length === 0 || subjects.some((path) => dirname(path) === place)) return null;
  return `${file}: its subject is ${subjects.join(", ")}`;
}

function foldersBelow(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  const below = entries.filter((entry) => entry.isFile()).map(({ parentPath }) => parentPath);
  return [...new Set(below)].map((path) => relative(ROOT, path));
}

const SRC = foldersBelow("src").filter((folder) => folder !== "src");
const FOLDERS = new Set([
  ...SRC,
  "src",
  ...["bench", "test/chaos", "test/drill", "test/control", "test/support", "tools"].flatMap(
    foldersBelow,
  ),
]);

test.each(MIRRORS)("every test in test/%s lies where its subject does", (mirror) => {
  const folder = join(ROOT, "test", mirror);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".test.ts"),
  );
  expect(files.length).toBeGreaterThan(15);
  const found = files.map((file) =>
    misplaced(file, readFileSync(join(folder, file), "utf8"), FOLDERS),
  );
  expect(found.filter((problem) => problem !== null)).toEqual([]);
});

test.each(SRC)("a test of a file in %s that lies elsewhere is found", (folder) => {
  const inMirror = relative("src", folder);
  const elsewhere = inMirror === "route" ? "delay" : "route";
  const up = (from: string) => "../".repeat(from.split("/").length + 2);
  const source = (from: string) => `import {\n  x,\n} from "${up(from)}${folder}/subject.ts";\n`;
  const planted = `${elsewhere}/subject.test.ts`;
  expect(misplaced(planted, source(elsewhere), FOLDERS)).toBe(
    `${planted}: its subject is ${folder}/subject.ts`,
  );
  expect(misplaced(`${inMirror}/subject.test.ts`, source(inMirror), FOLDERS)).toBeNull();
});

test("a test of several files lies anywhere in the mirror, and only there", () => {
  const several = 'import { a } from "../../../src/delay/a.ts";\n';
  expect(misplaced("route/flows.test.ts", several, FOLDERS)).toBeNull();
  expect(misplaced("attic/flows.test.ts", several, FOLDERS)).toBe(
    "attic/flows.test.ts: there is no folder src/attic",
  );
  expect(misplaced("support/attic/a.test.ts", several, FOLDERS)).toContain("test/support/attic");
});
