/**
 * Parses the filter language (docs/rules.md#the-filter-language). There is one function for each rule of the
 * grammar:
 *
 *   expr = and { "or" and }        and = unary { "and" unary }        unary = "!" unary | cmp
 *   cmp  = prim [ ("=" | "!=" | ">" | ">=" | "<" | "<=" | "in") prim ]
 *   prim = "(" expr ")" | name "(" args ")" | "[" [ prim { "," prim } ] "]" | string | number | null | true | false | path
 *   args = [ expr { "," expr } ]
 *
 * `and`, `or` and `in` are words, not paths, unless they contain a backslash.
 */

import { nearest } from "../../../domain/nearest.ts";
import { FUNCTION_NAMES, FUNCTIONS, type FunctionName, isFunctionName } from "./functions.ts";
import { compileGlob, GLOB_BYTES_MAX } from "./glob.ts";
import { type Token, tokensOf } from "./tokens.ts";

const TEXT_BYTES_MAX = 4_096;
const NESTING_MAX = 32;
const LIST_MAX = 1_000;

export type Comparison = "=" | "!=" | ">" | ">=" | "<" | "<=" | "in";

export type Expression = { readonly start: number; readonly end: number } & (
  | { readonly kind: "literal"; readonly value: string | number | boolean | null }
  | { readonly kind: "path"; readonly names: readonly string[] }
  | { readonly kind: "list"; readonly entries: readonly Expression[] }
  | {
      readonly kind: "function";
      readonly name: FunctionName;
      readonly arguments: readonly Expression[];
    }
  | { readonly kind: "not"; readonly operand: Expression }
  | { readonly kind: "and" | "or"; readonly operands: readonly Expression[] }
  | {
      readonly kind: "comparison";
      readonly operator: Comparison;
      readonly left: Expression;
      readonly right: Expression;
    }
);

export interface SyntaxProblem {
  /** Index in the text. */
  readonly at: number;
  readonly found: string;
  readonly expected: string;
  readonly hint: string | null;
}

/** Thrown to end parsing at the first problem. It is caught in this file and returned as a value. */
class Stop extends Error {
  readonly problem: SyntaxProblem;

  constructor(problem: SyntaxProblem) {
    super(problem.expected);
    this.problem = problem;
  }
}

export function parse(
  text: string,
): Expression | { readonly kind: "problem"; problem: SyntaxProblem } {
  if (text.length > TEXT_BYTES_MAX || Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    const found = `${Buffer.byteLength(text)} bytes`;
    const expected = `at most ${TEXT_BYTES_MAX} bytes`;
    return { kind: "problem", problem: { at: 0, found, expected, hint: null } };
  }
  try {
    return new Reader(text).whole();
  } catch (error) {
    if (error instanceof Stop) return { kind: "problem", problem: error.problem };
    throw error;
  }
}

/** Hints for spellings that are common in other languages, or that people are likely to try. */
const HINTS: Readonly<Record<string, string>> = {
  "==": "=",
  "===": "=",
  "!==": "!=",
  "<>": "!=",
  "=>": ">=",
  "=<": "<=",
  "&&": "and",
  "&": "and",
  "||": "or",
  "|": "or",
  AND: "and",
  OR: "or",
  IN: "in",
  NOT: "!",
  not: "!",
};
const COMPARISONS: ReadonlySet<string> = new Set(["=", "!=", ">", ">=", "<", "<=", "in"]);
const WORDS: ReadonlySet<string> = new Set(["and", "or", "in"]);
const CONSTANTS: Readonly<Record<string, boolean | null>> = {
  null: null,
  true: true,
  false: false,
};
const AFTER_OPERAND = "an operator, `and`, `or`";
const FOUND_CHARACTERS_MAX = 40;

class Reader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  /** The token that is read next. */
  #next = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokensOf(text);
  }

  whole(): Expression {
    const expression = this.#expression(0);
    if (this.#token.kind !== "end") throw this.#unexpected(`${AFTER_OPERAND} or the end`);
    return expression;
  }

  get #token(): Token {
    // The parser never goes past the last token, which is `end` or `broken`.
    return this.#tokens[this.#next] ?? { kind: "end", start: 0, end: 0 };
  }

  /** The token as it is written, if it is a symbol or a word. */
  get #word(): string {
    const { kind, start, end } = this.#token;
    return kind === "symbol" || kind === "path" ? this.#text.slice(start, end) : "";
  }

  #takes(word: string): boolean {
    if (this.#word !== word) return false;
    this.#next += 1;
    return true;
  }

  /** @param depth the number of brackets, functions and negations around the expression. */
  #expression(depth: number): Expression {
    return this.#chain("or", () => this.#chain("and", () => this.#unary(depth)));
  }

  #chain(kind: "and" | "or", operand: () => Expression): Expression {
    const first = operand();
    const operands = [first];
    let last = first;
    while (this.#takes(kind)) {
      last = operand();
      operands.push(last);
    }
    if (operands.length === 1) return first;
    return { kind, operands, start: first.start, end: last.end };
  }

  #unary(depth: number): Expression {
    this.#checkDepth(depth);
    const { start } = this.#token;
    if (!this.#takes("!")) return this.#comparison(depth);
    const operand = this.#unary(depth + 1);
    return { kind: "not", operand, start, end: operand.end };
  }

  #comparison(depth: number): Expression {
    const left = this.#primary(depth);
    const operator = this.#word;
    if (!COMPARISONS.has(operator)) return left;
    this.#next += 1;
    const right = this.#primary(depth);
    return {
      kind: "comparison",
      operator: operator as Comparison,
      left,
      right,
      start: left.start,
      end: right.end,
    };
  }

  #primary(depth: number): Expression {
    this.#checkDepth(depth);
    const token = this.#token;
    const { start, end } = token;
    if (this.#takes("(")) {
      const inner = this.#expression(depth + 1);
      return { ...inner, start, end: this.#close(")") };
    }
    if (this.#takes("[")) return this.#list(start, depth + 1);
    if (token.kind === "string" || token.kind === "number") {
      this.#next += 1;
      return { kind: "literal", value: token.value, start, end };
    }
    if (token.kind !== "path" || WORDS.has(this.#word)) throw this.#unexpected("an expression");
    const word = this.#word;
    this.#next += 1;
    if (Object.hasOwn(CONSTANTS, word)) {
      return { kind: "literal", value: CONSTANTS[word] ?? null, start, end };
    }
    if (this.#word === "(") return this.#function(token, word, depth + 1);
    return { kind: "path", names: token.names, start, end };
  }

  #list(start: number, depth: number): Expression {
    const entries: Expression[] = [];
    if (this.#word !== "]") {
      do {
        if (entries.length === LIST_MAX) {
          const expected = `at most ${LIST_MAX} entries in a list`;
          throw this.#problem(this.#token, { expected, hint: null });
        }
        entries.push(this.#primary(depth));
      } while (this.#takes(","));
    }
    return { kind: "list", entries, start, end: this.#close("]") };
  }

  #function(token: Token, name: string, depth: number): Expression {
    if (!isFunctionName(name)) {
      const similar = nearest(name, FUNCTION_NAMES);
      const hint = similar === null ? null : `did you mean ${similar}?`;
      throw this.#problem(token, { expected: `one of ${FUNCTION_NAMES.join(", ")}`, hint });
    }
    this.#takes("(");
    const given: Expression[] = [];
    if (this.#word !== ")") {
      do given.push(this.#expression(depth));
      while (this.#takes(","));
    }
    const end = this.#close(")");
    const wanted = FUNCTIONS[name].arguments;
    if (given.length !== wanted) {
      const [found, expected] = [given.length, wanted].map((count) => argumentsIn(name, count));
      throw new Stop({ at: token.start, found: found ?? "", expected: expected ?? "", hint: null });
    }
    if (name === "match") this.#checkGlob(given[1]);
    return { kind: "function", name, arguments: given, start: token.start, end };
  }

  #checkGlob(glob: Expression | undefined): void {
    if (glob?.kind !== "literal" || typeof glob.value !== "string") return;
    if (compileGlob(glob.value) !== null) return;
    const isLong = Buffer.byteLength(glob.value) > GLOB_BYTES_MAX;
    const expected = isLong ? `a pattern of at most ${GLOB_BYTES_MAX} bytes` : "a pattern";
    const hint = isLong
      ? null
      : "a list is [abc], [a-z] or [^abc], and a backslash makes the next character literal";
    throw this.#problem(glob, { expected, hint });
  }

  /** @returns the index after the bracket. */
  #close(bracket: ")" | "]"): number {
    const { end } = this.#token;
    // The entries of a list are not expressions, so an operator cannot follow them.
    const before = bracket === ")" ? `${AFTER_OPERAND}, ` : "";
    if (!this.#takes(bracket)) throw this.#unexpected(`${before}\`,\` or \`${bracket}\``);
    return end;
  }

  #checkDepth(depth: number): void {
    if (depth <= NESTING_MAX) return;
    const expected = `at most ${NESTING_MAX} brackets, functions and ! around a token`;
    throw this.#problem(this.#token, { expected, hint: null });
  }

  #unexpected(expected: string): Stop {
    const token = this.#token;
    if (token.kind === "broken") {
      return this.#problem(token, { expected: token.expected ?? expected, hint: token.hint });
    }
    const word = this.#text.slice(token.start, token.end);
    const meant = Object.hasOwn(HINTS, word) ? HINTS[word] : undefined;
    const hint = meant === undefined ? null : `write ${meant} instead of ${word}`;
    return this.#problem(token, { expected, hint });
  }

  #problem(
    { start, end }: Pick<Token, "start" | "end">,
    wanted: Pick<SyntaxProblem, "expected" | "hint">,
  ): Stop {
    const { expected, hint } = wanted;
    return new Stop({ at: start, found: shown(this.#text.slice(start, end)), expected, hint });
  }
}

function shown(text: string): string {
  if (text === "") return "the end";
  const start = [...text].slice(0, FOUND_CHARACTERS_MAX).join("");
  return start === text ? `\`${text}\`` : `\`${start}…\``;
}

function argumentsIn(name: string, count: number): string {
  return `${count === 0 ? "no arguments" : `${count} argument${count === 1 ? "" : "s"}`} of ${name}`;
}
