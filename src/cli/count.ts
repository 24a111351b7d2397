/** A number and its noun, as people say them: `1 record`, `1,024 records`. */

/** @param plural where it does not end in one more s. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : plural}`;
}
