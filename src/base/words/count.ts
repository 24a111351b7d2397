/** Formats numbers, lists and ages, such as `1,024 records`, `66 %`, `a, b, 7 more` or `2h 5m`. */

const NAMES_MAX = 50;
const PLACES_MAX = 3;

/** @param plural required if the plural is not formed with an s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

/** Formats a share from 0 to 1. Shows 100 % only for exactly 1, and 0 % only for exactly 0. */
function percentText(share: number): string {
  if (share > 0 && share < 0.01) return "<1 %";
  if (share > 0.99 && share < 1) return ">99 %";
  return `${Math.round(share * 100)} %`;
}

/** Formats the share of failed attempts of a failing destination or endpoint. */
export function failedShareText(share: number): string {
  if (share === 0) return "recovering, no attempt failed in the last minute";
  return `${percentText(share)} of attempts in the last minute`;
}

/**
 * Returns the first 50 names, and how many more there are. Otherwise, a log line with the topics of 10,000 destinations
 * would have 350 KB.
 */
export function firstNames(names: readonly string[]): readonly string[] {
  const left = names.length - NAMES_MAX;
  return left <= 0 ? names : [...names.slice(0, NAMES_MAX), `${left.toLocaleString("en")} more`];
}

/**
 * Joins sentences that are equal except for the entry that they are about, such as `destinations[7]`, because 10,000
 * destinations may have the same problem.
 */
export function joinEqual(sentences: readonly string[]): readonly string[] {
  const placeOf = (sentence: string) => /^.*?\[\d+\]\S*(?=: )/.exec(sentence)?.[0] ?? "";
  const byText = Map.groupBy(sentences, (sentence) => sentence.slice(placeOf(sentence).length));
  return [...byText].map(([text, equal]) => {
    const places = [...new Set(equal.map(placeOf))];
    const left = places.length - PLACES_MAX;
    const more = left > 0 ? ` and ${left.toLocaleString("en")} more` : "";
    return `${places.slice(0, PLACES_MAX).join(", ")}${more}${text}`;
  });
}

/** Formats how long something has lasted, in at most two units, such as `0s`, `45s`, `3m 20s`, `2h 5m` or `3d 4h`. */
const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
  ["s", 1],
] as const;

export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const at = UNITS.findIndex(([, size]) => seconds >= size);
  const [unit, size] = UNITS[at] ?? ["s", 1];
  const next = UNITS[at + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[1]);
  const first = `${Math.floor(seconds / size)}${unit}`;
  return next === undefined || rest === 0 ? first : `${first} ${rest}${next[0]}`;
}
