/** Shares of something, written in percent. */

import { type Tested, value, wrong } from "./decoder.ts";

/** @returns from 0 to 1. */
export function testShare(given: string): Tested<number> {
  const percent = /^(\d{1,2}(?:\.\d{1,3})?|100)%$/.exec(given)?.[1];
  return percent === undefined ? wrong() : value(Number(percent) / 100);
}
