/** A value's location in the configuration; problems with the value are collected there. */

import { describe, HIDDEN, type Path, type Problem, pathText } from "./problem.ts";

/** Replaces a value that was reported as a problem. */
export const INVALID: unique symbol = Symbol("invalid");
export type Invalid = typeof INVALID;

/** The origin of a value that is not written literally in the file. */
export type ValueOrigin =
  /** A variable such as `SWITCHYARD_KAFKA_BROKERS` overrides the value. */
  | { readonly kind: "environment"; readonly name: string }
  /**
   * A string that contained `${NAME}` or `${file:/path}`; `written` is the string in the file. If `takesFile` is true,
   * the value contains the content of a file, which is never shown.
   */
  | { readonly kind: "filled"; readonly written: string; readonly takesFile: boolean };

export interface PlaceContext {
  readonly problems: Problem[];
  /** One sentence for each value that is valid, but is most likely a mistake. */
  readonly warnings: string[];
  /** Origins of values, by the text of the path. */
  readonly origins: ReadonlyMap<string, ValueOrigin>;
  /** The bytes of a file named in the configuration, or why it cannot be read. */
  readonly readFile: ReadFile;
}

/** Reads a file. The argument is the path as it is in the configuration. */
export type ReadFile = (path: string) => FileBytes;

export type FileBytes =
  | { readonly kind: "bytes"; readonly bytes: Buffer }
  | { readonly kind: "unreadable"; readonly why: string };

export interface Place {
  readonly path: Path;
  readonly origin: ValueOrigin | null;
  child(key: string | number): Place;
  readFile(path: string): FileBytes;
  /** Reports a problem at this location. @param hint how to fix it, if that does not follow from `expected`. */
  fail(found: string, expected: string, hint?: string | null): Invalid;
  /** Adds a warning about the value at this location, which stays valid. */
  warn(text: string): void;
}

export function placeAt(context: PlaceContext, path: Path): Place {
  return path.reduce<Place>((place, key) => place.child(key), new PlaceIn(context));
}

/** Computes its path and origin when they are needed: a large configuration has a million places and few problems. */
class PlaceIn implements Place {
  readonly #context: PlaceContext;
  readonly #around: PlaceIn | null;
  readonly #key: string | number;
  #origin: ValueOrigin | null | undefined;

  constructor(context: PlaceContext, around: PlaceIn | null = null, key: string | number = "") {
    this.#context = context;
    this.#around = around;
    this.#key = key;
  }

  get path(): Path {
    return this.#around === null ? [] : [...this.#around.path, this.#key];
  }

  get origin(): ValueOrigin | null {
    if (this.#origin === undefined) {
      const around = this.#around?.origin ?? null;
      // If a list came from a file, its entries are also content of that file.
      const inherited = takesFile(around) ? around : null;
      const { origins } = this.#context;
      this.#origin = origins.get(pathText(this.path)) ?? inherited;
    }
    return this.#origin;
  }

  child(key: string | number): Place {
    return new PlaceIn(this.#context, this, key);
  }

  readFile(path: string): FileBytes {
    return this.#context.readFile(path);
  }

  fail(found: string, expected: string, hint: string | null = null): Invalid {
    this.#context.problems.push({ path: this.path, found, expected, hint });
    return INVALID;
  }

  warn(text: string): void {
    this.#context.warnings.push(`${pathText(this.path)}: ${text}`);
  }
}

export function takesFile(origin: ValueOrigin | null | undefined): boolean {
  return origin?.kind === "filled" && origin.takesFile;
}

/** Returns what may be shown of a string that contains references, instead of the resulting value. */
export function shownAsWritten(written: string, show: (raw: unknown) => unknown): unknown {
  // A reference is not secret.
  return /^\$\{file:[^${}]+\}$/.test(written) ? written : show(written);
}

/**
 * Describes the value that was found, and names its variable.
 *
 * @param show returns the value as it may be shown: hidden, or without its secret part.
 */
export function foundAt(
  place: Place,
  raw: unknown,
  show: (raw: unknown) => unknown = (shown) => shown,
): string {
  if (place.origin === null) return describe(show(raw));
  if (place.origin.kind === "filled") return describe(shownAsWritten(place.origin.written, show));
  const shown = show(raw);
  const { name } = place.origin;
  return shown === HIDDEN ? `a hidden value in ${name}` : `${describe(shown)} in ${name}`;
}

/** Returns the values if all of them are valid. */
export function allValid<Value>(values: readonly (Value | Invalid)[]): readonly Value[] | Invalid {
  const valid = values.filter((entry): entry is Value => entry !== INVALID);
  return valid.length === values.length ? valid : INVALID;
}
