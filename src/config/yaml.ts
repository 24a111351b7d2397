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
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type YAMLError,
} from "yaml";
import {
  describe,
  fileProblem,
  HIDDEN,
  type LocatedProblem,
  type Path,
  PROBLEMS_MAX,
} from "../base/settings/problem.ts";
import { isJsonObject, JSON_DEPTH_MAX, nestsDeeperThan, repeatedKey } from "../domain/json.ts";

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
  // The parser compares each key with every other key of its map.
  uniqueKeys: false,
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
    if (nestsDeeperThan(JSON_DEPTH_MAX, tree)) return null;
    return isJsonObject(tree) && repeatedKey(text) === null ? tree : null;
  } catch {
    return null;
  }
}

function parsed(text: string): Yaml {
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, { ...OPTIONS, lineCounter: lines });
    const complaints = [...document.errors, ...document.warnings];
    const problems = [
      ...complaints.slice(0, PROBLEMS_MAX).map((error) => located(error, lines)),
      ...sameKeys(document, lines),
    ];
    if (problems.length > 0) return { kind: "invalid", problems };
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
    return { kind: "invalid", problems: [fileProblem(found, "YAML that can be read")] };
  }
}

function located(error: YAMLError, lines: LineCounter): LocatedProblem {
  const { line, col } = lines.linePos(error.pos[0]);
  const found = `${sentence(error)} (line ${line}, column ${col})`;
  const hint = QUOTABLE.has(error.code)
    ? "a string that starts with a special character needs quotes"
    : null;
  return fileProblem(found, "valid YAML", { hint, line });
}

/** Finds keys that occur twice in a map. */
function sameKeys(document: Document, lines: LineCounter): readonly LocatedProblem[] {
  const problems: LocatedProblem[] = [];
  const walk = (node: unknown): void => {
    if (isSeq(node)) for (const item of node.items) walk(item);
    if (!isMap(node)) return;
    const known = new Map<unknown, number>();
    for (const { key, value } of node.items) {
      walk(value);
      if (!isScalar(key) || !key.range) continue;
      const { line } = lines.linePos(key.range[0]);
      const first = known.get(key.value);
      known.set(key.value, first ?? line);
      if (first === undefined) continue;
      const found = `the key ${describe(key.value)} twice in a map, in lines ${first} and ${line}`;
      problems.push(fileProblem(found, "every key at most once", { line }));
    }
  };
  walk(document.contents);
  return problems;
}

const QUOTABLE: ReadonlySet<string> = new Set(["BAD_SCALAR_START", "TAG_RESOLVE_FAILED"]);

/** Quotes from the file are removed, because they may contain secrets. */
function sentence(error: YAMLError): string {
  return error.message.replace(/(?<=: ).+|(?<=[`"']).+(?=[`"'])/s, HIDDEN);
}
