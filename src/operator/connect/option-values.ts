/** Parses the values of options that several commands have. Errors are printed with the option's name. */

import { InvalidArgumentError } from "commander";

import { durationText, parseDuration } from "../../base/settings/scalars.ts";
import { INSTANT_FORM, parseInstant } from "./instant.ts";

/** Milliseconds since the epoch. @throws InvalidArgumentError */
export function instant(text: string): number {
  const atMs = parseInstant(text, Date.now());
  if (atMs !== null) return atMs;
  throw new InvalidArgumentError(`"${text}" is not a time. Expected ${INSTANT_FORM}.`);
}

/** Returns a function that parses an option's value into milliseconds. @throws InvalidArgumentError */
export function durationWithin(minMs: number, maxMs: number): (text: string) => number {
  return (text) => {
    const ms = parseDuration(text);
    if (ms !== null && ms >= minMs && ms <= maxMs) return ms;
    const range = `from ${durationText(minMs)} to ${durationText(maxMs)}`;
    throw new InvalidArgumentError(`"${text}" is not a duration ${range}, such as 30s, 5m or 2h.`);
  };
}

/** @throws InvalidArgumentError */
export function wholeNumber(text: string, min: number, max = 999_999_999_999): number {
  const number = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new InvalidArgumentError(`"${text}" is not an integer from ${min} to ${max}.`);
}

/** Parses a rate, within the same limits as a destination's `requestsPerSecond`. @throws InvalidArgumentError */
export function perSecond(text: string): number {
  return wholeNumber(text, 1, 1_000_000);
}

/** Collects the values of a repeatable option. */
export function repeated(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

/** Collects the values of a repeatable option that accepts only known names, such as `a call type`. */
export function repeatedOf<Name extends string>(known: readonly Name[], what: string) {
  return (text: string, earlier: readonly Name[] = []): readonly Name[] => {
    const name = known.find((each) => each === text);
    if (name !== undefined) return [...earlier, name];
    throw new InvalidArgumentError(
      `"${text}" is not ${what}. Expected one of ${known.join(", ")}.`,
    );
  };
}

/** @throws InvalidArgumentError */
export function replayName(text: string): string {
  if (/^[\w-]{1,60}$/.test(text)) return text;
  throw new InvalidArgumentError(
    `"${text}" is not the name of a replay, such as 20260301-093015-3f9c82d1.`,
  );
}
