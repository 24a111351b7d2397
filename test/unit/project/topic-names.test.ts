// Pages name topics and consumer groups as the program does. Looked at is what stands in code spans, and in brackets in
// drawings:
//
//   `switchyard.x`                            x is a topic or a group
//   `deliveries.<destination>`, `delays.10s`  the part before the dot begins a topic or a group

import { expect, test } from "vitest";

import { groupNames, topicNames } from "../../../src/domain/topics.ts";
import { OPERATOR_EVENT_KINDS } from "../../../src/operator/events/event.ts";
import { projectTexts } from "../../support/project/tracked-texts.ts";

const PREFIX = "switchyard.";
const NAMES: readonly unknown[] = [
  ...Object.values(topicNames(PREFIX)),
  ...Object.values(groupNames(PREFIX)),
];
/** Without the prefix; those of many end in a dot. */
const NAME_STARTS = NAMES.map(nameStart).filter((name) => name !== "");
const SINGLE = new Set(NAME_STARTS.filter((name) => !name.endsWith(".")));
const MANY = NAME_STARTS.filter((name) => name.endsWith("."));
const TOPICS = Object.values(topicNames(PREFIX))
  .map(nameStart)
  .filter((name) => name !== "");
/** Types of CloudEvents have the same beginning. */
const EVENT_TYPES = new Set(OPERATOR_EVENT_KINDS.map((kind) => `${PREFIX}${kind}`));
const FILE = /\.(?:ya?ml|json|ts|js|md)$/;

function nameStart(given: unknown): string {
  const name = typeof given === "function" ? String(given("0")) : String(given);
  const rest = name.slice(PREFIX.length);
  return typeof given === "function" ? rest.slice(0, rest.indexOf(".") + 1) : rest;
}

function isName(name: string): boolean {
  return SINGLE.has(name) || MANY.some((start) => name.startsWith(start));
}

function isWrong(given: string): boolean {
  if (EVENT_TYPES.has(given) || isName(given)) return false;
  if (given.startsWith(PREFIX)) return !FILE.test(given) && !isName(given.slice(PREFIX.length));
  return /^[a-z-]+\.(?:<|\d+(?:ms|s|m)$)/.test(given);
}

function wrongNames(page: string): readonly string[] {
  const spans = [...page.matchAll(/`([\w<>.-]+)`/g)];
  const drawn = [...page.matchAll(/\[([a-z<>.-]+)\](?!\()/g)];
  return [...spans, ...drawn].flatMap(([, name = ""]) => (isWrong(name) ? [name] : []));
}

test("pages name topics and groups as the program does", () => {
  const pages = projectTexts().filter(({ path }) => path.endsWith(".md"));
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.flatMap(({ path, text }) => wrongNames(text).map((name) => [path, name]))).toEqual(
    [],
  );
});

test.each([
  "`switchyard.dead-letter`",
  "`switchyard.deliveries-crm`",
  "`delivery.<destination>`",
  "`delay-topics.10s`",
  "`deliverys.<id>`",
  "[calls] ──▶ route ──▶ [delivery.<destination>]",
])("%s is found", (text) => {
  expect(wrongNames(text)).toHaveLength(1);
});

test.each([
  "`calls`, `dead-letters`, `deliveries.crm-hook`, `delays.10s`, `switchyard.deliver.<destination>`",
  "`delivery.retryWindow`, `delivery`, `audience`, `delay`, `switchyard.yaml`, `delivery.attempted`",
  "[calls] ──▶ [deliveries.<destination>], [delivery](delivery.md)",
])("%s has no wrong name", (text) => {
  expect(wrongNames(text)).toEqual([]);
});

test("SECURITY.md says what a right on each topic is worth", () => {
  const page = projectTexts().find(({ path }) => path === "SECURITY.md")?.text ?? "";
  const [, table = ""] = page.split("| Topic | Write allows | Read allows |\n");
  // The topics of a row, which has text in all three columns.
  const rows = [...table.matchAll(/^\| (`[^|]+`) \| [^|]{9,} \| [^|]{9,} \|$/gm)];
  const found = rows.flatMap(([, topics = ""]) => topics.replaceAll("`", "").split(", "));
  const wanted = TOPICS.map((name) => (name.endsWith(".") ? `${name}*` : name));
  expect(found.toSorted()).toEqual(wanted.toSorted());
});
