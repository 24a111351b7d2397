/**
 * The table of values in the chart's README, from the comments of `values.yaml`.
 *
 *   in values.yaml                               in the table
 *   a comment above a key                        its meaning
 *   a map, some of whose keys have comments      a row for each of these, `map.key`
 *   any other value                              its default, as JSON
 *   a key without a comment                      an error: `npm run docs` fails
 */

import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from "yaml";
import { pageWith, readPage } from "./page.ts";

const CHART = "deploy/helm/switchyard";

export function renderChartReadme(): string {
  const values = valuesTable(readPage(`${CHART}/values.yaml`));
  return pageWith(`${CHART}/README.md`, { values });
}

/** @throws Error if a key has no comment. */
export function valuesTable(text: string): string {
  const { contents } = parseDocument(text);
  if (!isMap(contents)) throw new Error("values.yaml is no map");
  const rows = rowsOf(contents, []);
  return `| Value | Default | Meaning |\n|---|---|---|\n${rows.join("")}`;
}

function rowsOf(map: YAMLMap, path: readonly string[]): readonly string[] {
  return map.items.flatMap((pair, index) => {
    const key = keyOf(pair);
    const name = [...path, key].join(".");
    // The comment above the first key belongs to its map.
    const own = isScalar(pair.key) ? pair.key.commentBefore : undefined;
    const comment = own ?? (index === 0 && path.length > 0 ? map.commentBefore : undefined);
    const meaning = wordsOf(comment, path.length === 0 && index === 0);
    if (isMap(pair.value) && hasComments(pair.value)) return rowsOf(pair.value, [...path, key]);
    if (meaning === "") throw new Error(`values.yaml has no comment for ${name}`);
    const value = JSON.stringify(pair.value).replaceAll("|", "\\|");
    return [`| \`${name}\` | \`${value}\` | ${meaning.replaceAll("|", "\\|")} |\n`];
  });
}

function keyOf({ key }: Pair): string {
  return String(isScalar(key) ? key.value : key);
}

function hasComments(map: YAMLMap): boolean {
  const inside = map.items.some(({ key, value }) => {
    return (isScalar(key) && key.commentBefore) || (isMap(value) && hasComments(value));
  });
  return inside || Boolean(map.commentBefore);
}

/** Joins the lines of a comment. Of the first comment in the file, only the part after the blank line is used. */
function wordsOf(comment: string | null | undefined, isFirst: boolean): string {
  const parts = (comment ?? "").split(/\n\s*\n/);
  const text = (isFirst ? parts.at(-1) : comment) ?? "";
  return text
    .split("\n")
    .map((line) => line.trim())
    .join(" ")
    .trim();
}
