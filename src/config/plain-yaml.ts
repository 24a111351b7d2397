/**
 * Reads YAML that programs write, 20 times as fast as the YAML parser, which needs a second for 10,000 destinations.
 * `readYaml` parses everything else.
 *
 *   text                                          result
 *   JSON with unique keys                         its value
 *   lines with a plain key, a plain or quoted     their value
 *     scalar or both, after spaces and at most
 *     one `- `; empty lines; comments
 *   anything else, even if it is valid            null
 *
 * A result is always what the parser returns for the text (`test/property/config/plain-yaml.test.ts`).
 */

import { isJsonObject } from "../domain/json.ts";

/** Returns null if the text is neither JSON nor simple YAML. */
export function plainTree(text: string): unknown {
  try {
    return text.startsWith("{") ? fromJson(text) : new PlainYaml(text).document();
  } catch {
    return null;
  }
}

/** @throws SyntaxError if the text is not JSON */
function fromJson(text: string): unknown {
  const tree: unknown = JSON.parse(text);
  const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, "").split(":").length - 1;
  // `JSON.parse` accepts a key that occurs twice, and drops the first value.
  return keysIn(tree) === colons ? tree : null;
}

function keysIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce<number>(
    (sum, each) => sum + keysIn(each),
    isJsonObject(value) ? inner.length : 0,
  );
}

interface Line {
  /** The column of the key or scalar, after any `- `. */
  readonly indent: number;
  /** The column of the `-`; null if there is none. */
  readonly dash: number | null;
  readonly key: string | null;
  /** Empty if the value is on the following lines, or null. */
  readonly scalar: string;
}

const LINE = /^( *)(- )?(?:([A-Za-z][\w-]{0,99}):(?: (?! )|$))?([!-~](?:[ -~]*[!-~])?)?$/;
const QUOTED = /^(?:"([^"\\]*)"|'([^']*)')$/;
/** A scalar that is a string, unless it is one of the words or numbers of the schema. */
const STRING = /^[A-Za-z\d/_$.](?:(?!: | #)[ -~])*$/;
const WORD = /^(?:true|false|null)$/i;
const WORDS: ReadonlyMap<string, unknown> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);
/** Everything that may be a number. */
const NUMERIC = /^(?:0[xo]|\d+\.?\d*(?:e|$)|\.)/i;

/** Its methods throw an error if a line is not simple. */
class PlainYaml {
  readonly #lines: Line[] = [];
  #at = 0;

  constructor(text: string) {
    for (const line of text.split("\n")) {
      if (line === "" || /^ *#[ -~]*$/.test(line)) continue;
      const [, spaces = "", dash, key = null, scalar = ""] = LINE.exec(line) ?? fail();
      const isItem = dash !== undefined;
      const indent = spaces.length + (isItem ? 2 : 0);
      this.#lines.push({ indent, dash: isItem ? spaces.length : null, key, scalar });
    }
  }

  document(): unknown {
    const tree = this.#map(0);
    return this.#at === this.#lines.length ? tree : fail();
  }

  /** Reads the keys at a column. The first line may start with `- `. */
  #map(indent: number): unknown {
    const map: Record<string, unknown> = {};
    let isFirst = true;
    for (let line = this.#lines[this.#at]; line?.indent === indent; line = this.#lines[this.#at]) {
      if (line.dash !== null && !isFirst) break;
      isFirst = false;
      const { key } = line;
      if (key === null || Object.hasOwn(map, key) || WORD.test(key)) fail();
      this.#at += 1;
      map[key] = line.scalar === "" ? this.#below(indent) : scalarOf(line.scalar);
    }
    return isFirst ? fail() : map;
  }

  /** Reads what follows a key without a scalar. */
  #below(indent: number): unknown {
    const next = this.#lines[this.#at];
    if (next === undefined) return null;
    if (next.dash !== null) return next.dash >= indent ? this.#list(next.dash) : null;
    return next.indent > indent ? this.#map(next.indent) : null;
  }

  #list(dash: number): unknown {
    const list: unknown[] = [];
    for (let line = this.#lines[this.#at]; line?.dash === dash; line = this.#lines[this.#at]) {
      if (line.key !== null) list.push(this.#map(line.indent));
      else {
        this.#at += 1;
        list.push(scalarOf(line.scalar));
      }
    }
    return list;
  }
}

function scalarOf(text: string): unknown {
  if (text === "[]") return [];
  if (text === "{}") return {};
  const [, double, single] = QUOTED.exec(text) ?? [];
  const quoted = double ?? single;
  if (quoted !== undefined) return quoted;
  if (WORDS.has(text)) return WORDS.get(text);
  if (/^(?:0|[1-9]\d{0,14})$/.test(text)) return Number(text);
  if (!STRING.test(text) || text.endsWith(":") || WORD.test(text) || NUMERIC.test(text)) fail();
  return text;
}

function fail(): never {
  throw new Error("this YAML is not simple");
}
