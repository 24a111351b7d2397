// The project's words (CONTRIBUTING.md): names in code are the field's words, and texts are sentences that an engineer
// would say. Grammar checkers do not find what is odd about a text; these searches do. A rule must never force a worse
// sentence, so what is good English is excepted here.

import { expect, test } from "vitest";

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

const TEXTS = projectTexts().filter(({ path }) => path !== "test/unit/project/words.test.ts");

test("no name in code has an old word", () => {
  const code = TEXTS.filter(({ path }) => /^(src|test|tools|bench)\/.*\.tsx?$/.test(path));
  expect(code.length).toBeGreaterThan(1000);
  expect(code.flatMap(({ path, text }) => found(path, text))).toEqual([]);
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
const SENTENCES = /"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|>[^<>{}]+</g;

/** The comments of code, and its strings of several words; a page as it is. */
function textsOf(path: string, content: string): readonly string[] {
  if (!/\.tsx?$/.test(path)) return content.split("\n");
  const comments = content.match(COMMENT) ?? [];
  const strings = content.replaceAll(COMMENT, "").match(SENTENCES) ?? [];
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
  const texts = TEXTS.filter(({ path }) => READ.test(path));
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
