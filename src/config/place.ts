/** Where in the configuration a value stands, and where problems with it are collected. */

import { describe, HIDDEN, type Path, type Problem, pathText } from "./problem.ts";

/** Stands for a value that was reported as a problem. */
export const INVALID: unique symbol = Symbol("invalid");
export type Invalid = typeof INVALID;

/** Where a value came from when the file does not state it literally. */
export type Origin =
  /** A variable such as `SWITCHYARD_KAFKA_BROKERS` took its place. */
  | { readonly kind: "environment"; readonly name: string }
  /** A text with `${NAME}` in it; `written` is what the file says. */
  | { readonly kind: "filled"; readonly written: string };

export interface PlaceContext {
  readonly problems: Problem[];
  /** By path text. */
  readonly origins: ReadonlyMap<string, Origin>;
  /** The text of a file named in the configuration, or why it cannot be read. */
  readonly readFile: (path: string) => FileText;
}

export type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "unreadable"; readonly why: string };

export interface Place {
  readonly path: Path;
  readonly origin: Origin | null;
  child(key: string | number): Place;
  readFile(path: string): FileText;
  /** Reports a problem here. */
  fail(problem: Omit<Problem, "path">): Invalid;
}

export function placeAt(context: PlaceContext, path: Path): Place {
  return {
    path,
    origin: context.origins.get(pathText(path)) ?? null,
    child: (key) => placeAt(context, [...path, key]),
    readFile: context.readFile,
    fail: (problem) => {
      context.problems.push({ path, ...problem });
      return INVALID;
    },
  };
}

/**
 * The value that was found, and the variable it came from.
 *
 * @param show makes a value fit to be shown: hides it, or the secret part of it.
 */
export function foundAt(place: Place, raw: unknown, show: (raw: unknown) => unknown): string {
  if (place.origin === null) return describe(show(raw));
  if (place.origin.kind === "filled") return describe(show(place.origin.written));
  const shown = show(raw);
  const { name } = place.origin;
  return shown === HIDDEN ? `a hidden value in ${name}` : `${describe(shown)} in ${name}`;
}

/** The values when each one is valid. */
export function allValid<Value>(values: readonly (Value | Invalid)[]): readonly Value[] | Invalid {
  const valid = values.filter((entry): entry is Value => entry !== INVALID);
  return valid.length === values.length ? valid : INVALID;
}
