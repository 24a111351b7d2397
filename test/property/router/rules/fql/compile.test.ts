// Compares the compiler with a second evaluator, which walks the tree of an expression. It is written from the
// sentences of docs/rules.md, without regard to speed. Expressions are generated as trees and then formatted, so no
// parser is shared.

import fc from "fast-check";
import { expect, test } from "vitest";

import type { JsonObject } from "../../../../../src/domain/json.ts";
import { compileFilter } from "../../../../../src/router/rules/fql/compile.ts";
import { compileGlob } from "../../../../../src/router/rules/fql/glob.ts";
import { GENERATED_INPUTS } from "../../../../support/build/generated-inputs.ts";

const numRuns = GENERATED_INPUTS;
const TIME_LIMIT_MS = 300_000;

type Tree =
  | {
      readonly is: "value";
      readonly text: string;
      readonly value: string | number | boolean | null;
    }
  | { readonly is: "path"; readonly names: readonly string[] }
  | { readonly is: "list"; readonly of: readonly Tree[] }
  | { readonly is: "function"; readonly name: string; readonly of: readonly Tree[] }
  | { readonly is: "!"; readonly of: readonly [Tree] }
  | { readonly is: "and" | "or"; readonly of: readonly [Tree, Tree] }
  | { readonly is: "compare"; readonly by: string; readonly of: readonly [Tree, Tree] };

const NAMES = ["a", "b", "c", "x y", "constructor", "é"];
const TEXTS = [
  "",
  "a",
  "ab",
  "a b",
  "Ab B",
  "*",
  "a*",
  "?b",
  "[a-b]",
  "[^a]*",
  "[",
  "1.2",
  "1.10",
  "01",
  "-1.50",
  "true",
  "0",
  "=",
  ">=",
  "😀",
  "*😀?",
];
const NUMBERS = ["0", "1", "-1", "+1.50", "2", "12345678901234567890"];

const value: fc.Arbitrary<Tree> = fc.oneof(
  fc
    .constantFrom(...TEXTS)
    .map((text) => ({ is: "value" as const, text: `'${text}'`, value: text })),
  fc.constantFrom(...NUMBERS).map((text) => ({ is: "value" as const, text, value: Number(text) })),
  fc
    .constantFrom(true, false, null)
    .map((is) => ({ is: "value" as const, text: `${is}`, value: is })),
);
const path: fc.Arbitrary<Tree> = fc
  .array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 })
  .map((names) => ({ is: "path" as const, names }));
const ARITIES: Readonly<Record<string, number>> = {
  ...{ contains: 2, match: 2, length: 1, lowercase: 1, uppercase: 1, snakecase: 1, kebabcase: 1 },
  ...{ titlecase: 1, typeof: 1, bool: 1, string: 1, number: 1, semver: 3 },
};
const tree: fc.Arbitrary<Tree> = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(path, value),
    fc.array(tie("tree"), { maxLength: 3 }).map((of) => ({ is: "list" as const, of })),
    fc
      .constantFrom(...Object.keys(ARITIES))
      .chain((name) =>
        fc
          .array(tie("tree"), { minLength: ARITIES[name] ?? 0, maxLength: ARITIES[name] ?? 0 })
          .map((of) => ({ is: "function" as const, name, of })),
      ),
    tie("tree").map((of) => ({ is: "!" as const, of: [of] as const })),
    fc
      .tuple(fc.constantFrom("and" as const, "or" as const), tie("tree"), tie("tree"))
      .map(([is, one, other]) => ({ is, of: [one, other] as const })),
    fc
      .tuple(fc.constantFrom("=", "!=", ">", ">=", "<", "<=", "in"), tie("tree"), tie("tree"))
      .map(([by, one, other]) => ({ is: "compare" as const, by, of: [one, other] as const })),
  ),
})).tree;

const json: fc.Arbitrary<string> = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom("null", "true", "false", "0", "1", "1.0", "1.50", "-0", "12345678901234567890"),
    fc.constantFrom(...TEXTS).map((text) => JSON.stringify(text)),
    fc.array(tie("json"), { maxLength: 3 }).map((entries) => `[${entries.join(" , ")}]`),
    members(tie("json")),
  ),
})).json;
/** Generates members, whose names may be repeated. */
function members(of: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .array(fc.tuple(fc.constantFrom(...NAMES), of), { maxLength: 5 })
    .map((all) => `{${all.map(([name, each]) => `${JSON.stringify(name)}: ${each}`).join(",")}}`);
}

/** Formats a tree with the brackets that the grammar needs. */
function written(node: Tree, isInside = false): string {
  if (node.is === "value") return node.text;
  if (node.is === "path") {
    return node.names.map((name) => name.replaceAll(/[^a-z]/gu, "\\$&")).join(".");
  }
  if (node.is === "list") return `[${node.of.map((each) => written(each, true)).join()}]`;
  if (node.is === "function") {
    return `${node.name} (${node.of.map((each) => written(each)).join(", ")})`;
  }
  const [first, second] = node.of;
  let text = `!${written(first, first.is === "and" || first.is === "or")}`;
  if (second !== undefined) {
    const by = node.is === "compare" ? node.by : node.is;
    text = `${written(first, true)} ${by} ${written(second, true)}`;
  }
  return isInside ? `(${text})` : text;
}

const STOP = new Error("the filter does not match, whatever the rest gives");

/** A number from the call has its text. Any other number has none. */
interface Seen {
  readonly value: unknown;
  readonly digits?: string;
}

const holds = (given: unknown): boolean => {
  if (given === null) return false;
  if (typeof given !== "boolean") throw STOP;
  return given;
};

function evaluated(node: Tree, call: string): Seen {
  if (node.is === "value") return { value: node.value };
  if (node.is === "path") return found(node.names, call);
  if (node.is === "and" || node.is === "or") {
    const first = holds(evaluated(node.of[0], call).value);
    if (first === (node.is === "or")) return { value: first };
    return { value: holds(evaluated(node.of[1], call).value) };
  }
  const given = node.of.map((each) => evaluated(each, call));
  const values = given.map((each) => each.value);
  if (node.is === "list") return { value: values };
  if (node.is === "!") return { value: !holds(values[0]) };
  if (node.is === "compare") return { value: compared(node.by, values[0], values[1]) };
  if (node.is !== "function") throw new Error(`${node.is} was handled above`);
  return applied(node.name, given[0] ?? { value: null }, values[1], values[2]);
}

/** JSON.parse passes the digits of each number to its reviver. */
function found(names: readonly string[], call: string): Seen {
  const digits = new Map<string, string>();
  const wrapped: unknown = JSON.parse(
    call,
    (_name, each: unknown, context?: { source?: string }) => {
      if (typeof each !== "number") return each;
      const key = `number ${digits.size}`;
      digits.set(key, context?.source ?? "");
      return { [NUMBER]: key };
    },
  );
  let at: unknown = wrapped;
  for (const name of names) {
    const isObject = typeof at === "object" && at !== null && !Array.isArray(at) && !(NUMBER in at);
    at = isObject ? (new Map(Object.entries(at as object)).get(name) ?? null) : null;
  }
  const plain = unwrapped(at, digits);
  const key = typeof at === "object" && at !== null && NUMBER in at ? String(at[NUMBER]) : "";
  return typeof plain === "number"
    ? { value: plain, digits: digits.get(key) ?? "" }
    : { value: plain };
}

const NUMBER = Symbol("number");

function unwrapped(given: unknown, digits: ReadonlyMap<string, string>): unknown {
  if (typeof given !== "object" || given === null) return given;
  if (NUMBER in given) return Number(digits.get(String(given[NUMBER])));
  if (Array.isArray(given)) return given.map((each) => unwrapped(each, digits));
  return Object.fromEntries(
    Object.entries(given).map(([name, each]) => [name, unwrapped(each, digits)]),
  );
}

/** Returns a text in which names are sorted, so that equal values have equal texts. */
function canonical(given: unknown): string {
  if (Array.isArray(given)) return `[${given.map(canonical).join()}]`;
  if (typeof given === "object" && given !== null) {
    const entries = Object.entries(given).map(
      ([name, each]) => `${JSON.stringify(name)}:${canonical(each)}`,
    );
    return `{${entries.toSorted().join()}}`;
  }
  return given === 0 ? "0" : JSON.stringify(given);
}

function compared(by: string, one: unknown, other: unknown): boolean {
  if (by === "=") return canonical(one) === canonical(other);
  if (by === "!=") return canonical(one) !== canonical(other);
  if (by === "in") {
    const isScalar = one === null || typeof one !== "object";
    return (
      isScalar && Array.isArray(other) && other.some((each) => canonical(each) === canonical(one))
    );
  }
  if (typeof one !== "number" || typeof other !== "number") return false;
  if (by === ">") return one > other;
  if (by === "<") return one < other;
  return by === ">=" ? one >= other : one <= other;
}

const isText = (given: unknown): given is string => typeof given === "string";

function applied(name: string, first: Seen, b: unknown, c: unknown): Seen {
  const a = first.value;
  const ofText = (make: (text: string) => string): Seen => ({ value: isText(a) ? make(a) : null });
  switch (name) {
    case "contains":
      return { value: isText(a) && isText(b) && a.split(b).length > (b === "" ? -1 : 1) };
    case "match":
      return { value: isText(a) && isText(b) && globbed([...a], [...b]) };
    case "length":
      if (Array.isArray(a)) return { value: a.length };
      if (isText(a)) return { value: new TextEncoder().encode(a).length };
      return { value: a === null ? 0 : null };
    case "lowercase":
      return ofText((text) => text.toLowerCase());
    case "uppercase":
      return ofText((text) => text.toUpperCase());
    case "snakecase":
      return ofText((text) => text.toLowerCase().split(" ").join("_"));
    case "kebabcase":
      return ofText((text) => text.toLowerCase().split(" ").join("-"));
    case "titlecase":
      return ofText((text) =>
        [...text.toLowerCase()]
          .map((each, at, all) => (at === 0 || all[at - 1] === " " ? each.toUpperCase() : each))
          .join(""),
      );
    case "typeof":
      if (a === null) return { value: "null" };
      if (Array.isArray(a)) return { value: "list" };
      return { value: typeof a === "boolean" ? "bool" : typeof a };
    case "bool":
      if ([true, "true", 1].some((each) => each === a)) return { value: true };
      return { value: [false, "false", 0].some((each) => each === a) ? false : null };
    case "string":
      if (typeof a === "number") return { value: first.digits ?? JSON.stringify(a) };
      return { value: isText(a) || typeof a === "boolean" ? `${a}` : null };
    case "number":
      if (typeof a === "number") return first;
      return { value: isText(a) && /^[-+]?\d+(\.\d+)?$/.test(a) ? Number(a) : null };
    default:
      return { value: versions(a, b, c) };
  }
}

function versions(one: unknown, by: unknown, other: unknown): boolean {
  if (!isText(one) || !isText(by) || !isText(other)) return false;
  const parts = [one, other].map((text) => {
    const runs = text.split(".");
    const isVersion = runs.length <= 3 && runs.every((run) => /^\d+$/.test(run));
    return isVersion ? [...runs, "0", "0"].slice(0, 3).map(BigInt) : null;
  });
  const [left, right] = parts;
  if (!left || !right) return false;
  const at = left.findIndex((part, index) => part !== right[index]);
  const order = at < 0 ? 0 : (left[at] ?? 0n) > (right[at] ?? 0n) ? 1 : -1;
  const accepted: Readonly<Record<string, readonly number[]>> = {
    ...{ "=": [0], "!=": [-1, 1], ">": [1], ">=": [0, 1], "<": [-1], "<=": [-1, 0] },
  };
  return new Map(Object.entries(accepted)).get(by)?.includes(order) === true;
}

/** Tries every way to divide the text between the stars. */
function globbed(text: readonly string[], glob: readonly string[]): boolean {
  const parts = partsOf(glob);
  const fits = (from: number, part: number): boolean => {
    const one = parts?.[part];
    if (parts === null || one === undefined) return parts !== null && from === text.length;
    if (one === "*") {
      return fits(from, part + 1) || (from < text.length && fits(from + 1, part));
    }
    const given = text[from];
    return given !== undefined && one(given) && fits(from + 1, part + 1);
  };
  return fits(0, 0);
}

type GlobPart = "*" | ((character: string) => boolean);

/** Returns null if the glob is malformed. */
function partsOf(glob: readonly string[]): readonly GlobPart[] | null {
  const rest = [...glob];
  const parts: GlobPart[] = [];
  const taken = (): string | undefined => (rest[0] === "\\" ? rest.splice(0, 2)[1] : rest.shift());
  while (rest.length > 0) {
    const [first] = rest;
    if (first === "*" || first === "?" || first === "[") rest.shift();
    if (first === "*") parts.push("*");
    else if (first === "?") parts.push(() => true);
    else if (first === "[") {
      const isNot = rest[0] === "^";
      if (isNot) rest.shift();
      const ranges: [number, number][] = [];
      while (rest.length > 0 && rest[0] !== "]") {
        if (rest[0] === "-") return null;
        const from = taken();
        let to = from;
        if (rest[0] === "-") {
          rest.shift();
          if (rest[0] === "-" || rest[0] === "]") return null;
          to = taken();
        }
        if (from === undefined || to === undefined) return null;
        ranges.push([from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0]);
      }
      if (rest.shift() !== "]" || ranges.length === 0) return null;
      if (ranges.some(([from, to]) => to < from)) return null;
      parts.push((given) => {
        const code = given.codePointAt(0) ?? 0;
        return ranges.some(([from, to]) => code >= from && code <= to) !== isNot;
      });
    } else {
      const wanted = taken();
      if (wanted === undefined) return null;
      parts.push((given) => given === wanted);
    }
  }
  return parts;
}

/** Returns true for expressions that are rejected although the grammar allows them, as the page describes. */
function isRejected(node: Tree): boolean {
  const inner = "of" in node ? node.of : [];
  const glob = node.is === "function" && node.name === "match" ? node.of[1] : undefined;
  const isMalformed =
    glob?.is === "value" && isText(glob.value) && partsOf([...glob.value]) === null;
  return isMalformed || inner.some(isRejected);
}

function canBeBoolean(node: Tree): boolean {
  if (node.is === "value") return typeof node.value === "boolean";
  if (node.is === "function") return ["contains", "match", "bool", "semver"].includes(node.name);
  return node.is !== "list";
}

test(
  "a compiled filter decides as the sentences of the page do",
  () => {
    const decided = { true: 0, false: 0 };
    fc.assert(
      fc.property(tree, members(json), (node, call) => {
        const compiled = compileFilter(written(node));
        expect(compiled.kind).toBe(canBeBoolean(node) && !isRejected(node) ? "filter" : "invalid");
        if (compiled.kind === "invalid") return;
        let expected = false;
        try {
          expected = evaluated(node, call).value === true;
        } catch (error) {
          if (error !== STOP) throw error;
        }
        const given = { json: JSON.parse(call) as JsonObject, bytes: Buffer.from(call) };
        decided[`${expected}`] += 1;
        expect(compiled.matches(given)).toBe(expected);
      }),
      { numRuns },
    );
    // Otherwise, this would compare nothing.
    expect(Math.min(decided.true, decided.false)).toBeGreaterThan(numRuns / 50);
  },
  TIME_LIMIT_MS,
);

test(
  "a glob fits what some division of the text fits",
  () => {
    const parts = [
      "*",
      "?",
      "[ab]",
      "[^a]",
      "[a-b]",
      "[",
      "]",
      "-",
      "^",
      "\\",
      "a",
      "b",
      "😀",
      "\ud83d",
      "\ude00",
    ];
    const glob = fc.array(fc.constantFrom(...parts), { maxLength: 8 }).map((all) => all.join(""));
    const text = fc
      .array(fc.constantFrom("a", "b", "-", "😀", "\ud83d", "\ude00"), { maxLength: 10 })
      .map((all) => all.join(""));
    fc.assert(
      fc.property(glob, text, (pattern, given) => {
        const isMalformed = partsOf([...pattern]) === null;
        expect(compileGlob(pattern) === null).toBe(isMalformed);
        expect(compileGlob(pattern)?.(given) ?? false).toBe(globbed([...given], [...pattern]));
      }),
      { numRuns },
    );
  },
  TIME_LIMIT_MS,
);

test(
  "a piece of more characters than a word has bits is found where it is",
  () => {
    const character = fc.constantFrom("a", "b", "é", "😀", "\ud83d", "漢");
    const text = fc.array(character, { minLength: 30, maxLength: 140 });
    const forms = (each: string) => [each, each, "?", "[^x]", `[x${each}]`];
    const given = text.chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.nat(all.length - 1),
        fc.array(fc.nat(4), { minLength: all.length, maxLength: all.length }),
        fc.constantFrom("", "", "a", "?", "[b-é]"),
      ),
    );
    const found = { true: 0, false: 0 };
    fc.assert(
      fc.property(given, ([all, from, chosen, end]) => {
        const own = all.slice(from).map((each, at) => forms(each)[chosen[at] ?? 0]);
        const pattern = `*${own.join("")}${end}*`;
        fc.pre(Buffer.byteLength(pattern) <= 256);
        const whole = all.join("");
        const expected = globbed([...whole], [...pattern]);
        found[`${expected}`] += 1;
        expect(compileGlob(pattern)?.(whole)).toBe(expected);
      }),
      { numRuns },
    );
    expect(Math.min(found.true, found.false)).toBeGreaterThan(numRuns / 50);
  },
  TIME_LIMIT_MS,
);
