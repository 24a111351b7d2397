/**
 * Handles `include`, which reads sources, destinations and audiences from separate files, so that each team can own its
 * file.
 *
 *   include names                      result
 *   a pattern with * or ?              all files that match, if any
 *   a file                             that file, or a problem if it does not exist
 *   the configuration file itself      it is ignored
 *
 *   an included file has               result
 *   sources, destinations, audiences   their entries follow those of the configuration file, in the order of the
 *                                      files' names
 *   any other key                      a problem in that file
 *   no content                         no problem
 *
 * All paths, including those inside an included file, are relative to the folder of the configuration file.
 */

import { isUtf8 } from "node:buffer";
import { globSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import type { FileBytes } from "../base/settings/config-path.ts";
import {
  fileProblem,
  kindOf,
  type LocatedProblem,
  type Path,
  pathText,
} from "../base/settings/problem.ts";
import { isJsonObject } from "../domain/json.ts";
import { readYaml } from "./yaml.ts";

const LISTS = ["sources", "destinations", "audiences"] as const;
const FILES_MAX = 10_000;

/** The location of an entry in its own file. */
interface Located {
  /** The file's path as it appears in messages: relative to the folder of the configuration file. */
  readonly file: string;
  readonly index: number;
  readonly lineOf: (path: Path) => number | null;
}

export interface Included {
  /** The configuration with all entries. */
  readonly tree: unknown;
  readonly problems: readonly LocatedProblem[];
  /**
   * Absolute paths of the folders in which patterns look for files. A new file in one of these folders may change the
   * configuration.
   */
  readonly folders: readonly string[];
  /** Locations in the included files, by the path of an entry in `tree`, such as `destinations[5]`. */
  readonly entries: ReadonlyMap<string, Located>;
}

/**
 * @param tree the content of the configuration file
 * @param file the absolute path of the configuration file
 * @param override patterns from the environment, which replace those in the file; null if there are none
 * @param read reads the file at an absolute path
 */
export function included(
  tree: unknown,
  file: string,
  override: readonly string[] | null,
  read: (path: string) => FileBytes,
): Included {
  const own = isJsonObject(tree) && Array.isArray(tree.include) ? tree.include : [];
  const patterns: readonly unknown[] = override ?? own;
  const folder = dirname(file);
  const problems: LocatedProblem[] = [];
  const folders = new Set<string>();
  const paths = new Set<string>();
  for (const [index, pattern] of patterns.entries()) {
    // Values of other types are reported when settings are decoded.
    if (typeof pattern !== "string" || pattern === "" || pattern.includes("${")) continue;
    const isPattern = /[*?]/.test(pattern);
    const found = isPattern ? globSync(pattern, { cwd: folder }).sort() : [pattern];
    if (isPattern) folders.add(resolve(folder, dirname(pattern)));
    for (const path of found) paths.add(resolve(folder, path));
    if (paths.size <= FILES_MAX) continue;
    const expected = `at most ${FILES_MAX} files`;
    problems.push(fileProblem(`${paths.size} files`, expected, { path: ["include", index] }));
    return { tree, problems, folders: [...folders], entries: new Map() };
  }
  paths.delete(file);
  const merged = new Merged(tree);
  for (const path of paths) {
    problems.push(...merged.add(relative(folder, path), read(path)));
  }
  return { tree: merged.tree(), problems, folders: [...folders], entries: merged.entries };
}

class Merged {
  readonly entries = new Map<string, Located>();
  readonly #tree: unknown;
  readonly #lists: Readonly<Record<(typeof LISTS)[number], unknown[]>>;

  constructor(tree: unknown) {
    this.#tree = tree;
    const own = (list: string) => {
      const value = isJsonObject(tree) ? tree[list] : null;
      return Array.isArray(value) ? [...value] : [];
    };
    const [sources, destinations, audiences] = [
      own("sources"),
      own("destinations"),
      own("audiences"),
    ];
    this.#lists = { sources, destinations, audiences };
  }

  /** Adds the entries of a file. Returns its problems. */
  add(file: string, source: FileBytes): readonly LocatedProblem[] {
    const whole = (found: string, expected: string) => [fileProblem(found, expected, { file })];
    if (source.kind === "unreadable") return whole(source.why, "a file that can be read");
    if (!isUtf8(source.bytes)) return whole("bytes that are not UTF-8", "text in UTF-8");
    const yaml = readYaml(source.bytes.toString());
    if (yaml.kind === "invalid") return yaml.problems.map((problem) => ({ ...problem, file }));
    const { tree, lineOf } = yaml;
    if (tree === null || tree === undefined) return [];
    if (!isJsonObject(tree)) return whole(kindOf(tree), `a map with ${LISTS.join(", ")}`);
    return Object.entries(tree).flatMap(([key, value]) => {
      const list = LISTS.find((name) => name === key);
      const at = { file, path: [key], line: lineOf([key]) };
      const problem = (found: string, expected: string) => [fileProblem(found, expected, at)];
      if (list === undefined) {
        const expected = `${LISTS.join(", ")}; other settings belong in the configuration file`;
        return problem("an unknown setting", expected);
      }
      if (value === null) return [];
      if (!Array.isArray(value)) return problem(kindOf(value), "a list");
      for (const [index, entry] of value.entries()) {
        const place = pathText([list, this.#lists[list].length]);
        this.entries.set(place, { file, index, lineOf });
        this.#lists[list].push(entry);
      }
      return [];
    });
  }

  tree(): unknown {
    if (this.entries.size === 0) return this.#tree;
    const filled = LISTS.filter((list) => this.#lists[list].length > 0);
    const lists = filled.map((list) => [list, this.#lists[list]] as const);
    return { ...(this.#tree as object), ...Object.fromEntries(lists) };
  }
}

/**
 * Returns the file that contains a path of the whole configuration (null for the configuration file), and the path in
 * that file.
 */
export function writtenAt(
  path: Path,
  entries: Included["entries"],
): { readonly file: string | null; readonly path: Path; readonly line: number | null } | null {
  const entry = entries.get(pathText(path.slice(0, 2)));
  if (entry === undefined) return null;
  const own = [path[0] ?? "", entry.index, ...path.slice(2)];
  return { file: entry.file, path: own, line: entry.lineOf(own) };
}
