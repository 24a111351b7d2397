// Texts are written in the field's words and in sentences that an engineer would say. Grammar
// checkers do not find what is odd about a text; these searches do. A rule must never force a worse sentence, so
// what is good English is excepted here.

import { expect, test } from "vitest";

import { projectTexts } from "../../support/project/tracked-texts.ts";

interface Search {
  /** What is wrong with it. */
  readonly what: string;
  readonly pattern: RegExp;
  /** What it finds and is right. */
  readonly except?: RegExp;
}

const SEARCHES: readonly Search[] = [
  // The doc of a field in a registered Avro schema stays as it is, also below.
  {
    what: "Of … without a subject",
    pattern: /(?:^|[.;:|] |\* |\/\/ )Of [a-z`]/,
    except: /\| Of the call\. \|/,
  },
  {
    what: "is no X",
    pattern: /\b(?:is|are|was|were|becomes) (?:no|none)\b(?! longer| more)/,
    except: /\b[Tt]here (?:is|are|was|were) (?:no|none)\b|\bif (?:it|one|any) (?:is|was) none\b/,
  },
  { what: "so many", pattern: /\bso (?:many|much)\b(?! that)/ },
  {
    what: "present tense with since or for",
    pattern:
      /\b(?:fails|answers?|takes|refuses|is due)\b[^.|]{0,40}\b(?:since (?!the|it|they|an? )|for (?:\d|minutes|hours)\b)/,
  },
  {
    what: "Where … for if",
    pattern: /(?:^|[.;:|] |\* )Where [a-z]/,
    except: /Where [a-z ]*[|?]|Where calls (?:come|go)/,
  },
  { what: "Whether …, Since when …", pattern: /(?:^|[|] |"|\* )(?:Whether|Since when)/ },
  {
    what: "programs that tell",
    pattern: /\b(?:tells?|told) (?:of|that|why|it|them|so|by|as)\b|\b(?:is|are) told\b/,
  },
  {
    what: "things that lie and stand",
    pattern:
      /\b(?:lies?|stands?|stood)\b (?:in|on|there|at|still|with|before|behind|below|above|first)/,
  },
  {
    what: "none else, nobody else",
    pattern: /\b(?:none|nobody|nothing) (?:else|of it|of them|of success)\b/,
    except: /\bnothing else\b/,
  },
  {
    what: "a word that only we understood",
    pattern:
      /\b(?:parked|in hand|held line|left alone|given up|gives? \w+ up|anew|beside|in vain|steer(?:s|ing|ed)?|lateness|troubles?|look-ups?)\b/i,
    except: /`[\w/-]*troubles\.ts`/,
  },
  {
    what: "a word that only we understood",
    pattern: /\b(?:goes? around|went around|takes nothing|log-in|made again|left out|under way)\b/i,
  },
];

/** Not the pages of engineers that list names of tests, nor decisions. */
const READ =
  /^src\/|^docs\/(?!debugging|proofs)[a-z-]+\.md$|^(?:CONTRIBUTING|README|test\/README)\.md$/;

const COMMENT = /\/\*\*?[\s\S]*?\*\/|(?<![:"'`])\/\/[^\n]*/g;
const STRING = /"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|>[^<>{}]+</g;

/** The comments of code, and its strings of several words; a page as it is. */
function textsOf(path: string, content: string): readonly string[] {
  if (!/\.tsx?$/.test(path)) return content.split("\n");
  const comments = content.match(COMMENT) ?? [];
  const strings = content.replaceAll(COMMENT, "").match(STRING) ?? [];
  return [
    ...comments.flatMap((each) => each.split("\n")),
    ...strings.filter((each) => each.includes(" ")),
  ];
}

function oddIn(line: string): readonly string[] {
  return SEARCHES.filter(({ pattern, except }) => {
    const rest = except === undefined ? line : line.replaceAll(new RegExp(except, "g"), "");
    return pattern.test(rest);
  }).map(({ what }) => what);
}

test("texts are in the field's words", () => {
  const texts = projectTexts().filter(({ path }) => READ.test(path));
  expect(texts.length).toBeGreaterThan(50);
  const odd = texts.flatMap(({ path, text }) =>
    textsOf(path, text).flatMap((line) =>
      oddIn(line).map((what) => `${path}: ${what}: ${line.trim()}`),
    ),
  );
  expect(odd).toEqual([]);
});

test.each([
  [" * Of several endpoints the longest one counts.", "Of … without a subject"],
  ["// the body is no object", "is no X"],
  ['"show at most so many"', "so many"],
  ['"crm-hook fails for 2 m"', "present tense with since or for"],
  [" * Where there is no terminal, it wants `--yes`.", "Where … for if"],
  ['"Whether calls are routed to it."', "Whether …, Since when …"],
  ["Time since all brokers last told of the ends of logs.", "programs that tell"],
  ["It stands in the log.", "things that lie and stand"],
  ["the head of each answer that is none of success", "none else, nobody else"],
  ["5 deliveries were parked.", "a word that only we understood"],
])("%j is found", (text, what) => {
  expect(oddIn(text)).toContain(what);
});

test.each([
  "If there is no terminal, --yes is required.",
  "crm-hook has been failing for 2 m.",
  "The request is no longer in progress, and nothing else changes.",
])("%j is fine", (text) => {
  expect(oddIn(text)).toEqual([]);
});

test("only texts count, not names in code", () => {
  const code = 'const lookup = "lookup"; // a comment\nconst text = `two words`;';
  expect(textsOf("a.ts", code)).toEqual(["// a comment", "`two words`"]);
});
