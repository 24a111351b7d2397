// docs/troubleshooting.md quotes what the program says: sentences, log messages, causes, settings.

import { expect, test } from "vitest";

import { DEAD_LETTER_REASONS } from "../../../src/domain/dead-letter.ts";
import { settingNames } from "../../support/project/setting-names.ts";
import { projectTexts } from "../../support/project/tracked-texts.ts";

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
