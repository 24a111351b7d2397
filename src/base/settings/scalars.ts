/** Decoders of single values: strings, numbers, flags, choices, durations, sizes, and lists of them. */

import { withoutBrackets } from "../../domain/addresses.ts";
import { nearest } from "../../domain/nearest.ts";
import { allValid, foundAt, type Invalid, type Place } from "./config-path.ts";
import { type Decoder, decoder, hidden, type Tested, type Unit, value, wrong } from "./decoder.ts";
import { HIDDEN } from "./problem.ts";

const QUOTE = "put the value in quotes";

/** Decodes a string that `test` accepts; without `test`, any string that is not empty. */
export function text<Value = string>(
  expected: string,
  test: (given: string) => Tested<Value>,
  show: (raw: unknown) => unknown = (raw) => raw,
): Decoder<Value> {
  return decoder({
    expected,
    show,
    json: { type: "string" },
    test: (raw) => {
      if (typeof raw === "number" || typeof raw === "boolean") return wrong(QUOTE);
      return typeof raw === "string" ? test(raw) : wrong();
    },
  });
}

export function textLike(expected: string, pattern: RegExp): Decoder<string> {
  return text(expected, (given) => (pattern.test(given) ? value(given) : wrong()));
}

/** Decodes the address on which a server listens. IPv6 addresses may have brackets. */
export const listenHost = text("an address or a host name", (given) =>
  /^[^\s/]+$/.test(given) ? value(withoutBrackets(given)) : wrong(),
);

/** Invisible characters: whitespace, byte-order marks, joiners and control characters. */
const UNSEEN_AT_AN_END = /^[\s\p{C}]|[\s\p{C}]$/u;

/** Decodes any string that is not empty. The string is never shown. Whitespace around it is kept, with a warning. */
export function secret(expected: string): Decoder<string> {
  const hint = "remove the setting if there is no value";
  const any = text(expected, (given) => (given === "" ? wrong(hint) : value(given)), hidden);
  const decode = (raw: unknown, place: Place): string | Invalid => {
    const decoded = any.decode(raw, place);
    if (typeof decoded === "string" && UNSEEN_AT_AN_END.test(decoded)) {
      const what = "whitespace or another invisible character";
      place.warn(`the secret starts or ends with ${what}, which counts as part of it`);
    }
    return decoded;
  };
  return { ...any, decode };
}

export function wholeNumber(min: number, max: number): Decoder<number> {
  const json = { type: "integer", minimum: min, maximum: max };
  return numberLike(`an integer from ${min} to ${max}`, json, (given) => {
    return Number.isInteger(given) && given >= min && given <= max;
  });
}

/** Decodes a number above zero, which may have a fraction. */
export function rate(max: number): Decoder<number> {
  const json = { type: "number", exclusiveMinimum: 0, maximum: max };
  return numberLike(`a number above 0 and at most ${max}`, json, (given) => {
    return given > 0 && given <= max;
  });
}

/** Decodes a number from 0 to 1. */
export function share(): Decoder<number> {
  const json = { type: "number", minimum: 0, maximum: 1 };
  return numberLike("a number from 0 to 1", json, (given) => given >= 0 && given <= 1);
}

function numberLike(
  expected: string,
  json: Readonly<Record<string, unknown>>,
  accepts: (given: number) => boolean,
): Decoder<number> {
  return decoder({
    expected,
    json,
    fromText: (given) => (/^-?\d+(\.\d+)?$/.test(given) ? Number(given) : given),
    test: (raw) => {
      if (typeof raw === "string" && /^[\d.]+$/.test(raw)) return wrong("write it without quotes");
      return typeof raw === "number" && accepts(raw) ? value(raw) : wrong();
    },
  });
}

export function flag(): Decoder<boolean> {
  return decoder({
    expected: "true or false",
    json: { type: "boolean" },
    fromText: flagFromText,
    test: (raw) => {
      if (typeof raw === "boolean") return value(raw);
      const word = typeof raw === "string" ? BOOLEAN_WORDS[raw.toLowerCase()] : undefined;
      return word === undefined
        ? wrong()
        : wrong(`write ${word}, because ${raw} is a string in YAML 1.2`);
    },
  });
}

/** The Boolean words of YAML 1.1, which YAML 1.2 reads as strings, and `true` and `false` in quotes. */
const BOOLEAN_WORDS: Readonly<Record<string, boolean>> = {
  yes: true,
  on: true,
  y: true,
  true: true,
  no: false,
  off: false,
  n: false,
  false: false,
};

export function flagFromText(given: string): unknown {
  return given === "true" || given === "false" ? given === "true" : given;
}

export function oneOf<const Choice extends string>(...choices: readonly Choice[]): Decoder<Choice> {
  const expected = choices.join(", ").replace(/, ([^,]*)$/, " or $1");
  const any = text(expected, (given) => {
    const choice = choices.find((candidate) => candidate === given);
    if (choice !== undefined) return value(choice);
    const similar = nearest(given, choices);
    return similar === null ? wrong() : wrong(`did you mean ${similar}?`);
  });
  return { ...any, json: { enum: choices } };
}

/** Decodes a string with a unit to milliseconds. */
export function duration(minMs: number, maxMs: number): Decoder<number, "Ms"> {
  const range = `from ${durationText(minMs)} to ${durationText(maxMs)}`;
  const inMs = decoder({
    expected: `a duration with its unit (ms, s, m, h, d), ${range}`,
    json: { type: "string", pattern: DURATION.source },
    test: (raw) => {
      if (typeof raw === "number" && raw > 0) return wrong(`write ${raw}ms or ${raw}s`);
      const ms = typeof raw === "string" ? parseDuration(raw) : null;
      return ms !== null && ms >= minMs && ms <= maxMs ? value(ms) : wrong();
    },
  });
  return { ...inMs, unit: "Ms" };
}

/**
 * Decodes a list of `what`, each of which is decoded by `item`. In the environment, the entries are separated by
 * commas.
 */
export function listOf<Value, U extends Unit>(
  item: Decoder<Value, U>,
  what: string,
  length: { readonly min: number; readonly max: number },
): Decoder<readonly Value[], U> {
  const most = length.max === Number.POSITIVE_INFINITY ? null : length.max;
  const range = length.min === 0 ? "at most" : `${length.min} to`;
  const size = most === null ? "" : `, ${range} ${most} of them`;
  const expected = `a list of ${what}${size}`;
  const show = (raw: unknown) => (Array.isArray(raw) ? raw.map((entry) => item.show(entry)) : raw);
  const decode = (raw: unknown, place: Place): readonly Value[] | Invalid => {
    if (!Array.isArray(raw)) {
      const found = foundAt(place, raw, item.show);
      return place.fail(
        found,
        expected,
        "write [a, b], or each entry on its own line after a dash",
      );
    }
    const values = raw.map((entry, index) => item.decode(entry, place.child(index)));
    if (raw.length < length.min || raw.length > length.max) {
      return place.fail(raw.length === 0 ? "an empty list" : `a list of ${raw.length}`, expected);
    }
    return allValid(values);
  };
  const items = item.json === undefined ? {} : { items: item.json };
  const json = { type: "array", ...items, ...(most && { maxItems: most }) };
  return { expected, unit: item.unit, show, fromText: listFromText, json, decode };
}

/**
 * Decodes a list that may also be one string with commas. If the value contains an `@`, it is hidden, because a comma
 * may have split a password into several entries.
 *
 * @param hint where a user name and a password belong instead.
 */
export function listOrText<Value>(
  entries: Decoder<readonly Value[]>,
  expected: string,
  hint: string,
): Decoder<readonly Value[]> {
  const decode = (raw: unknown, place: Place): readonly Value[] | Invalid => {
    if (JSON.stringify(raw).includes("@")) {
      return place.fail(foundAt(place, HIDDEN), expected, hint);
    }
    return entries.decode(typeof raw === "string" ? entries.fromText(raw) : raw, place);
  };
  return { ...entries, expected, json: { anyOf: [entries.json, { type: "string" }] }, decode };
}

/** Reads a list from the environment, where entries are separated by commas. */
export function listFromText(given: string): readonly string[] {
  return given.split(",").map((entry) => entry.trim());
}

/** Reads a share that is written in percent. @returns a number from 0 to 1. */
export function testShare(given: string): Tested<number> {
  const percent = /^(\d{1,2}(?:\.\d{1,3})?|100)%$/.exec(given)?.[1];
  return percent === undefined ? wrong() : value(Number(percent) / 100);
}

/** Matches durations such as `250ms`, `5s`, `2m`, `4h` and `7d`. */
const DURATION = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/;
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @returns whole milliseconds, or null if the string is not a duration. */
export function parseDuration(text: string): number | null {
  const match = DURATION.exec(text);
  if (match === null) return null;
  const ms = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  // The product is exact enough to detect a fraction of a millisecond.
  const wholeMs = Math.round(ms);
  return Math.abs(ms - wholeMs) < 1e-6 && Number.isSafeInteger(wholeMs) ? wholeMs : null;
}

/** The shortest form of a duration: `90s`, `4h`; `24h` becomes `1d`. */
export function durationText(ms: number): string {
  const units = Object.entries(UNIT_MS).toReversed();
  const [unit, size] = units.find(([, unitMs]) => ms > 0 && ms % unitMs === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}

/** Matches sizes such as `64KiB`, `16MiB`, `1GiB` and `500B`. */
const SIZE = /^(\d{1,12}(?:\.\d{1,6})?)(B|KiB|MiB|GiB)$/;
const UNIT_BYTES = { B: 1, KiB: 1_024, MiB: 1_048_576, GiB: 1_073_741_824 } as const;

/** @returns whole bytes, or null if the string is not a size. */
export function parseSize(text: string): number | null {
  const match = SIZE.exec(text);
  if (match === null) return null;
  const bytes = Number(match[1]) * UNIT_BYTES[match[2] as keyof typeof UNIT_BYTES];
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** The shortest form of a size: `64KiB`, `1GiB`. */
export function sizeText(bytes: number): string {
  const units = Object.entries(UNIT_BYTES).toReversed();
  const [unit, size] = units.find(([, unitBytes]) => bytes > 0 && bytes % unitBytes === 0) ?? [
    "B",
    1,
  ];
  return `${bytes / size}${unit}`;
}

/** Decodes a string with a unit to bytes. */
export function size(min: number, max: number): Decoder<number> {
  return decoder({
    expected: `a size with its unit (B, KiB, MiB, GiB), from ${sizeText(min)} to ${sizeText(max)}`,
    json: { type: "string", pattern: SIZE.source },
    test: (raw) => {
      if (typeof raw === "number" && raw > 0) return wrong(`write ${raw}B, ${raw}KiB or ${raw}MiB`);
      const bytes = typeof raw === "string" ? parseSize(raw) : null;
      return bytes !== null && bytes >= min && bytes <= max ? value(bytes) : wrong();
    },
  });
}

const ID_CHARACTERS_MAX = 200;

/** Decodes the ID of a source or a destination. */
export function id<Id extends string>(): Decoder<Id> {
  return text(`at most ${ID_CHARACTERS_MAX} lower-case letters, digits and dashes`, (given) => {
    return /^[a-z\d-]+$/.test(given) && given.length <= ID_CHARACTERS_MAX
      ? value(given as Id)
      : wrong();
  });
}
