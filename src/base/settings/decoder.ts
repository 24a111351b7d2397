/**
 * The type of decoders, each of which reads one value of the configuration file; `scalars.ts` and other files create
 * them.
 */

import { foundAt, type Invalid, type Place } from "./config-path.ts";
import { HIDDEN } from "./problem.ts";

/**
 * The unit that is appended to a setting's name in the program: `timeout` in the file is `timeoutMs` in the program.
 */
export type Unit = "" | "Ms";

export interface Decoder<Value, U extends Unit = ""> {
  /** The accepted values, in words that can follow "expected:". */
  readonly expected: string;
  readonly unit: U;
  /** Returns the value in a form that may be printed. No other function hides secrets. */
  readonly show: (raw: unknown) => unknown;
  /** Converts a string from the environment to the value that the file would have. */
  readonly fromText: (text: string) => unknown;
  /** A JSON Schema of the values in the file; if absent, any value is allowed. */
  readonly json?: Readonly<Record<string, unknown>> | undefined;
  /** `raw` is never null or absent. */
  readonly decode: (raw: unknown, place: Place) => Value | Invalid;
}

/** The result of a test: the value, or a hint for fixing it; the hint is null if `expected` is sufficient. */
export type Tested<Value> =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "wrong"; readonly hint: string | null };

/** Fills in what most decoders have in common: strings from the environment and shown values stay as they are. */
export function decoderOf<Value>(
  own: Pick<Decoder<Value>, "expected" | "decode"> & Partial<Omit<Decoder<Value>, "unit">>,
): Decoder<Value> {
  return { unit: "", show: (raw) => raw, fromText: (text) => text, ...own };
}

/** A decoder that tests a value without looking at its place. */
export function decoder<Value>({
  test,
  ...own
}: Pick<Decoder<Value>, "expected"> &
  Partial<Pick<Decoder<Value>, "show" | "fromText" | "json">> & {
    readonly test: (raw: unknown) => Tested<Value>;
  }): Decoder<Value> {
  const made: Decoder<Value> = decoderOf({
    ...own,
    decode: (raw, place) => {
      const tested = test(raw);
      if (tested.kind === "value") return tested.value;
      return place.fail(foundAt(place, raw, made.show), own.expected, tested.hint);
    },
  });
  return made;
}

export function value<Value>(given: Value): Tested<Value> {
  return { kind: "value", value: given };
}

export function wrong(hint: string | null = null): Tested<never> {
  return { kind: "wrong", hint };
}

/** The `show` function for secrets: shows only whether there is a value. */
export function hidden(raw: unknown): unknown {
  return raw === "" ? "" : HIDDEN;
}
