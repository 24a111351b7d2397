/** A problem in a configuration, with the information that is needed to fix it. */

export type Path = readonly (string | number)[];

export interface Problem {
  readonly path: Path;
  /** The value that was found, in words. Never a secret. */
  readonly found: string;
  readonly expected: string;
  /** How to fix the problem; null if that follows from `expected`. */
  readonly hint: string | null;
}

export interface LocatedProblem extends Problem {
  /** Line of the file, from 1; null if the value is not in the file. */
  readonly line: number | null;
  /** The included file that contains the value; null for the configuration file. */
  readonly file: string | null;
}

/** A problem with a whole file. @param at what is known about the place, and how to fix the problem. */
export function fileProblem(
  found: string,
  expected: string,
  at: Partial<LocatedProblem> = {},
): LocatedProblem {
  return { path: [], found, expected, hint: null, line: null, file: null, ...at };
}

/** The maximum number of problems that are reported at once. */
export const PROBLEMS_MAX = 100;

const SHOWN_MAX = 80;

/** Formats a path, such as `destinations[2].endpoints[0].url`; for the whole file, returns `(file)`. */
export function pathText(path: Path): string {
  if (path.length === 0) return "(file)";
  return path.map((key, index) => segment(key, index === 0)).join("");
}

function segment(key: string | number, isFirst: boolean): string {
  if (typeof key === "number") return `[${key}]`;
  if (!/^[\w-]+$/.test(key)) return `[${JSON.stringify(cut(key))}]`;
  return isFirst ? key : `.${key}`;
}

/**
 * Describes a value. Scalars are shown unchanged. For a list or a map, only the kind is shown, because it may contain
 * secrets.
 */
export function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "an empty value";
  if (typeof value === "string") return value === HIDDEN ? HIDDEN : cut(JSON.stringify(value));
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  return typeof value === "object" ? "a map" : `${value}`;
}

/** The kind of a value, in words. */
export function kindOf(value: unknown): string {
  if (typeof value === "string") return value === "" ? "an empty string" : "a string";
  if (typeof value === "number") return "a number";
  if (typeof value === "boolean") return `${value}`;
  return describe(value);
}

export const HIDDEN = "(hidden)";

function cut(text: string): string {
  return text.length <= SHOWN_MAX ? text : `${text.slice(0, SHOWN_MAX)}...`;
}

/** The location of a problem, such as `teams/crm.yaml: destinations[0].id (line 3)`. */
export function placeText({ path, line, file }: Omit<LocatedProblem, keyof Omit<Problem, "path">>) {
  const where = line === null ? "" : ` (line ${line})`;
  return `${file === null ? "" : `${file}: `}${pathText(path)}${where}`;
}

/** Formats one problem as one line, without values that may be secret. */
export function problemSentence(problem: LocatedProblem): string {
  const { found, expected, hint } = problem;
  return `${placeText(problem)}: found ${found}, expected ${expected}${hint === null ? "" : `; ${hint}`}`;
}

/** Formats one problem as lines of text. */
export function problemText(problem: LocatedProblem): string {
  const rows = [placeText(problem)];
  rows.push(`  found:    ${problem.found}`, `  expected: ${problem.expected}`);
  if (problem.hint !== null) rows.push(`  hint:     ${problem.hint}`);
  return rows.join("\n");
}

/** Why a file cannot be read. */
const WHY: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EISDIR: "it is a folder",
  ELOOP: "its symbolic links form a loop",
  ENAMETOOLONG: "the path is too long",
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a folder",
};

export function whyUnreadable(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : null;
  return WHY[String(code)] ?? String(code ?? error);
}
