/**
 * Parses YAML into plain values with their line numbers.
 *
 * Duplicate keys, unknown anchors and several documents are errors. Merge keys (`<<`) are disabled, as in YAML 1.2,
 * even if the file names another version. Sets, ordered maps, dates and binary data are also disabled, because the
 * decoders would read them as maps without keys. The parser's messages are used without the excerpt of the file that it
 * can add, because an excerpt might show a secret.
 */

import {
  type Document,
  isNode,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
} from "yaml";

import { isJsonObject } from "../domain/json.ts";
import { describe, HIDDEN, type LocatedProblem, type Path } from "../settings/problem.ts";

type Yaml =
  | {
      readonly kind: "yaml";
      readonly tree: unknown;
      /** The line of the value at a path or, if the value is absent, of the map or list around it. */
      readonly lineOf: (path: Path) => number | null;
    }
  | { readonly kind: "invalid"; readonly problems: readonly LocatedProblem[] };

/**
 * Maximum number of aliases. Aliases may repeat parts of the file, but without this limit they could multiply its size.
 */
const ALIASES_MAX = 1_000;

const OPTIONS = {
  prettyErrors: false,
  merge: false,
  strict: true,
  logLevel: "error",
  schema: "core",
  resolveKnownTags: false,
} as const;

/**
 * JSON, in which programs write configurations with thousands of destinations, is also YAML, but the YAML parser needs a
 * second for 10,000 destinations. Only a problem needs the lines, so JSON is parsed as YAML when they are needed.
 */
export function readYaml(text: string): Yaml {
  const tree = jsonTree(text);
  if (tree === null) return parsed(text);
  let full: Yaml | null = null;
  const lineOf = (path: Path): number | null => {
    full ??= parsed(text);
    return full.kind === "yaml" ? full.lineOf(path) : null;
  };
  return { kind: "yaml", tree, lineOf };
}

/** Returns null if the text is not a JSON object, or if it has a duplicate key, of which `JSON.parse` drops the first. */
function jsonTree(text: string): unknown {
  if (!text.startsWith("{")) return null;
  try {
    const tree: unknown = JSON.parse(text);
    const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, "").split(":").length - 1;
    return keysIn(tree) === colons ? tree : null;
  } catch {
    return null;
  }
}

function keysIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value);
  const own = isJsonObject(value) ? inner.length : 0;
  return inner.reduce<number>((sum, each) => sum + keysIn(each), own);
}

function parsed(text: string): Yaml {
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { ...OPTIONS, lineCounter: lines });
    const complaints = [...document.errors, ...document.warnings];
    if (complaints.length > 0) {
      return {
        kind: "invalid",
        problems: complaints.map((error) => located(error, document, lines)),
      };
    }
    const tree: unknown = document.toJS({ maxAliasCount: ALIASES_MAX });
    // This throws if an alias contains itself, or if the nesting is far deeper than anybody would write by hand.
    JSON.stringify(tree);
    const lineOf = (path: Path): number | null => {
      for (let length = path.length; length > 0; length -= 1) {
        const node = document.getIn(path.slice(0, length), true);
        if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
      }
      return null;
    };
    return { kind: "yaml", tree, lineOf };
  } catch (error) {
    const found =
      error instanceof ReferenceError
        ? "an alias without its anchor, or too many aliases"
        : "nesting that is too deep, or an alias inside its own anchor";
    const problem = {
      path: [],
      found,
      expected: "YAML that can be read",
      hint: null,
      line: null,
      file: null,
    };
    return { kind: "invalid", problems: [problem] };
  }
}

function located(error: YAMLError, document: Document, lines: LineCounter): LocatedProblem {
  const { line, col } = lines.linePos(error.pos[0]);
  const twice = error.code === "DUPLICATE_KEY" ? sameKey(document, error.pos[0]) : null;
  if (twice !== null) {
    const { key, firstAt } = twice;
    const found = `the key ${describe(key)} twice in a map, in lines ${lines.linePos(firstAt).line} and ${line}`;
    return { path: [], found, expected: "every key at most once", hint: null, line, file: null };
  }
  const found = `${sentence(error)} (line ${line}, column ${col})`;
  const hint = QUOTABLE.has(error.code)
    ? "a string that starts with a special character needs quotes"
    : null;
  return { path: [], found, expected: "valid YAML", hint, line, file: null };
}

/** Returns the duplicate key at position `at`, and the position of the first occurrence of this key in the same map. */
function sameKey(
  document: Document,
  at: number,
): { readonly key: unknown; readonly firstAt: number } | null {
  let found: { readonly key: unknown; readonly firstAt: number } | null = null;
  visit(document, {
    Map: (_key, { items }) => {
      const keys = items.flatMap(({ key }) => (isScalar(key) && key.range ? [key] : []));
      const second = keys.find(({ range }) => range?.[0] === at);
      const first = keys.find(({ value }) => value === second?.value);
      if (second === undefined || !first?.range) return undefined;
      found = { key: first.value, firstAt: first.range[0] };
      return visit.BREAK;
    },
  });
  return found;
}

const QUOTABLE: ReadonlySet<string> = new Set(["BAD_SCALAR_START", "TAG_RESOLVE_FAILED"]);

/** Quotes from the file are removed, because they may contain secrets. */
function sentence(error: YAMLError): string {
  if (error.code === "DUPLICATE_KEY") return "the same key twice in a map";
  return error.message.replace(/(?<=: ).+|(?<=[`"']).+(?=[`"'])/s, HIDDEN);
}
