/** When what a test has started ends: with the test, or with its file. Later things end first. */

import { afterAll } from "vitest";

/**
 * Takes the work that ends a thing. `onTestFinished` is one; a test that runs in parallel with others needs that of its
 * own context.
 */
export type Lifetime = (end: () => PromiseLike<void> | void) => void;

/** A lifetime that ends after the last test of a file. To be called outside of tests and hooks. */
export function untilFileEnds(): Lifetime {
  const works: (() => PromiseLike<void> | void)[] = [];
  afterAll(async () => {
    for (const end of works.reverse()) await end();
  });
  return (end) => works.push(end);
}
