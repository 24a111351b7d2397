// ARCHITECTURE.md and the tree agree: each folder of src and of the router has one row, a row names the folders
// inside, and each folder and file that a row names is there. So is each file that a guide of engineers names.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { projectTexts, ROOT } from "../../support/project/tracked-texts.ts";

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

const PAGES = [
  ...["router/deliver", "router/audience", "operator", "kafka"].map((at) => `src/${at}/README.md`),
  ...["debugging", "recipes", "proofs"].map((name) => `docs/contributing/${name}.md`),
];
const FILES = projectTexts().map(({ path }) => path);

/** The files that a page names and that are nowhere. What stands for a name, such as `src/<stage>/stage.ts`, is none. */
function nowhere(page: string): readonly string[] {
  const named = [...page.matchAll(/`(?:\.\.\/)?([\w./-]+\.tsx?)`/g)].map(([, name = ""]) => name);
  return named
    .filter((name) => !name.includes("name-"))
    .filter((name) => !existsSync(join(ROOT, name)))
    .filter((name) => !FILES.some((file) => `/${file}`.endsWith(`/${name}`)));
}

test.each(PAGES)("the files that %s names are there", (path) => {
  expect(nowhere(readFileSync(join(ROOT, path), "utf8"))).toEqual([]);
});

test("a file that is nowhere is found", () => {
  expect(nowhere("`attic/x.ts` and `src/main.ts` and `stage.ts`")).toEqual(["attic/x.ts"]);
});
