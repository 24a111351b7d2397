/**
 * Compiles filters of the filter language (Segment's FQL; docs/rules.md#the-filter-language) to closures. The time to
 * evaluate a filter is at most proportional to the length of the call multiplied by the length of the filter: no
 * string becomes a regular expression, and no string is searched twice.
 *
 *   part        result
 *   and, or     true or false; operands are evaluated from the left, up to the first that decides
 *   !           true for false and null, false for true
 *   and, or, !  with an operand that is neither a boolean nor null, the filter does not match, regardless of the rest
 *   = !=        = is true if both have the same type and are equal, != otherwise
 *   > >= < <=   false, unless both are numbers
 *   in          false, unless a scalar is on its left and a list on its right
 */

import { isEqual } from "../../../domain/json.ts";
import { type FqlFunction, FUNCTIONS, SEMVER_OPERATORS } from "./functions.ts";
import { compileGlob } from "./glob.ts";
import { type Comparison, type Expression, parse, type SyntaxProblem } from "./parse.ts";
import { type CallValue, digitsAt, type Evaluate, valueAt } from "./values.ts";

export type { CallValue } from "./values.ts";

export type CompiledExpression =
  | {
      readonly kind: "filter";
      readonly matches: (call: CallValue) => boolean;
      /** Sentences about parts of the filter that are valid, but probably mistakes. */
      readonly warnings: readonly string[];
      /** The terms between `and`, `or` and `!`, in the order of the text. */
      readonly terms: readonly FilterTerm[];
    }
  | InvalidFilter;

export interface InvalidFilter extends Omit<SyntaxProblem, "at"> {
  readonly kind: "invalid";
  /** The column in the text, in characters, counted from 1. */
  readonly column: number;
}

export interface FilterTerm {
  readonly text: string;
  /** Returns a JSON value, or null if it is absent; `undefined` if an operand is neither a boolean nor null. */
  readonly value: Evaluate;
  /** The parts of the call that the term reads. */
  readonly paths: readonly { readonly text: string; readonly value: Evaluate }[];
}

export function compileFilter(text: string): CompiledExpression {
  const expression = parse(text);
  if (expression.kind === "problem") return invalid(text, expression.problem);
  const result = resultThatIsNoBoolean(expression);
  if (result !== null) {
    const expected = "an expression whose value is true or false";
    return invalid(text, { at: expression.start, found: result, expected, hint: null });
  }
  const evaluate = compiled(expression);
  return {
    kind: "filter",
    matches: (call) => valueOrStop(evaluate, call) === true,
    warnings: warningsOf(expression, text),
    terms: termsOf(expression, text),
  };
}

/** One sentence without a full stop. */
export function filterProblem({ column, found, expected, hint }: InvalidFilter): string {
  const more = hint === null ? "" : ` (${hint})`;
  return `column ${column}: found ${found}, expected ${expected}${more}`;
}

export function invalid(text: string, { at, ...problem }: SyntaxProblem): InvalidFilter {
  return { kind: "invalid", column: columnOf(text, at), ...problem };
}

function columnOf(text: string, at: number): number {
  return [...text.slice(0, at)].length + 1;
}

/** The type of the expression's result if the result is never a boolean; null if it can be a boolean. */
function resultThatIsNoBoolean(expression: Expression): string | null {
  if (expression.kind === "list") return "a list";
  if (expression.kind === "function") {
    const { gives } = FUNCTIONS[expression.name];
    return gives === "a boolean" ? null : `${expression.name}(), which returns ${gives}`;
  }
  if (expression.kind !== "literal" || typeof expression.value === "boolean") return null;
  return expression.value === null ? "null" : `a ${typeof expression.value}`;
}

/**
 * Thrown when the rest of a filter cannot change the result. It is one object, because creating an error each time
 * would cost more than throwing it.
 */
const NOT_BOOLEAN = new Error("an operand is neither a boolean nor null");

/** Returns undefined if an operand is neither a boolean nor null. */
function valueOrStop(evaluate: Evaluate, call: CallValue): unknown {
  try {
    return evaluate(call);
  } catch (error) {
    if (error === NOT_BOOLEAN) return;
    throw error;
  }
}

function compiled(expression: Expression): Evaluate {
  switch (expression.kind) {
    case "literal": {
      const { value } = expression;
      return () => value;
    }
    case "path":
      return valueAt(expression.names);
    case "list":
      return compiledList(expression.entries);
    case "function":
      return compiledFunction(expression.name, expression.arguments);
    case "not": {
      const operand = compiled(expression.operand);
      return (call) => !isTrue(operand(call));
    }
    case "comparison":
      return compiledComparison(expression);
    case "and":
    case "or":
      return compiledChain(expression.operands.map(compiled), expression.kind === "or");
  }
}

/** Returns undefined if an operand is neither a boolean nor null. */
export function evaluated(expression: Expression, json: CallValue["json"]): unknown {
  return valueOrStop(compiled(expression), { json, bytes: Buffer.from(JSON.stringify(json)) });
}

function isTrue(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  if (value === null) return false;
  throw NOT_BOOLEAN;
}

/** @param decides the value of an operand that ends the evaluation: false for `and`, true for `or`. */
function compiledChain(operands: readonly Evaluate[], decides: boolean): Evaluate {
  const [first, second] = operands;
  if (first !== undefined && second !== undefined && operands.length === 2) {
    return (call) => {
      if (isTrue(first(call)) === decides) return decides;
      return isTrue(second(call));
    };
  }
  return (call) => {
    for (const operand of operands) if (isTrue(operand(call)) === decides) return decides;
    return !decides;
  };
}

function constants(entries: readonly Expression[]): readonly unknown[] | null {
  const values: unknown[] = [];
  for (const entry of entries) {
    if (entry.kind !== "literal") return null;
    values.push(entry.value);
  }
  return values;
}

function compiledList(entries: readonly Expression[]): Evaluate {
  const values = constants(entries);
  if (values !== null) return () => values;
  const all = entries.map(compiled);
  return (call) => all.map((entry) => entry(call));
}

function compiledFunction(
  name: keyof typeof FUNCTIONS,
  [first, second, third]: readonly Expression[],
): Evaluate {
  const { apply }: FqlFunction = FUNCTIONS[name];
  const [a, b, c] = [first, second, third].map((each) => each && compiled(each));
  if (first === undefined || a === undefined) return () => null;
  if (name === "string") {
    const digits = digitsOf(first);
    if (digits !== null) return (call) => digits(call) ?? apply(a(call), null, null);
  }
  if (name === "match" && second?.kind === "literal") {
    const glob = typeof second.value === "string" ? compileGlob(second.value) : null;
    return (call) => {
      const text = a(call);
      return typeof text === "string" && glob?.(text) === true;
    };
  }
  if (b === undefined) return (call) => apply(a(call), null, null);
  if (c === undefined) return (call) => apply(a(call), b(call), null);
  return (call) => apply(a(call), b(call), c(call));
}

/**
 * Returns a function that finds the digits of a number as they were sent; null if the expression never returns a
 * number from the call.
 */
function digitsOf(expression: Expression): ((call: CallValue) => string | null) | null {
  if (expression.kind === "path") return digitsAt(expression.names);
  const [first] = expression.kind === "function" ? expression.arguments : [];
  const isNumber = expression.kind === "function" && expression.name === "number";
  return isNumber && first !== undefined ? digitsOf(first) : null;
}

function compiledComparison({
  operator,
  left,
  right,
}: Extract<Expression, { readonly kind: "comparison" }>): Evaluate {
  const [a, b] = [compiled(left), compiled(right)];
  if (operator === "in") return compiledIn(a, right);
  if (operator === "=" || operator === "!=") {
    const isNegated = operator === "!=";
    // Nearly all filters compare a value with a constant.
    if (right.kind === "literal") {
      const { value } = right;
      return (call) => (a(call) === value) !== isNegated;
    }
    return (call) => isEqual(a(call), b(call)) !== isNegated;
  }
  const holds = ORDERS[operator];
  return (call) => {
    const [x, y] = [a(call), b(call)];
    return typeof x === "number" && typeof y === "number" && holds(x, y);
  };
}

const ORDERS: Readonly<
  Record<Exclude<Comparison, "=" | "!=" | "in">, (x: number, y: number) => boolean>
> = {
  ">": (x, y) => x > y,
  ">=": (x, y) => x >= y,
  "<": (x, y) => x < y,
  "<=": (x, y) => x <= y,
};

/** Compiles `in`, which finds only scalars. */
function compiledIn(a: Evaluate, right: Expression): Evaluate {
  const values = right.kind === "list" ? constants(right.entries) : null;
  if (values !== null) {
    const set = new Set(values);
    return (call) => set.has(a(call));
  }
  const b = compiled(right);
  return (call) => {
    const value = a(call);
    const list = b(call);
    return (value === null || typeof value !== "object") && Array.isArray(list)
      ? list.includes(value)
      : false;
  };
}

/** Yields the expression itself, then all of its parts. */
export function* partsOf(expression: Expression): Generator<Expression> {
  yield expression;
  for (const part of insideOf(expression)) yield* partsOf(part);
}

export function insideOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "list":
      return expression.entries;
    case "function":
      return expression.arguments;
    case "not":
      return [expression.operand];
    case "comparison":
      return [expression.left, expression.right];
    case "and":
    case "or":
      return expression.operands;
    case "literal":
    case "path":
      return [];
  }
}

function warningsOf(expression: Expression, text: string): readonly string[] {
  const warnings: string[] = [];
  for (const part of partsOf(expression)) {
    if (part.kind !== "function") continue;
    const [first, second] = part.arguments;
    const place = `column ${columnOf(text, part.start)}: `;
    const isGlob = first?.kind === "literal" && /[*?[]/.test(`${first.value}`);
    if (part.name === "match" && isGlob && second?.kind !== "literal") {
      warnings.push(
        `${place}the first argument of match looks like a pattern, but the pattern must be the ` +
          `second argument; write match(text, pattern)`,
      );
    }
    const operator = second?.kind === "literal" ? `${second.value}` : "=";
    if (part.name === "semver" && !Object.hasOwn(SEMVER_OPERATORS, operator)) {
      const known = Object.keys(SEMVER_OPERATORS).join(", ");
      warnings.push(
        `${place}semver with the operator \`${operator}\` is never true; the operators are ${known}`,
      );
    }
  }
  return warnings;
}

function termsOf(expression: Expression, text: string): readonly FilterTerm[] {
  const isJoint =
    expression.kind === "not" || expression.kind === "and" || expression.kind === "or";
  if (isJoint) return insideOf(expression).flatMap((part) => termsOf(part, text));
  const written = ({ start, end }: Expression) => text.slice(start, end);
  const value = compiled(expression);
  const paths = new Map<string, Evaluate>();
  for (const part of partsOf(expression)) {
    if (part.kind === "path" && part !== expression) paths.set(written(part), valueAt(part.names));
  }
  return [
    {
      text: written(expression),
      value: (call) => valueOrStop(value, call),
      paths: [...paths].map(([path, read]) => ({ text: path, value: read })),
    },
  ];
}
