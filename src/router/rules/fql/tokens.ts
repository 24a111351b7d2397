/**
 * Splits text into the tokens of the filter language (docs/rules.md#the-filter-language).
 *
 *   token       written
 *   path        names between dots, without spaces: a-z A-Z _ at the start, then also 0-9 and -; a backslash takes
 *               any next character literally
 *   string      '…' or "…", no escapes
 *   number      12, -0.5, +3
 *   symbol      ( ) [ ] , ! = != > >= < <=
 *   foreign     what other languages use instead of a symbol or a word, such as == and &&
 *   broken      anything else; no token follows it
 *   end
 *
 * Words such as `and` and `null` are tokens of the type path; the parser distinguishes them from paths.
 */

export type Token = { readonly start: number; readonly end: number } & (
  | { readonly kind: "path"; readonly names: readonly string[] }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "symbol" | "foreign" | "end" }
  | ({ readonly kind: "broken" } & Broken)
);

interface Broken {
  /** What was expected instead; null if that is what the parser expects at this position anyway. */
  readonly expected: string | null;
  readonly hint: string | null;
}

const SPACE = /[ \t\r\n]*/y;
const NUMBER = /[+-]?[0-9]+(?:\.[0-9]+)?/y;
/** Longer operators come first. */
const OPERATOR = /===?|!==?|<>|<=|>=|=>|=<|=|<|>|!|&&?|\|\|?/y;
const SYMBOLS: ReadonlySet<string> = new Set("( ) [ ] , ! = != > >= < <=".split(" "));
const NAME_START = /[a-zA-Z_\\]/;
const NAME_PART = /[a-zA-Z0-9_\\-]/;

/** The last token is `end` or `broken`. */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; ; ) {
    const token = tokenAt(text, endOf(SPACE, text, at) ?? at);
    tokens.push(token);
    if (token.kind === "end" || token.kind === "broken") return tokens;
    at = token.end;
  }
}

function tokenAt(text: string, start: number): Token {
  const first = text[start];
  if (first === undefined) return { kind: "end", start, end: start };
  if (NAME_START.test(first)) return pathAt(text, start);
  if (first === "'" || first === '"') return stringAt(text, start, first);
  const numberEnd = endOf(NUMBER, text, start);
  if (numberEnd !== null) {
    return { kind: "number", value: Number(text.slice(start, numberEnd)), start, end: numberEnd };
  }
  const end = endOf(OPERATOR, text, start) ?? start + 1;
  const symbol = text.slice(start, end);
  if (SYMBOLS.has(symbol)) return { kind: "symbol", start, end };
  if (endOf(OPERATOR, text, start) !== null) return { kind: "foreign", start, end };
  const hint = /[‘’“”`]/.test(first) ? `write a string between ' or "` : null;
  return broken(text, start, { expected: null, hint });
}

function broken(text: string, start: number, { expected, hint }: Broken, end?: number): Token {
  const character = String.fromCodePoint(text.codePointAt(start) ?? 0);
  return { kind: "broken", start, end: end ?? start + character.length, expected, hint };
}

function stringAt(text: string, start: number, quote: string): Token {
  const close = text.indexOf(quote, start + 1);
  if (close >= 0) {
    return { kind: "string", value: text.slice(start + 1, close), start, end: close + 1 };
  }
  const expected = `a string that ends with ${quote}`;
  return broken(text, start, { expected, hint: null }, text.length);
}

const NAME_HINT = "a character after a backslash is part of a name";

function pathAt(text: string, start: number): Token {
  const names: string[] = [];
  let name = "";
  let at = start;
  for (;;) {
    const character = text[at] ?? "";
    if (character === "\\") {
      const codePoint = text.codePointAt(at + 1);
      if (codePoint === undefined) {
        return broken(text, at, { expected: "a character after the backslash", hint: null });
      }
      const escaped = String.fromCodePoint(codePoint);
      name += escaped;
      at += 1 + escaped.length;
    } else if (NAME_PART.test(character)) {
      name += character;
      at += 1;
    } else {
      names.push(name);
      if (character !== ".") return { kind: "path", names, start, end: at };
      name = "";
      at += 1;
      if (!NAME_START.test(text[at] ?? "")) {
        return at === text.length
          ? { kind: "broken", start: at, end: at, expected: "a name after the dot", hint: null }
          : broken(text, at, { expected: "a name after the dot", hint: NAME_HINT });
      }
    }
  }
}

function endOf(pattern: RegExp, text: string, at: number): number | null {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : null;
}
