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
