// Names in code are the field's words. Those that only we understood must not come back: looked at
// are identifiers and strings of one word, split where their case or a sign changes.

import { expect, test } from "vitest";

import { DestinationHealth } from "../../../src/router/deliver/destination-health.ts";
import { statusOf } from "../../../src/router/deliver/status.ts";
import { webhookDestination } from "../../support/build/webhook-destination.ts";
import { projectTexts } from "../../support/project/tracked-texts.ts";

/** The word that went, and what is written now. Several words follow each other in a name. */
const OLD: Readonly<Record<string, string>> = {
  letter: "dead letter",
  letters: "dead letters",
  tier: "delay",
  tiers: "delays",
  park: "schedule a retry",
  parked: "scheduled",
  parking: "scheduling a retry",
  "given up": "dead-lettered",
  told: "reported",
  telling: "progress",
  trouble: "health problem",
  troubles: "health problems",
  away: "unreachable, unavailable",
  "left out": "skipped",
  "in hand": "in flight",
  "in vain": "penalty",
  "went around": "rerouted",
  "going around": "rerouted",
  damaged: "corrupt",
  damage: "corruption",
  pull: "early release",
  pulled: "released",
  steer: "control",
  steering: "control",
  "look up": "lookup",
  "log in": "authenticate, sign in",
  fate: "final state",
  sighting: "observation",
};
/** Names in which the word has its usual meaning, or that belong to somebody else: letters of the alphabet. */
const RIGHT: ReadonlySet<string> = new Set([
  "letter",
  "letters",
  "fifteen-letters",
  "sixteen-letters",
]);
/**
 * Words that are no fields of JSON output: `--json`, the admin port, and the console. Fields are found as properties in
 * the code of these folders, and in the pages that list the fields.
 */
const OLD_FIELDS: Readonly<Record<string, string>> = {
  because: "reason",
  drained: "processed",
  breaker: "circuit",
};
const OLD_IN_PAGES: Readonly<Record<string, string>> = { ...OLD_FIELDS, refused: "rejected" };
const OUTPUT =
  /^src\/(program\/cli|operator|router\/deletion)\/|^src\/domain\/(destination|process)-status\.ts$/;
const FIELDS = /(?<=[{,(]\s*|readonly )([a-z]\w*)\??(?=\s*[:,}])/g;
const COMMENTS = /\/\*[\s\S]*?\*\/|(?<!["'`:])\/\/.*$/gm;
/** Their words are for people, if there are several. */
const STRING = /"(?:[^"\\\n]|\\.)*"/g;
const BETWEEN_TAGS = /[>}][^<>{}=;()"]*[<{]/g;
const TEMPLATE = /`(?:[^`\\]|\\.)*`/g;
const REGEX = /(?<=[=(,:] ?)\/(?![*/])(?:\\.|[^/\n])+\/[dgimsuy]*/g;
const NAMES = /(?<=["'`])[\w.:/$-]+|[A-Za-z_$][\w$-]*/g;

function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

function oldIn(name: string): readonly string[] {
  const words = ` ${wordsOf(name).join(" ")} `.replaceAll(/ dead letters? /g, " ");
  if (RIGHT.has(name)) return [];
  return Object.keys(OLD).filter((old) => words.includes(` ${old} `));
}

function found(path: string, code: string): readonly string[] {
  const bare = code
    .replaceAll(COMMENTS, "")
    .replaceAll(REGEX, "")
    .replaceAll(STRING, (text) => (text.includes(" ") ? '""' : text))
    .replaceAll(TEMPLATE, (text) =>
      text.includes(" ") ? (text.match(/\$\{[^}]*\}/g) ?? []).join(" ") : text,
    )
    .replaceAll(BETWEEN_TAGS, " ");
  const names = new Set(bare.match(NAMES) ?? []);
  return [...names].flatMap((name) =>
    oldIn(name).map((old) => `${path}: ${name} (${old}: ${OLD[old]})`),
  );
}

/** These list old words themselves: what must not come back, and where a page was before. */
const LISTS: ReadonlySet<string> = new Set([
  "test/support/project/moved-anchors.ts",
  "test/unit/project/old-words.test.ts",
  "test/unit/project/style.test.ts",
]);
const code = projectTexts().filter(
  ({ path }) => /^(src|test|tools|bench)\/.*\.tsx?$/.test(path) && !LISTS.has(path),
);

test("no name in code has an old word", () => {
  expect(code.length).toBeGreaterThan(1000);
  expect(code.flatMap(({ path, text }) => found(path, text))).toEqual([]);
});

function oldFields(path: string, code: string): readonly string[] {
  const bare = code.replaceAll(COMMENTS, "");
  const names = new Set(Array.from(bare.matchAll(FIELDS), ([, name = ""]) => name));
  return [...names]
    .filter((name) => name in OLD_FIELDS)
    .map((name) => `${path}: ${name} (${OLD_FIELDS[name]})`);
}

test("no field of JSON output has an old word, in code or in the pages that list the fields", () => {
  const output = code.filter(({ path }) => OUTPUT.test(path));
  expect(output.length).toBeGreaterThan(150);
  expect(output.flatMap(({ path, text }) => oldFields(path, text))).toEqual([]);
  const pages = projectTexts().filter(({ path }) =>
    /^docs\/(commands|http-apis|monitor|schemas)\.md$/.test(path),
  );
  expect(pages).toHaveLength(4);
  const listed = pages.flatMap(({ path, text }) =>
    Array.from(text.matchAll(/`(\w+)`/g), ([, name = ""]) => ({ path, name })),
  );
  expect(listed.filter(({ name }) => name in OLD_IN_PAGES)).toEqual([]);
});

test("the status of an endpoint names its ID and its circuit as the tables do", () => {
  const condition = new DestinationHealth(webhookDestination(), 0);
  const [endpoint = {}] = statusOf(condition, null, [], 0).endpoints;
  const shown = ["name", "id", "origin", "circuit", "failingSince", "lastMinute"];
  expect(Object.keys(endpoint)).toEqual([...shown, "unavailableUntil", "last"]);
});

test.each([
  ["tell(options, shell, text, { destination, drained: isDone })", ["drained"]],
  ["return { destination: id, because };", ["because"]],
  ["interface A {\n  readonly breaker: string;\n}", ["breaker"]],
  ["/** breaker: because */ const reason = 1;", []],
])("a field in %j", (source, old) => {
  expect(oldFields("x.ts", source).map((line) => / (\w+) \(/.exec(line)?.[1])).toEqual(old);
});

test.each([
  ["const tierMs = 1;", ["tier"]],
  ["isGivenUp()", ["given up"]],
  ['log.warn({}, "delivery.parked")', ["parked"]],
  ["deadLetters.map(letterOf)", ["letter"]],
  ["// a tier, in a comment", []],
  ["deadLetterTopic", []],
])("in %j", (source, old) => {
  expect(found("x.ts", source).map((line) => /\(([^:]*):/.exec(line)?.[1])).toEqual(old);
});
