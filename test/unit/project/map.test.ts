// The map of ARCHITECTURE.md and the tree agree: each folder of src has one row, a row names the
// rooms of its folder, and each folder and file that a row names is there.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { ROOT } from "../../support/project/tracked-texts.ts";

const PAGE = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");

interface Row {
  readonly folders: readonly string[];
  readonly text: string;
}

function rowsOf(page: string): readonly Row[] {
  const [, map = ""] = page.split(/^## Map\n/m);
  const [table = ""] = map.split(/^## /m);
  return [...table.matchAll(/^\| (`.*?`) \| (.*) \|$/gm)].map(([, folders = "", text = ""]) => ({
    folders: folders.split(", ").map((folder) => folder.replaceAll("`", "")),
    text,
  }));
}

function foldersIn(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function problems(rows: readonly Row[]): readonly string[] {
  const listed = rows.flatMap(({ folders }) => folders);
  const expected = foldersIn("src").map((name) => `src/${name}/`);
  return [
    ...listed.filter((folder, at) => listed.indexOf(folder) < at).map((name) => `${name} twice`),
    ...expected.filter((folder) => !listed.includes(folder)).map((name) => `${name} is missing`),
    ...listed.filter((path) => !existsSync(join(ROOT, path))).map((name) => `${name} is gone`),
    ...rows.flatMap(problemsOfRow),
  ];
}

/** Where every room of a folder is of one kind, the row names the kind: `src/destinations/`. */
const ANY_ROOM = "`<type>/`";

/** Rooms that a row leaves out, and files that it names and that are nowhere in its folders. */
function problemsOfRow({ folders, text }: Row): readonly string[] {
  const own = folders.filter((path) => path.startsWith("src/") && path.endsWith("/"));
  const here = own.filter((path) => existsSync(join(ROOT, path)));
  const rooms = here.flatMap(foldersIn);
  const files = here.flatMap((path) =>
    readdirSync(join(ROOT, path), { recursive: true, encoding: "utf8" }),
  );
  const named = [...text.matchAll(/`([a-z-]+\.ts)`/g)].map(([, name = ""]) => name);
  const isThere = (name: string) => files.some((file) => `/${file}`.endsWith(`/${name}`));
  return [
    ...rooms
      .filter((room) => !text.includes(`\`${room}/\``) && !text.includes(ANY_ROOM))
      .map((room) => `${own} lacks ${room}/`),
    ...(here.length === 0 ? [] : named.filter((name) => !isThere(name))).map(
      (name) => `${own} has no ${name}`,
    ),
  ];
}

test("the map and the tree agree", () => {
  const rows = rowsOf(PAGE);
  expect(rows.length).toBeGreaterThan(20);
  expect(problems(rows)).toEqual([]);
});

test.each([
  ["| `src/delay/` | waits |", "src/delay/ twice"],
  ["| `src/attic/` | old things |", "src/attic/ is gone"],
  ["| `src/kafka/` | `wire/` and `cluster/` |", "src/kafka/ lacks consume/"],
  ["| `src/delay/` | `wait.ts` waits |", "src/delay/ has no wait.ts"],
])("the planted row %j is found", (row, problem) => {
  const planted = PAGE.replace("## Map\n", `## Map\n\n${row}\n`);
  expect(problems(rowsOf(planted))).toContain(problem);
});

test("a row that is omitted is found", () => {
  const planted = PAGE.replace(/^\| `src\/delay\/`.*\n/m, "");
  expect(problems(rowsOf(planted))).toEqual(["src/delay/ is missing"]);
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

const GUIDES = ["deliver", "audience", "operate", "kafka"];

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
