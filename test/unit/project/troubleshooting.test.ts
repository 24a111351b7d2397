// docs/troubleshooting.md quotes what the program says: sentences, log messages, causes, settings.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { DEAD_LETTER_REASONS } from "../../../src/domain/dead-letter.ts";
import { PROVEN_CAUSES, type ProvenCause } from "../../support/project/proven-causes.ts";
import { settingNames } from "../../support/project/setting-names.ts";
import { projectTexts, ROOT } from "../../support/project/tracked-texts.ts";

const TEXTS = projectTexts();
const SOURCE = TEXTS.filter(({ path }) => path.startsWith("src/"))
  .map(({ text }) => text)
  .join("\n");
/** Sentences are written in several lines and pieces. */
const SAID = SOURCE.replace(/["`] \+\s*["`]/g, "").replace(/\s+/g, " ");
const KEYS = new Set(settingNames().map(({ key }) => key));
/** Its symptoms: alerts, which have tests of their own, and longer explanations follow them. */
const [PAGE = ""] = (
  TEXTS.find(({ path }) => path === "docs/troubleshooting.md")?.text ?? ""
).split("\n## Alerts\n");
/** Kafka's own names, and stand-ins of the page. */
const OTHERS = new Set(["NOT_ENOUGH_REPLICAS", "subPath", "429", "HOST:9464"]);

/** Metrics and commands are looked at in page-commands.test.ts. */
function nowhere(page: string): readonly string[] {
  const spans = [...page.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);
  return spans.filter((span) => {
    if (/^switchyard[_ ]/.test(span) || OTHERS.has(span)) return false;
    const text = span.replace(/^GET /, "").replace(/: false$/, "");
    if (/[ /]/.test(text)) return !SAID.includes(text);
    if (/^"\w+":"\w+"$/.test(text)) return !SOURCE.includes(`"${text.split('"')[3]}"`);
    const last = text.split(".").at(-1) ?? "";
    const isQuoted = new RegExp(`["'\`]${text}["'\`]|\\b${text}\\??:|\\b${text},`).test(SOURCE);
    return !KEYS.has(last) && !isQuoted;
  });
}

test("the page quotes what the program says", () => {
  expect(PAGE.length).toBeGreaterThan(5_000);
  expect(nowhere(PAGE)).toEqual([]);
});

test.each([
  "`No source has that write key.`",
  "`kafka.broker.gone`",
  "`kafka.sasl.user`",
  "`tls-unknown`",
  "`unknown-place`",
  '`"decision":"snatched"`',
])("%s is found", (page) => {
  expect(nowhere(page)).toHaveLength(1);
});

test("the page has each reason of dead letters", () => {
  const [, table = ""] = PAGE.split("\n## Dead letters\n");
  const named = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, reason]) => reason);
  const reasons = Object.keys(DEAD_LETTER_REASONS);
  expect(reasons.filter((reason) => !named.includes(reason))).toEqual([]);
});

/** The first two columns of each row of a section's tables, without their heads. */
function rowsOf(section: string): readonly string[] {
  const rows = section
    .replaceAll(/^\|.*\n\|---.*\n/gm, "")
    .split("\n")
    .filter((line) => line.startsWith("| "));
  return rows.map((row) => row.split(" | ").slice(0, 2).join(" | "));
}

/** What keeps the table of tests from being that of the page. */
function unproven(page: string, proven: typeof PROVEN_CAUSES): readonly string[] {
  const sections = page.split("\n## ").slice(1);
  const titles = sections.map((section) => section.split("\n")[0] ?? "");
  const gone = Object.keys(proven).filter((title) => !titles.includes(title));
  return [...gone, ...sections.flatMap((each, at) => differing(each, proven[titles[at] ?? ""]))];
}

function differing(section: string, causes: readonly ProvenCause[] = []): readonly string[] {
  const rows = rowsOf(section);
  const length = Math.max(rows.length, causes.length);
  return Array.from({ length }, (_, at) => at).flatMap((at) => {
    const [row = "no row", [words = "no test"] = []] = [rows[at], causes[at]];
    return row.includes(words) ? [] : [`${row} <> ${words}`];
  });
}

/** A test that is not there, as `file: words of its title`. */
function missing(named: string): boolean {
  const [file = "", ...words] = named.split(": ");
  if (file === "outside" || file === "untested") return false;
  const path = join(ROOT, "test", file);
  return !existsSync(path) || !readFileSync(path, "utf8").includes(words.join(": "));
}

describe("each cause of the page has a test", () => {
  test("row by row, in the order of the page", () => {
    expect(unproven(PAGE, PROVEN_CAUSES)).toEqual([]);
  });

  test("that is there", () => {
    const named = Object.values(PROVEN_CAUSES).flatMap((causes) =>
      causes.flatMap(([row, ...tests]) => (tests.length === 0 ? [row] : tests)),
    );
    expect(named.length).toBeGreaterThan(70);
    expect(named.filter(missing)).toEqual([]);
    expect(missing("local/program.test.ts: no such title")).toBe(true);
  });

  test("also one that is added", () => {
    const row = "| `topics.waiting` |";
    const added = PAGE.replace(row, `| the moon | is full | Wait. |\n${row}`);
    expect(unproven(added, PROVEN_CAUSES)).toContain("| the moon | is full <> topics.waiting");
    expect(unproven(`${PAGE}\n## Tides\n\n| the moon | is full |\n`, {})).not.toEqual([]);
  });
});
