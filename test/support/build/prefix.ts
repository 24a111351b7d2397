/** Topics of tests: all tests share one broker, so each works under a prefix of its own. */

import { randomBytes } from "node:crypto";

/** A topic prefix that no other test has, such as `route-3f9c2a1b.`; `name` says whose it is. */
export function uniquePrefix(name: string): string {
  return `${name}-${randomBytes(4).toString("hex")}.`;
}
