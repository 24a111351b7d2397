// The examples in Segment's public documentation of its filter language, with their documented results. If
// docs/rules.md differs or decides more, the row describes this.

import { expect, test } from "vitest";

import type { JsonObject } from "../../../../../src/domain/json.ts";
import { compileFilter, filterProblem } from "../../../../../src/router/rules/fql/compile.ts";

/** The page docs/api/public-api/fql in Segment's documentation. */
const EXAMPLES = "fql: Examples";
const PATHS = "fql: Escaping Field Paths";
const OPERATORS = "fql: Operators";
const SUBEXPRESSIONS = "fql: Subexpressions";
const FUNCTIONS = "fql: Functions";
const GLOBS = "fql: match";
const ERRORS = "fql: Error Handling";
/** The page docs/connections/destinations/destination-filters. */
const FILTERS = "destination-filters: Error handling";

const CLICK = {
  event: "Button Clicked",
  type: "track",
  context: { library: { name: "analytics.js", version: "1.0" } },
  properties: { features: ["discounts", "dark-mode"] },
};
const PRODUCT = { properties: { "product 1": { price: "19.99" } } };
const EMPLOYEE = { type: "identify", traits: { email: "kim@company.com" } };
const VALUES = { yes: true, no: false, nothing: null, two: 2, list: [1, "a"], object: { a: 1 } };

interface Example {
  readonly source: string;
  readonly filter: string;
  readonly call: JsonObject;
  /** The result in Segment's documentation; null if none is documented, or if it depends on something. */
  readonly segment: boolean | "invalid" | null;
  readonly ours: boolean | "invalid";
  /** How docs/rules.md differs. */
  readonly differs?: string;
}

const same = (
  source: string,
  call: JsonObject,
  rows: readonly (readonly [filter: string, is: boolean])[],
): readonly Example[] =>
  rows.map(([filter, is]) => ({ source, filter, call, segment: is, ours: is }));

const TABLE: readonly Example[] = [
  ...same(EXAMPLES, CLICK, [
    ["event = 'Button Clicked'", true],
    ["event = 'Screen Tapped'", false],
    ["context.path.path = '/login'", false],
    ["type = 'identify' or type = 'track'", true],
    ["event = 'Button Clicked' and type = 'track'", true],
    ["match( context.library.version, '1.*' )", true],
    ["match( context.library.version, '2.*' )", false],
    ["type = 'track' and ( event = 'Click' or match( event, 'Button *' ) )", true],
    ["!contains( context.library.name, 'js' )", false],
    ["'dark-mode' in properties.features", true],
    ["'blink' in properties.features", false],
  ]),
  ...same(PATHS, PRODUCT, [[String.raw`properties.product\ 1.price = '19.99'`, true]]),
  ...same(OPERATORS, VALUES, [
    ["yes and yes", true],
    ["yes and nothing", false],
    ["nothing and no", false],
    ["nothing or yes", true],
    ["nothing or no", false],
    ["!yes", false],
    ["!no", true],
    ["two = 2", true],
    ["two = '2'", false],
    ["two != '2'", true],
    ["list = [1, 'a']", true],
    ["nothing = null", true],
    ["two > 1 and two >= 2 and two < 3 and two <= 2", true],
    ["nothing in [null]", true],
    ["true in [1]", false],
  ]),
  {
    ...{ source: OPERATORS, filter: "!nothing", call: VALUES, segment: null, ours: true },
    differs: "Segment's `!` takes a boolean; ours counts null as false",
  },
  {
    ...{ source: OPERATORS, filter: "two or yes", call: VALUES, segment: null, ours: false },
    differs:
      "Segment does not say what `or` does with a number; with ours the filter never matches",
  },
  {
    ...{ source: OPERATORS, filter: "object = object", call: VALUES, segment: null, ours: true },
    differs: "Segment's `=` does not take objects; ours compares them by content",
  },
  {
    ...{ source: OPERATORS, filter: "'b' > 'a'", call: VALUES, segment: null, ours: false },
    differs: "Segment's `>` takes numbers; ours is false for anything else",
  },
  {
    source: SUBEXPRESSIONS,
    filter: "type = 'track' and ( event = 'Click' or match( 'Button *', event ) )",
    ...{ call: CLICK, segment: null, ours: false },
    differs: "the arguments of `match` are swapped, which ours warns about",
  },
  ...same(SUBEXPRESSIONS, EMPLOYEE, [
    [
      "( type = 'track' or type = 'identify' ) and ( properties.enabled or match( traits.email, '*@company.com' ) )",
      true,
    ],
    ["!( type in ['track', 'identify'] )", false],
  ]),
  ...same(FUNCTIONS, { userId: "u1" }, [
    ["length( userId ) > 0", true],
    ["typeof( userId ) = 'string' and length( userId ) > 0", true],
    ["length( 'a' ) = 1 and length( 'ア' ) = 3", true],
    ["lowercase( 'AbC' ) = 'abc' and uppercase( 'AbC' ) = 'ABC'", true],
    // The page also calls this one kebabcase.
    [`snakecase( "test string" ) = 'test_string'`, true],
    [`kebabcase( "test string" ) = 'test-string'`, true],
    [`titlecase( "test string" ) = 'Test String'`, true],
    ["contains( null, 'a' )", false],
    ["length( null ) = 0", true],
    ["lowercase( null ) = null", true],
    ["typeof( null ) = 'null'", true],
    ["match( null, '*' )", false],
    ["length( absent ) > 0", false],
  ]),
  ...same(FUNCTIONS, VALUES, [
    ["typeof( two ) = 'number' and typeof( list ) = 'list' and typeof( yes ) = 'bool'", true],
    ["bool( 'true' ) and string( two ) = '2' and number( '2' ) = two", true],
  ]),
  {
    source: FUNCTIONS,
    filter: "snakecase( 'Test String' ) = 'test_string' and kebabcase( 'A B' ) = 'a-b'",
    ...{ call: {}, segment: null, ours: true },
    differs: "Segment says only that spaces are replaced; ours writes the rest in lower case",
  },
  {
    source: FUNCTIONS,
    filter: "typeof( object ) = 'object'",
    ...{ call: VALUES, segment: null, ours: true },
    differs: "Segment does not list a type for objects",
  },
  {
    source: FUNCTIONS,
    filter: "length( object ) = null",
    ...{ call: VALUES, segment: null, ours: true },
    differs: "Segment says that length may not work with JSON; ours gives null",
  },
  {
    source: FUNCTIONS,
    filter: "string( list ) = null and bool( list ) = null",
    ...{ call: VALUES, segment: null, ours: true },
    differs: "Segment converts lists and does not say to what; ours gives null",
  },
  ...same(GLOBS, {}, [
    ["match( 'abcd', 'a*d' )", true],
    ["match( '', '*' )", true],
    ["match( 'abc', 'ab' )", false],
    ["match( 'abcd', 'a??d' )", true],
    ["match( 'abcd', '*d' )", true],
    [String.raw`match( 'ab*d', 'ab\*d' )`, true],
    ["match( 'abCd', 'ab[cC]d' )", true],
    ["match( 'abcd', 'ab[a-z]d' )", true],
    ["match( 'abcd', 'ab[A-Z]d' )", false],
  ]),
  {
    ...{ source: ERRORS, filter: 'userId = oops"', call: {}, segment: "invalid", ours: "invalid" },
    differs: "Segment sends no call to the destination then; ours does not load the configuration",
  },
  ...same(FILTERS, {}, [["contains( traits.email, '@segment.com' )", false]]),
];

test.each(TABLE)("$source: $filter", ({ filter, call, ours }) => {
  const compiled = compileFilter(filter);
  if (ours === "invalid") {
    expect(compiled.kind).toBe("invalid");
    return;
  }
  if (compiled.kind === "invalid") throw new Error(filterProblem(compiled));
  expect(compiled.matches({ json: call, bytes: Buffer.from(JSON.stringify(call)) })).toBe(ours);
  expect(compiled.warnings).toHaveLength(filter.includes("match( 'Button *', event )") ? 1 : 0);
});

test("a row that gives something else than Segment, or more, says how it differs", () => {
  for (const { filter, segment, ours, differs } of TABLE) {
    if (segment !== ours) expect(differs, filter).toBeDefined();
  }
});
