/** Names of replays. */

import { randomBytes } from "node:crypto";

/** Sorts by time: `20260301-093015-3f9c`. */
export function newReplayName(): string {
  const [date = "", time = ""] = new Date().toISOString().slice(0, 19).split("T");
  const stamp = `${date.replaceAll("-", "")}-${time.replaceAll(":", "")}`;
  return `${stamp}-${randomBytes(2).toString("hex")}`;
}
