// ARCHITECTURE.md and the tree agree: each folder of src and of the router has one row, a row names the folders
// inside, and each folder and file that a row names is there.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ROOT } from "../../support/project/tracked-texts.ts";

const PAGE = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
/** Its folders have rows of their own. */
const SPREAD = "src/router/";
/** Where every folder is of one kind, the row names the kind: `src/router/destinations/`. */
const ANY = "`<type>/`";

function foldersIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function problems(page: string): readonly string[] {
  const rows = [...page.matchAll(/^\| `(\S+\/)`(?:, `\S+`)? \| (.*) \|$/gm)];
  const listed = rows.map(([, folder = ""]) => folder);
  const expected = ["src/", SPREAD].flatMap((at) => foldersIn(at).map((name) => `${at}${name}/`));
  return [
    ...listed.filter((folder, at) => listed.indexOf(folder) < at).map((name) => `${name} twice`),
    ...expected
      .filter((folder) => folder !== SPREAD && !listed.includes(folder))
      .map((name) => `${name} is missing`),
    ...rows.flatMap(([, folder = "", text = ""]) => problemsOfRow(folder, text)),
  ];
}

function problemsOfRow(folder: string, text: string): readonly string[] {
  if (!existsSync(join(ROOT, folder))) return [`${folder} is gone`];
  if (!folder.startsWith("src/")) return [];
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  const named = [...text.matchAll(/`([a-z-]+\.ts)`/g)].map(([, name = ""]) => name);
  return [
    ...foldersIn(folder)
      .filter((inside) => !text.includes(`\`${inside}/\``) && !text.includes(ANY))
      .map((inside) => `${folder} lacks ${inside}/`),
    ...named
      .filter((name) => !files.some((file) => `/${file}`.endsWith(`/${name}`)))
      .map((name) => `${folder} has no ${name}`),
  ];
}

test("the map and the tree agree", () => {
  expect(problems(PAGE)).toEqual([]);
});

test.each([
  ["| `src/router/delay/` | waits |", "src/router/delay/ twice"],
  ["| `src/attic/` | old things |", "src/attic/ is gone"],
  ["| `src/kafka/` | `wire/` and `cluster/` |", "src/kafka/ lacks consume/"],
  ["| `src/router/delay/` | `wait.ts` waits |", "src/router/delay/ has no wait.ts"],
])("the planted row %j is found", (row, problem) => {
  expect(problems(`${PAGE}\n${row}\n`)).toContain(problem);
});

test("a row that is omitted is found", () => {
  const planted = PAGE.replace(/^\| `src\/router\/delay\/`.*\n/m, "");
  expect(problems(planted)).toEqual(["src/router/delay/ is missing"]);
});

test("the page of tests names each kind and each room of support", () => {
  const page = readFileSync(join(ROOT, "test/README.md"), "utf8");
  const unnamed = (names: readonly string[]) =>
    names.filter((name) => !page.includes(`| \`${name}`));
  const rooms = foldersIn("test/support").map((room) => `${room}/`);
  expect(unnamed([...foldersIn("test").filter((kind) => kind !== "support"), ...rooms])).toEqual(
    [],
  );
  expect(unnamed(["attic/"])).toEqual(["attic/"]);
});

const GUIDES = ["router/deliver", "router/audience", "operator", "kafka"];

test.each(GUIDES)(
  "the guide of %s has at most 60 lines, and the files it names are there",
  (room) => {
    const guide = readFileSync(join(ROOT, `src/${room}/README.md`), "utf8");
    const files = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" });
    const named = [...guide.matchAll(/`([a-z/-]+\.tsx?)`/g)].map(([, name = ""]) => name);
    const isThere = (name: string) => files.some((file) => `/src/${file}`.endsWith(`/${name}`));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !isThere(name))).toEqual([]);
    expect(isThere("attic/x.ts")).toBe(false);
    expect(guide.split("\n").length - 1).toBeLessThanOrEqual(60);
  },
);
