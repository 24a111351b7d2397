// `include`: entries from separate files, and problems with the file's name.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { placeText, problemText } from "../../../src/base/settings/problem.ts";
import { changesOf, isUnchanged } from "../../../src/config/changes.ts";
import { type Loaded, loadConfig } from "../../../src/config/load.ts";
import { printConfig } from "../../../src/config/print.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

const MAIN = `
kafka: { brokers: [a:1] }
include: ["destinations/*.yaml"]
sources: [{ id: web, writeKey: k1, destinations: [crm, ads] }]
destinations: [{ id: dwh, type: topic, name: DWH }]
`;
const CRM = `# The CRM team
destinations:
  - id: crm
    type: webhook
    endpoints: [{ url: "https://crm.example.com/" }]
`;
const ADS = CRM.replaceAll("crm", "ads").replace("CRM", "ads");

function load(files: Readonly<Record<string, string>>, env: Record<string, string> = {}): Loaded {
  const folder = mkdtempSync(join(tmpdir(), "switchyard-include-"));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return loadConfig({ file: join(folder, "switchyard.yaml"), env });
}

function configOf(loaded: Loaded) {
  if (loaded.kind === "config") return loaded.config;
  throw new Error(loaded.problems.map(problemText).join("\n"));
}

function problemsOf(loaded: Loaded): readonly string[] {
  return loaded.kind === "invalid"
    ? loaded.problems.map((problem) => `${placeText(problem)} found ${problem.found}`)
    : [];
}

const BOTH = {
  "switchyard.yaml": MAIN,
  "destinations/crm.yaml": CRM,
  "destinations/ads.yaml": ADS,
};

test("entries of included files follow those of the configuration file, in the order of names", () => {
  const { destinations } = configOf(load(BOTH));
  expect(destinations.map(({ id }) => id)).toEqual(["dwh", "ads", "crm"]);
});

test("the same entries in one file are the same configuration", () => {
  const split = load(BOTH);
  const one = load({
    "switchyard.yaml": `${MAIN.replace(/include.*\n/, "").trim()}\n${(
      CRM + ADS.replace("destinations:\n", "")
    )
      .replace(/^.*\ndestinations:\n/, "")
      .replaceAll("    ", "    ")
      .replace(/^# .*\n/gm, "")}`.replace(
      "destinations: [{ id: dwh, type: topic, name: DWH }]",
      "destinations:\n  - { id: dwh, type: topic, name: DWH }",
    ),
  });
  // The default state directory is in the folder of each file.
  const { audience } = configOf(split);
  expect(isUnchanged(changesOf(configOf(split), { ...configOf(one), audience }))).toBe(true);
  expect(split.kind === "config" && split.hash).toBe(one.kind === "config" && one.hash);
});

test("sources and audiences can be included, and variables are replaced in included files", () => {
  const { sources, audiences } = configOf(
    load(
      {
        "switchyard.yaml": "kafka: { brokers: [a:1] }\ninclude: [more.yaml]",
        "more.yaml":
          'sources: [{ id: app, writeKey: "${KEY}" }]\naudiences: [{ id: vip, source: app, key: vip }]',
      },
      { KEY: "hunter2-hunter2" },
    ),
  );
  expect(sources).toMatchObject([{ id: "app", writeKeys: ["hunter2-hunter2"] }]);
  expect(audiences).toMatchObject([{ id: "vip" }]);
});

test("the environment replaces the patterns", () => {
  const env = { SWITCHYARD_INCLUDE: "destinations/crm.yaml" };
  const sources = MAIN.replace("[crm, ads]", "[crm]");
  const { destinations } = configOf(load({ ...BOTH, "switchyard.yaml": sources }, env));
  expect(destinations.map(({ id }) => id)).toEqual(["dwh", "crm"]);
});

const crm = (yaml: string) => ({ "destinations/crm.yaml": yaml });
const main = (from: string, to: string) => ({ "switchyard.yaml": MAIN.replace(from, to) });

test.each<[string, Record<string, string>, string]>([
  [
    "a typo",
    crm(CRM.replace("endpoints", "endpoint")),
    "destinations/crm.yaml: destinations[0].endpoint (line 5) found an unknown setting",
  ],
  [
    "another setting",
    crm(`kafka: {}\n${CRM}`),
    "destinations/crm.yaml: kafka (line 1) found an unknown setting",
  ],
  [
    "a map in place of a list",
    crm(`${CRM}\nsources: {}`),
    "destinations/crm.yaml: sources (line 7) found a map",
  ],
  ["no map", crm("- crm"), "destinations/crm.yaml: (file) found a list"],
  ["invalid YAML", crm("destinations: ["), "destinations/crm.yaml: (file) (line 1) found"],
  [
    "an id that another file has",
    { "destinations/b.yaml": CRM },
    "destinations/crm.yaml: destinations[0].id (line 3) found",
  ],
  [
    "a file that does not exist",
    main("include: [", "include: [none.yaml, "),
    "none.yaml: (file) found there is no such file",
  ],
  ["a pattern with a variable", main("*.yaml", "${X}.yaml"), "include[0] (line 3)"],
  ["a pattern for folders", main("destinations/*", "*/a"), "include[0] (line 3)"],
])("%s is a problem with its file", (_, files, expected) => {
  const found = problemsOf(load({ ...BOTH, ...files }));
  expect(found).toContainEqual(expect.stringContaining(expected));
});

test("a pattern without files and an empty file are fine", () => {
  const main = MAIN.replace("[crm, ads]", "[]");
  expect(configOf(load({ "switchyard.yaml": main })).destinations).toHaveLength(1);
  const files = { "switchyard.yaml": main, "destinations/none.yaml": "# nothing yet\n" };
  expect(configOf(load(files)).destinations).toHaveLength(1);
});

test("a warning names the file of its entry", () => {
  const unconnected = CRM.replace("id: crm", "id: lonely");
  const loaded = load({ ...BOTH, "destinations/lonely.yaml": unconnected });
  expect(loaded.kind === "config" && loaded.warnings).toContainEqual(
    expect.stringMatching(/^destinations\/lonely\.yaml: destinations\[0\]: .*lonely/),
  );
});

test("config print says which file an entry came from", () => {
  const loaded = load(BOTH);
  expect(loaded.kind === "config" && printConfig(loaded.given)).toMatch(
    /# destinations\/crm\.yaml\n\s+- type: webhook\n\s+id: crm/,
  );
});

test("included files and the folders of patterns are watched", () => {
  const loaded = load(BOTH);
  const folder = dirname(loaded.files[0] ?? "");
  expect(loaded.files.map((file) => file.slice(folder.length))).toEqual([
    "/switchyard.yaml",
    "/destinations/ads.yaml",
    "/destinations/crm.yaml",
    "/destinations",
  ]);
});
