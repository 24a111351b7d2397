/**
 * `${NAME}` and `${NAME:-default}` inside texts of the parsed file. Since YAML is read before, a
 * variable's value can never become structure.
 *
 *   in the file          NAME set      set but empty    not set
 *   ${NAME}              its value     empty            a problem
 *   ${NAME:-default}     its value     default          default
 *   $${NAME}             ${NAME}, as it stands
 *   ${NAME:-a${b}        a problem: the default would end at the first brace
 *   ${other}, ${         a problem
 */

import { isMap } from "./collections.ts";
import type { Origin } from "./place.ts";
import { type Path, type Problem, pathText } from "./problem.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Filled {
  readonly tree: unknown;
  /** The texts of the file, by path text, for texts that took something in. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly problems: readonly Problem[];
}

export function fill(tree: unknown, env: Environment): Filled {
  const origins = new Map<string, Origin>();
  const problems: Problem[] = [];
  const walk = (node: unknown, path: Path): unknown => {
    if (Array.isArray(node)) return node.map((entry, index) => walk(entry, [...path, index]));
    if (isMap(node)) {
      const entries = Object.entries(node);
      return Object.fromEntries(entries.map(([key, entry]) => [key, walk(entry, [...path, key])]));
    }
    if (typeof node !== "string" || !node.includes("${")) return node;
    origins.set(pathText(path), { kind: "filled", written: node });
    return fillText(node, env, (problem) => problems.push({ path, ...problem }));
  };
  return { tree: walk(tree, []), origins, problems };
}

function fillText(
  written: string,
  env: Environment,
  report: (problem: Omit<Problem, "path">) => void,
): string {
  return written.replace(/\$\$\{|\$\{([^}]*\}?)/g, (match, inside: string | undefined) => {
    if (inside === undefined) return "${";
    const [, name = "", fallback] = /^([A-Za-z_]\w*)(?::-(.*))?\}$/s.exec(inside) ?? [];
    const found = env[name];
    if (name === "") {
      // The inside is not told: it may be part of a password.
      const expected = `\${NAME} or \${NAME:-default}`;
      const hint = `write $\${ for \${ itself`;
      report({ found: `\${ without a variable's name`, expected, hint });
    } else if (fallback?.includes("${")) {
      const found = `\${ in the default of \${${name}}`;
      report({ found, expected: "a default without variables", hint: null });
    } else if (fallback !== undefined) {
      return found === undefined || found === "" ? fallback : found;
    } else if (found === undefined) {
      const hint = `set it, or write \${${name}:-default}`;
      report({ found: `\${${name}}`, expected: `the variable ${name} to be set`, hint });
    }
    return found ?? match;
  });
}
