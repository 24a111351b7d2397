/** The queries of docs/metrics.md. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT } from "./tracked-texts.ts";

const PAGE = readFileSync(join(ROOT, "docs/metrics.md"), "utf8");
const [, SECTION = ""] = PAGE.split("\n## Queries\n");

export const QUERIES: readonly string[] = [...SECTION.matchAll(/^\|[^|]*\| `(.+)` \|$/gm)].map(
  ([, query = ""]) => query.replaceAll("\\|", "|"),
);
