/**
 * Reads and writes `bench/RESULTS.md`: text written by hand, then the latest table of each bench under a separate
 * heading. Also lists the files that each bench measures: if they change, its table is outdated.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILE = join(import.meta.dirname, "RESULTS.md");
const CONSUMING = ["src/kafka", "src/router/stage"];
const ALL_STAGES = [
  ...CONSUMING,
  "src/router/route",
  "src/router/deliver",
  "src/router/delay",
  "src/base/runtime",
];

/** The folders and files that each bench measures, relative to the project. */
export const MEASURED_PATHS: Readonly<Record<string, readonly string[]>> = {
  product: ALL_STAGES,
  everyday: ALL_STAGES,
  route: [...CONSUMING, "src/router/route"],
  starts: [...CONSUMING, "src/router/route"],
  deliver: [...CONSUMING, "src/router/deliver", "src/router/destinations", "src/base/http"],
  ingest: ["src/router/ingest", "src/kafka/produce"],
  audience: ["src/router/audience"],
  "audience-10m": ["src/router/audience"],
  isolation: ALL_STAGES,
  "isolation-1000": ALL_STAGES,
  "isolation-cluster": ALL_STAGES,
  destinations: ALL_STAGES,
  suppression: ["src/router/suppression"],
  order: [...ALL_STAGES, "src/router/order"],
  audit: [...ALL_STAGES, "src/router/ledger", "src/operator/audit"],
  "destinations-cluster": ALL_STAGES,
  cluster: ALL_STAGES,
  peers: [...CONSUMING, "src/router/deliver", "src/router/delay", "src/base/http"],
  "router-isolation": [...CONSUMING, "src/router/deliver", "src/router/delay", "src/base/http"],
};

/** Returns the commit on which a part was measured, from its first line; null if the line names none. */
export function commitOf(part: string): string | null {
  return (
    /^`npm run bench [^`]+`, \d{4}-\d\d-\d\d, commit ([0-9a-f]{7,40})\. /.exec(part)?.[1] ?? null
  );
}

/** Returns the parts of `RESULTS.md` by the names of their benches. */
export function results(): ReadonlyMap<string, string> {
  return readParts(readFileSync(FILE, "utf8"));
}

/** Replaces the part of a bench. The parts are in the order of `names`; those of former benches follow. */
export function writeResult(names: readonly string[], name: string, text: string): void {
  const parts = new Map(results());
  parts.set(name, text.trim());
  const present = names.filter((each) => parts.has(each));
  const former = [...parts.keys()].filter((each) => !names.includes(each));
  const body = [...present, ...former].map((each) => `## ${each}\n\n${parts.get(each)}\n`);
  const [byHand = ""] = readFileSync(FILE, "utf8").split(/^## /m, 1);
  writeFileSync(FILE, [`${byHand.trimEnd()}\n`, ...body].join("\n"));
}

function readParts(text: string): Map<string, string> {
  const [, ...parts] = text.split(/^## /m);
  return new Map(
    parts.map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end).trim(), part.slice(end).trim()];
    }),
  );
}
