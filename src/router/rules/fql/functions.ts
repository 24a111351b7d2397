/**
 * The functions of the filter language. Arguments are JSON values; an absent value is null.
 *
 *   function                         for null     for a type that it does not accept
 *   contains, match                  false        false
 *   semver                           false        false
 *   length                           0            null
 *   typeof                           "null"       (it accepts all)
 *   all others                       null         null
 */

import { compileGlob } from "./glob.ts";
import { includesText, typeOf } from "./values.ts";

export interface FqlFunction {
  readonly arguments: number;
  /** The type of the result if it is not null. */
  readonly gives: "a boolean" | "a string" | "a number";
  readonly apply: (a: unknown, b: unknown, c: unknown) => unknown;
}

export const FUNCTIONS = {
  contains: {
    arguments: 2,
    gives: "a boolean",
    apply: (text, part) =>
      typeof text === "string" && typeof part === "string" && includesText(text, part),
  },
  match: {
    arguments: 2,
    gives: "a boolean",
    // If the glob is a constant in the filter, it is compiled only once, together with the filter.
    apply: (text, glob) =>
      typeof text === "string" && typeof glob === "string" && compileGlob(glob)?.(text) === true,
  },
  length: { arguments: 1, gives: "a number", apply: length },
  lowercase: { arguments: 1, gives: "a string", apply: ofString((text) => text.toLowerCase()) },
  uppercase: { arguments: 1, gives: "a string", apply: ofString((text) => text.toUpperCase()) },
  snakecase: { arguments: 1, gives: "a string", apply: ofString((text) => joined(text, "_")) },
  kebabcase: { arguments: 1, gives: "a string", apply: ofString((text) => joined(text, "-")) },
  titlecase: { arguments: 1, gives: "a string", apply: ofString(titlecase) },
  typeof: { arguments: 1, gives: "a string", apply: typeOf },
  bool: { arguments: 1, gives: "a boolean", apply: bool },
  string: { arguments: 1, gives: "a string", apply: string },
  number: { arguments: 1, gives: "a number", apply: number },
  semver: { arguments: 3, gives: "a boolean", apply: semver },
} satisfies Readonly<Record<string, FqlFunction>>;

export type FunctionName = keyof typeof FUNCTIONS;

export const FUNCTION_NAMES: readonly string[] = Object.keys(FUNCTIONS);

export function isFunctionName(name: string): name is FunctionName {
  return FUNCTION_NAMES.includes(name);
}

function ofString(apply: (text: string) => string): (value: unknown) => string | null {
  return (value) => (typeof value === "string" ? apply(value) : null);
}

function length(value: unknown): number | null {
  if (Array.isArray(value)) return value.length;
  if (typeof value === "string") return Buffer.byteLength(value);
  return value === null ? 0 : null;
}

function joined(text: string, mark: "_" | "-"): string {
  return text.replaceAll(" ", mark).toLowerCase();
}

function titlecase(text: string): string {
  const words = text.split(" ").map((word) => {
    const first = String.fromCodePoint(...[word.codePointAt(0) ?? []].flat());
    return first.toUpperCase() + word.slice(first.length).toLowerCase();
  });
  return words.join(" ");
}

function bool(value: unknown): boolean | null {
  if (value === true || value === "true" || value === 1) return true;
  return value === false || value === "false" || value === 0 ? false : null;
}

/**
 * Returns a value as a string. Only numbers that are not from the call are converted here; those from the call keep
 * their digits (`digitsAt`).
 */
function string(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return `${value}`;
  return typeof value === "number" && Number.isFinite(value) ? JSON.stringify(value) : null;
}

/** The form of numbers that `tokens.ts` also reads. */
const NUMBER = /^[+-]?[0-9]+(?:\.[0-9]+)?$/;

function number(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" && NUMBER.test(value) ? Number(value) : null;
}

/** The operators for versions. Each returns true if two versions with this difference satisfy the operator. */
export const SEMVER_OPERATORS: Readonly<Record<string, (difference: number) => boolean>> = {
  "=": (difference) => difference === 0,
  "!=": (difference) => difference !== 0,
  ">": (difference) => difference > 0,
  ">=": (difference) => difference >= 0,
  "<": (difference) => difference < 0,
  "<=": (difference) => difference <= 0,
};

const VERSION = /^[0-9]+(?:\.[0-9]+){0,2}$/;

function semver(left: unknown, operator: unknown, right: unknown): boolean {
  const isText = typeof left === "string" && typeof operator === "string";
  if (!isText || typeof right !== "string") return false;
  if (!VERSION.test(left) || !VERSION.test(right)) return false;
  if (!Object.hasOwn(SEMVER_OPERATORS, operator)) return false;
  return SEMVER_OPERATORS[operator]?.(compareVersions(left, right)) === true;
}

/** Compares versions part by part. A part that is absent counts as 0. */
function compareVersions(left: string, right: string): number {
  const [ours, theirs] = [left.split("."), right.split(".")];
  for (let part = 0; part < 3; part += 1) {
    const difference = compareDigits(ours[part] ?? "0", theirs[part] ?? "0");
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Compares numbers of any size, given as digits. */
function compareDigits(left: string, right: string): number {
  const [a, b] = [withoutZeros(left), withoutZeros(right)];
  if (a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function withoutZeros(digits: string): string {
  let start = 0;
  while (digits[start] === "0") start += 1;
  return digits.slice(start);
}
