import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import type { JsonObject } from "../../../../../src/domain/json.ts";
import {
  type CallValue,
  compileFilter,
  filterProblem,
} from "../../../../../src/router/rules/fql/compile.ts";

/** @param call its JSON, or a value that is converted to JSON. */
function matches(filter: string, call: string | JsonObject = "{}"): boolean {
  const bytes = Buffer.from(typeof call === "string" ? call : JSON.stringify(call));
  const compiled = compileFilter(filter);
  if (compiled.kind === "invalid") throw new Error(filterProblem(compiled));
  return compiled.matches({ json: JSON.parse(bytes.toString()) as JsonObject, bytes });
}

function invalid(filter: string) {
  const compiled = compileFilter(filter);
  if (compiled.kind === "filter") throw new Error(`${filter} is valid`);
  return compiled;
}

const CALL = JSON.stringify({
  type: "track",
  event: "Order Completed",
  userId: "u1",
  properties: {
    price: 1500,
    zero: 0,
    name: "Ünï 😀",
    empty: "",
    yes: true,
    no: false,
    nothing: null,
    tags: ["a", 5, null, { x: [1] }],
    nested: { x: [1], y: { z: "deep" } },
    same: { y: { z: "deep" }, x: [1] },
    "a.b": 1,
    "a b": 2,
    "😀": 3,
    version: "1.10",
    constructor: "own",
  },
});

// Grammar.

test.each([
  ["and before or", "true or true and false", true],
  ["and before or, on the left", "false and true or true", true],
  ["parentheses", "(true or true) and false", false],
  ["! of a comparison", "!type = 'page'", true],
  ["! twice", "!!properties.yes", true],
  ["no spaces", "type='track'and(event='x'or!properties.no)", true],
  ["spaces, tabs and newlines", " \n\ttype\n=\t'track' \n", true],
  ["a space before arguments", "contains ( event , 'Order' )", true],
  ["strings in both quotes", `type = "track" and event = 'Order Completed'`, true],
  ["no escapes in strings", String.raw`'\' != "\\"`, true],
  ["a quote in the other quotes", `"it's" = "it's"`, true],
  ["signs of numbers", "+1 = 1 and -1 < +0", true],
  ["fractions", "1.50 = 1.5", true],
  ["minus is part of a name", "a-1 = null", true],
  ["a sign after an operator", "properties.zero>-1", true],
  ["a path alone", "properties.yes", true],
  ["an escaped dot", String.raw`properties.a\.b = 1`, true],
  ["an escaped space", String.raw`properties.a\ b = 2`, true],
  ["an escaped code point at the start", String.raw`properties.\😀 = 3`, true],
  ["an escaped letter is the letter", String.raw`\t\y\pe = 'track'`, true],
  ["a word with a backslash is a path", String.raw`\null = null and \and = null`, true],
  ["a word in a path is a name", "true.x = null and properties.and = null", true],
  ["a function's name is a path elsewhere", "match = null and length = null", true],
  ["lists in lists", "[[1], []] = [[1], []]", true],
  ["a list with parentheses", "'track' in [('x'), type]", true],
])("%s", (_what, filter, is) => {
  expect(matches(filter, CALL)).toBe(is);
});

test.each([
  ["", 1, "the end", "an expression", null],
  ["  \n", 4, "the end", "an expression", null],
  ["type == 'track'", 6, "`==`", "or the end", "write = instead of =="],
  ["type = 'a' && event = 'b'", 12, "`&&`", "or the end", "write and instead of &&"],
  ["a || b", 3, "`||`", "or the end", "write or instead of ||"],
  ["a OR b", 3, "`OR`", "or the end", "write or instead of OR"],
  ["not a", 5, "`a`", "or the end", null],
  ["a = b = c", 7, "`=`", "or the end", null],
  ["a =", 4, "the end", "an expression", null],
  ["a = !b", 5, "`!`", "an expression", null],
  ["(a = b", 7, "the end", "`)`", null],
  ["a = b)", 6, "`)`", "or the end", null],
  ["and", 1, "`and`", "an expression", null],
  ["a and or b", 7, "`or`", "an expression", null],
  ["[a and b] = c", 4, "`and`", "`]`", null],
  ["a in [1, ]", 10, "`]`", "an expression", null],
  ["contains(a,)", 12, "`)`", "an expression", null],
  ["a = 'x", 5, "`'x`", "a string that ends with '", null],
  ["a = 1.", 6, "`.`", "or the end", null],
  ["a = .5", 5, "`.`", "an expression", null],
  ["a = 1e5", 6, "`e5`", "or the end", null],
  ["a = - 5", 5, "`-`", "an expression", null],
  ["a. b = 1", 3, "` `", "a name after the dot", "a backslash"],
  ["a .b = 1", 3, "`.`", "or the end", null],
  ["a.", 3, "the end", "a name after the dot", null],
  ["a.1 = 1", 3, "`1`", "a name after the dot", "a backslash"],
  ["a\\", 2, "`\\`", "a character after the backslash", null],
  ["'😀' = é", 7, "`é`", "an expression", null],
  ["a = ‘b’", 5, "`‘`", "an expression", "write a string between"],
  ["metch(a, 'b')", 1, "`metch`", "one of contains, match", "did you mean match?"],
  ["Match(a, 'b')", 1, "`Match`", "one of contains, match", "did you mean match?"],
  ["match(a)", 1, "1 argument of match", "2 arguments of match", null],
  ["a = length()", 5, "no arguments of length", "1 argument of length", null],
  ["a = typeof(a, b)", 5, "2 arguments of typeof", "1 argument of typeof", null],
  ["semver(a, '=')", 1, "2 arguments of semver", "3 arguments of semver", null],
  ["match(a, '[')", 10, "`'['`", "a pattern", "a list is [abc]"],
  ["match(a, 'x\\')", 10, "`'x\\'`", "a pattern", "a list is [abc]"],
  ["'a'", 1, "a string", "true or false", null],
  [" (1)", 2, "a number", "true or false", null],
  ["[true]", 1, "a list", "true or false", null],
  ["null", 1, "null", "true or false", null],
  ["lowercase(a)", 1, "lowercase(), which returns a string", "true or false", null],
  ["length(a)", 1, "length(), which returns a number", "true or false", null],
])("%j is rejected at column %i", (filter, column, found, expected, hint) => {
  const problem = invalid(filter);
  expect(problem).toMatchObject({ column, found });
  expect(problem.expected).toContain(expected);
  if (hint === null) expect(problem.hint).toBeNull();
  else expect(problem.hint).toContain(hint);
});

test("operands are not looked at", () => {
  for (const filter of ["!'a'", "null and 1", "'a' or true", "bool(a)", "true"]) {
    expect(compileFilter(filter).kind).toBe("filter");
  }
});

test("a problem is one sentence", () => {
  expect(filterProblem(invalid("type == 'a'"))).toBe(
    "column 6: found `==`, expected an operator, `and`, `or` or the end (write = instead of ==)",
  );
});

// Limits.

const nested = (count: number, open: string, close: string) =>
  `${open.repeat(count)}true${close.repeat(count)} = 1`;

test("4 KiB of text, in bytes", () => {
  const filter = (bytes: number) => `a = '${"é".repeat((bytes - 6) / 2)}'`;
  expect(compileFilter(filter(4_096)).kind).toBe("filter");
  const { column, found, expected } = invalid(filter(4_098));
  expect([column, found, expected]).toEqual([1, "4098 bytes", "at most 4096 bytes"]);
});

test.each([
  ["(", ")"],
  ["[", "]"],
  ["bool(", ")"],
  ["([string(", ")])"],
])("32 of %s around a token", (open, close) => {
  const each = open.replaceAll(/[a-z]/g, "").length;
  const most = Math.floor(32 / each);
  expect(compileFilter(nested(most, open, close)).kind).toBe("filter");
  expect(invalid(nested(most + 1, open, close)).expected).toContain("at most 32");
  expect(compileFilter(`${"!".repeat(32)}a`).kind).toBe("filter");
  expect(invalid(`${"!".repeat(33)}a`)).toMatchObject({ column: 34, found: "`a`" });
});

test("1,000 entries of a list", () => {
  const filter = (count: number) => `1 in [${Array.from({ length: count }, () => 1).join()}]`;
  expect(matches(filter(1_000))).toBe(true);
  expect(invalid(filter(1_001)).expected).toBe("at most 1000 entries in a list");
});

test("256 bytes of a pattern", () => {
  expect(compileFilter(`match(a, '${"é".repeat(128)}')`).kind).toBe("filter");
  expect(invalid(`match(a, '${"é".repeat(128)}x')`)).toMatchObject({
    column: 10,
    expected: "a pattern of at most 256 bytes",
  });
  const call = { type: "x".repeat(257), long: "x".repeat(256) };
  expect(matches("match(type, type)", call)).toBe(false);
  expect(matches("match(long, long)", call)).toBe(true);
});

// Values.

test.each([
  ["absent is null", "properties.absent = null", true],
  ["null is null", "properties.nothing = null", true],
  ["through a string", "event.length = null", true],
  ["through a list", "properties.tags.length = null", true],
  ["only own properties", "properties.toString = null and __proto__ = null", true],
  ["own ones of such a name", "properties.constructor = 'own'", true],
  ["types differ", "properties.price = '1500'", false],
  ["objects by content", "properties.nested = properties.same", true],
  ["objects that differ", "properties.nested = properties", false],
  ["a list by content", "properties.nested.x = [1]", true],
  ["lists of another length", "properties.nested.x = [1, 1]", false],
  ["!=", "properties.nested != properties.same", false],
  ["!= of other types", "properties.zero != false", true],
  [">", "properties.price > 1499.9", true],
  ["> of strings", "'b' > 'a'", false],
  ["<= of nulls", "null <= null", false],
  ["in", "properties.price in [1, 1500]", true],
  ["in a list of the call", "5 in properties.tags and 'a' in properties.tags", true],
  ["null in", "properties.absent in properties.tags", true],
  ["a list in", "[1] in [[1]]", false],
  ["in a string", "'a' in 'abc'", false],
  ["in with paths", "type in [event, type]", true],
  ["in, another type", "'1' in [1]", false],
])("%s", (_what, filter, is) => {
  expect(matches(filter, CALL)).toBe(is);
});

test.each([
  ["null or true", true],
  ["null and true", false],
  ["!null", true],
  ["true or 'a'", true],
  ["'a' or true", false],
  ["false and 'a' or true", true],
  ["true and 'a' or true", false],
  ["!('a' and true)", false],
  ["!(!'a')", false],
  ["!0 or true", false],
  ["(!'a') = null or true", false],
  ["bool(string(!'a')) or true", false],
  ["event or true", false],
  ["properties.yes and properties.no or !properties.nothing", true],
  ["(!'a') != true", false],
])("and, or and ! look from the left: %s", (filter, is) => {
  expect(matches(filter, CALL)).toBe(is);
});

test("the last of equal keys counts, in every spelling", () => {
  const call = String.raw`{"type":1,"p":{"x":1.0,"x":2},"p":{"x":1,"\u0078":1.50},"typ\u0065":"a"}`;
  expect(matches("type = 'a' and p.x = 1.5 and string(p.x) = '1.50'", call)).toBe(true);
});

test.each([
  ["1.50", "1.50"],
  ["9007199254740993", "9007199254740993"],
  ["-0", "-0"],
  ["1E+400", "1E+400"],
  ['"1.50"', "1.50"],
  ["true", "true"],
])("string() of %s is its JSON text", (value, text) => {
  const call = `\uFEFF { "a" : [1], "x" : { "y" :\n${value} } }`;
  const filter = compileFilter(
    `string(x.y) = '${text}' and (typeof(x.y) != 'number' or string(number((x.y))) = '${text}')`,
  );
  const json = JSON.parse(call.slice(1)) as JsonObject;
  expect(filter.kind === "filter" && filter.matches({ json, bytes: Buffer.from(call) })).toBe(true);
});

test("an identifier that is a number is one, though decoding kept its digits in a text", () => {
  const bytes = Buffer.from('{"userId":9007199254740993,"groupId":"9007199254740993"}');
  const json = { userId: "9007199254740993", groupId: "9007199254740993" };
  const filter = compileFilter(
    "typeof(userId) = 'number' and string(userId) = '9007199254740993' and typeof(groupId) = 'string'",
  );
  expect(filter.kind === "filter" && filter.matches({ json, bytes })).toBe(true);
});

test("so are those in a list of identifiers", () => {
  const bytes = Buffer.from('{"userIds":[9007199254740993,"9007199254740995"]}');
  const json = { userIds: ["9007199254740993", "9007199254740995"] };
  const filter = compileFilter(
    "9007199254740993 in userIds and '9007199254740995' in userIds and length(userIds) = 2",
  );
  expect(filter.kind === "filter" && filter.matches({ json, bytes })).toBe(true);
});

test("values that nest deeper than a stack are compared", () => {
  const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  expect(matches("a = b", `{"a":${deep},"b":${deep}}`)).toBe(true);
});

// Functions.

test.each([
  ["contains(event, 'Comp')", true],
  ["contains(event, 'comp')", false],
  ["contains(event, '')", true],
  ["contains(properties.nothing, '')", false],
  ["contains(event, properties.absent)", false],
  ["contains(properties.tags, 'a')", false],
  ["length(properties.tags) = 4", true],
  ["length(properties.name) = 10", true],
  ["length(properties.absent) = 0", true],
  ["length(properties.price) = null", true],
  ["length(properties) = null and length(true) = null", true],
  ["lowercase(properties.name) = 'ünï 😀'", true],
  ["uppercase(properties.name) = 'ÜNÏ 😀'", true],
  ["snakecase('Order  Completed') = 'order__completed'", true],
  ["kebabcase(event) = 'order-completed'", true],
  ["titlecase('oRDER  cOMPLETED éa') = 'Order  Completed Éa'", true],
  ["titlecase('') = ''", true],
  ["lowercase(null) = null and titlecase(5) = null", true],
  ["uppercase(properties.tags) = null", true],
  ["typeof(event) = 'string' and typeof(properties.price) = 'number'", true],
  ["typeof(properties.tags) = 'list' and typeof(properties) = 'object'", true],
  ["typeof(properties.yes) = 'bool' and typeof(properties.absent) = 'null'", true],
  ["bool('true') and bool(1) and bool(properties.yes)", true],
  ["bool('false') = false and bool(0) = false and bool(properties.no) = false", true],
  ["bool('TRUE') = null and bool(2) = null and bool('1') = null and bool(properties) = null", true],
  ["string(true) = 'true' and string(properties.no) = 'false'", true],
  ["string(+1.50) = '1.5' and string(number('2.0')) = '2'", true],
  ["string(properties.tags) = null and string(null) = null", true],
  ["string(length('abc')) = '3'", true],
  ["number('1500') = properties.price and number('+1.5') = 1.5 and number('-0') = 0", true],
  ["number(' 1') = null and number('1e5') = null and number('.5') = null", true],
  ["number('') = null and number(properties.yes) = null and number('1.') = null", true],
  ["semver(properties.version, '>', '1.9')", true],
  ["semver('1', '=', '1.0.0')", true],
  ["semver('01.2', '=', '1.02.0')", true],
  ["semver('1.2.3', '!=', '1.2.4') and semver('1.2.3', '<', '1.2.4')", true],
  ["semver('2', '>=', '2.0') and semver('2', '<=', '2.0')", true],
  [`semver('1.${"9".repeat(40)}', '<', '1.1${"0".repeat(40)}')`, true],
  ["semver('1.2.3.4', '!=', '1')", false],
  ["semver('v1', '!=', '1')", false],
  ["semver('1.', '!=', '2')", false],
  ["semver(1, '=', '1')", false],
  ["semver('1', '==', '1')", false],
  ["semver('1', 'constructor', '1')", false],
  ["semver(null, '=', null)", false],
])("%s", (filter, is) => {
  expect(matches(filter, CALL)).toBe(is);
});

test("contains finds parts of any length, and no others", () => {
  const part = `${"ab".repeat(200)}a`;
  const call = (text: string) => ({ text, part });
  expect(matches("contains(text, part)", call(`ab${part}c`))).toBe(true);
  expect(matches("contains(text, part)", call(part))).toBe(true);
  expect(matches("contains(text, part)", call(`${"ab".repeat(200)}c${"ab".repeat(200)}`))).toBe(
    false,
  );
});

test("warnings name what is most likely not meant", () => {
  const warnings = (filter: string) => {
    const compiled = compileFilter(filter);
    return compiled.kind === "filter" ? compiled.warnings : [];
  };
  expect(warnings("type = 'a' and match('Video *', event)")).toEqual([
    "column 16: the first argument of match looks like a pattern, but the pattern must be the " +
      "second argument; write match(text, pattern)",
  ]);
  expect(warnings("match('a?', event)")).toHaveLength(1);
  expect(warnings("match('[a]', lowercase(event))")).toHaveLength(1);
  expect(warnings("match('a*', 'a*') or match('ab', event) or match(event, 'a*')")).toEqual([]);
  expect(warnings("semver(a, '==', '1')")).toEqual([
    "column 1: semver with the operator `==` is never true; the operators are =, !=, >, >=, <, <=",
  ]);
});

test("terms have their values and what they read", () => {
  const filter = compileFilter(
    "type = 'track' and !(match(event, 'Video *') or properties.yes) and contains(!'a', 'b')",
  );
  if (filter.kind === "invalid") throw new Error("it is valid");
  const call: CallValue = { json: JSON.parse(CALL) as JsonObject, bytes: Buffer.from(CALL) };
  const terms = filter.terms.map(({ text, value, paths }) => [
    text,
    value(call),
    paths.map((path) => [path.text, path.value(call)]),
  ]);
  expect(terms).toEqual([
    ["type = 'track'", true, [["type", "track"]]],
    ["match(event, 'Video *')", false, [["event", "Order Completed"]]],
    ["properties.yes", true, []],
    ["contains(!'a', 'b')", undefined, []],
  ]);
});

test("paths of a term are shown as they are written, so that a dot in a name is one", () => {
  const filter = compileFilter(String.raw`properties.a\.b = properties.a.b`);
  const [term] = filter.kind === "filter" ? filter.terms : [];
  expect(term?.paths.map(({ text }) => text)).toEqual([
    String.raw`properties.a\.b`,
    "properties.a.b",
  ]);
});

test("filters exported from Segment load as they are", () => {
  const file = join(import.meta.dirname, "../../../../../examples/segment-filters.json");
  const filters = JSON.parse(readFileSync(file, "utf8")) as readonly { readonly if: string }[];
  expect(filters).toHaveLength(20);
  for (const filter of filters) {
    expect(compileFilter(filter.if)).toMatchObject({ kind: "filter", warnings: [] });
  }
});
