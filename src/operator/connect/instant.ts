/** Parses times in the values of options, such as `2026-03-01T09:30Z`, or `2h` for two hours ago. */

import { parseDuration } from "../../base/settings/scalars.ts";
import { readTimestamp } from "../../domain/timestamp.ts";

export const INSTANT_FORM =
  "a time such as 2026-03-01T09:30Z (without a zone: UTC), or how long ago, such as 30m, 2h or 7d";

/** Milliseconds since the epoch; null if the text is neither a time nor a duration. */
export function parseInstant(text: string, nowMs: number): number | null {
  const agoMs = parseDuration(text);
  return agoMs === null ? readTimestamp(text) : nowMs - agoMs;
}

/** Formats a time in UTC with seconds, such as `2026-03-01 09:30:15`. */
export function instantText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace("T", " ");
}
