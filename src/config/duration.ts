/** Durations as people write them: `250ms`, `5s`, `2m`, `4h`, `7d`. */

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** @returns whole milliseconds, or null when the text is no duration. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,12}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(text);
  if (match === null) return null;
  const ms = Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
  // `0.1s` times 1000 is exact enough to see whether a part of a millisecond is left.
  const wholeMs = Math.round(ms);
  return Math.abs(ms - wholeMs) < 1e-6 && Number.isSafeInteger(wholeMs) ? wholeMs : null;
}

/** The shortest form: `90s`, `4h`; `24h` is `1d`. */
export function durationText(ms: number): string {
  const units = Object.entries(UNIT_MS).toReversed();
  const [unit, size] = units.find(([, unitMs]) => ms > 0 && ms % unitMs === 0) ?? ["ms", 1];
  return `${ms / size}${unit}`;
}
