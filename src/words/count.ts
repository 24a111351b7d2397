/** Formats numbers, such as `1 record`, `1,024 records` or `66 %`. */

/** @param plural required if the plural is not formed with an s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

/** Formats a share from 0 to 1. Shows 100 % only for exactly 1, and 0 % only for exactly 0. */
export function percentText(share: number): string {
  if (share > 0 && share < 0.01) return "<1 %";
  if (share > 0.99 && share < 1) return ">99 %";
  return `${Math.round(share * 100)} %`;
}
