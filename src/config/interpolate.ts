/**
 * Replaces `${NAME}`, `${NAME:-default}` and `${file:/path}` inside strings of the parsed file. Because YAML is
 * parsed first, a value that is inserted can never become structure.
 *
 *   in the file          NAME set      set but empty    not set
 *   ${NAME}              its value     empty            a problem
 *   ${NAME:-default}     its value     default          default
 *   $${NAME}             ${NAME}, literally
 *   ${NAME:-a${b}        a problem: the default would end at the first brace
 *   ${a-b}, ${           a problem
 *
 * One newline at the end of a variable or file is removed, because commands such as `echo secret |` write one.
 *
 *   ${file:/path}            the file's content; `secret-file.ts` has the table
 *   ${file:/path:-default}   a problem: a missing secret must not be replaced with another one
 *   ${file:}, ${file:${A}}   a problem
 */

import type { ReadFile, ValueOrigin } from "../base/settings/config-path.ts";
import { type Problem, pathText } from "../base/settings/problem.ts";
import { isJsonObject } from "../domain/json.ts";
import { secretText, withoutNewline } from "./secret-file.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

type ReportProblem = (problem: Omit<Problem, "path">) => void;

/** @returns the filled tree, and by path the origins of the strings into which a value was inserted. */
export function fill(tree: unknown, env: Environment, readFile: ReadFile) {
  const origins = new Map<string, ValueOrigin>();
  const problems: Problem[] = [];
  const walked: (string | number)[] = [];
  const inner = (node: unknown, key: string | number): unknown => {
    walked.push(key);
    const filled = walk(node);
    walked.pop();
    return filled;
  };
  const walk = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(inner);
    if (isJsonObject(node)) {
      const entries = Object.entries(node);
      return Object.fromEntries(entries.map(([key, entry]) => [key, inner(entry, key)]));
    }
    if (typeof node !== "string" || !node.includes("${")) return node;
    const path = [...walked];
    const takesFile = references(node).some((inside) => inside?.startsWith(FILE) === true);
    origins.set(pathText(path), { kind: "filled", written: node, takesFile });
    const report: ReportProblem = (problem) => problems.push({ path, ...problem });
    return node.replace(REFERENCE, (match, inside: string | undefined) => {
      if (inside === undefined) return "${";
      const isFile = inside.startsWith(FILE);
      const found = isFile ? ofFile(inside, readFile, report) : ofVariable(inside, env, report);
      return found ?? match;
    });
  };
  return { tree: walk(tree), origins, problems };
}

/** Matches `$${`, or `${` with its content and with its closing brace, if there is one. */
const REFERENCE = /\$\$\{|\$\{([^}]*\}?)/g;
const FILE = "file:";

function references(written: string): readonly (string | undefined)[] {
  return [...written.matchAll(REFERENCE)].map(([, inside]) => inside);
}

/** Null if a problem was reported. */
function ofVariable(inside: string, env: Environment, report: ReportProblem): string | null {
  const [, name = "", fallback] = /^([A-Za-z_]\w*)(?::-(.*))?\}$/s.exec(inside) ?? [];
  const found = withoutNewline(env[name]);
  if (name === "") {
    // The content is not shown, because it may be part of a password.
    const expected = `\${NAME}, \${NAME:-default} or \${file:/path}`;
    const hint = `write $\${ for \${ itself`;
    report({ found: `\${ without a variable's name`, expected, hint });
  } else if (fallback?.includes("${")) {
    const where = `\${ in the default of \${${name}}`;
    report({ found: where, expected: "a default without variables", hint: null });
  } else if (fallback !== undefined) {
    return found === undefined || found === "" ? fallback : found;
  } else if (found === undefined) {
    const hint = `set it, or write \${${name}:-default}`;
    report({ found: `\${${name}}`, expected: `the variable ${name} to be set`, hint });
  }
  return found ?? null;
}

/** Null if a problem was reported. */
function ofFile(inside: string, readFile: ReadFile, report: ReportProblem): string | null {
  const path = inside.slice(FILE.length, -1);
  const fail = (found: string, hint: string): null => {
    report({ found, expected: `\${file:/path} with the path of a file`, hint });
    return null;
  };
  if (!inside.endsWith("}")) return fail(`\${file: without its brace`, "end it with a brace");
  if (path.trim() === "") return fail(`\${file:} without a path`, "name the file");
  if (path.includes("${")) {
    return fail(`\${ in the path of \${file:...}`, "write the path without variables");
  }
  if (path.includes(":-")) {
    const hint = "remove `:-` and what follows; a file has no default";
    return fail(`a default in \${file:...}`, hint);
  }
  const taken = secretText(`\${file:${path}}`, readFile(path));
  if (taken.kind === "text") return taken.text;
  report(taken.problem);
  return null;
}
