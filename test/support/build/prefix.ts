/** Prefixes for the topics of tests. All tests share one broker, so each test uses a separate prefix. */

import { randomBytes } from "node:crypto";

/** A topic prefix that no other test has, such as `route-3f9c2a1b.`; `name` identifies the test. */
export function uniquePrefix(name: string): string {
  return `${name}-${randomBytes(4).toString("hex")}.`;
}
