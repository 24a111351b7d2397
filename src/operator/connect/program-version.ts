/** Reads the version of the program from its package file. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

export function programVersion(): string {
  const text = readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
