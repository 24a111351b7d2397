/** Numbers as people say them: `1 record`, `1,024 records`, `66 %`. */

/** @param plural where it does not end in one more s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}

/** Part of a whole, from 0 to 1. Only all of it is 100 %, and only nothing is 0 %. */
export function percentText(share: number): string {
  if (share > 0 && share < 0.01) return "<1 %";
  if (share > 0.99 && share < 1) return ">99 %";
  return `${Math.round(share * 100)} %`;
}
