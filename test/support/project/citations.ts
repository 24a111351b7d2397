/**
 * Finds the citations of the project's pages in a text, and the citations that are broken.
 *
 *   a text           cites
 *   any              docs/<page>.md#<anchor>, and pages in the root folder, such as ARCHITECTURE.md
 *   a page           [words](page.md#anchor), [words](#anchor), relative to its own folder
 *
 * Anchors are those that GitHub gives to headings.
 */

import { dirname, join, normalize } from "node:path";

/** The target of a citation. */
export interface Citation {
  /** The path from the root folder of the project. */
  readonly path: string;
  /** Null if the citation is of the whole page. */
  readonly anchor: string | null;
}

const FROM_ROOT =
  /(?<![\w./-])((?:docs\/[\w/-]+|ARCHITECTURE|CONTRIBUTING|README|CHANGELOG|SECURITY)\.(?:md|yaml))(?:#([\w-]+))?/g;
const LINK = /\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)/g;
const FENCED = /^```[\s\S]*?^```/gm;
const HEADING = /^#{1,6} +(.+?) *$/gm;

/** @param path the path of the text from the root folder of the project. */
export function citations(path: string, text: string): readonly Citation[] {
  const found = [...text.matchAll(FROM_ROOT)]
    // The target of a link is relative to the page's folder.
    .filter((match) => !path.endsWith(".md") || !text.slice(0, match.index).endsWith("]("))
    .map(([, page = "", anchor]) => ({ path: page, anchor: anchor ?? null }));
  if (!path.endsWith(".md")) return found;
  const links = [...text.replace(FENCED, "").matchAll(LINK)].map(([, target = "", anchor]) => ({
    path: target === "" ? path : normalize(join(dirname(path), target)),
    anchor: anchor ?? null,
  }));
  return [...found, ...links];
}

/** The anchors of a page's headings. */
export function anchors(page: string): ReadonlySet<string> {
  const known = new Set<string>();
  for (const [, heading = ""] of page.replace(FENCED, "").matchAll(HEADING)) {
    const plain = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
    const slug = plain
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
      .replaceAll(" ", "-");
    let anchor = slug;
    for (let count = 1; known.has(anchor); count += 1) anchor = `${slug}-${count}`;
    known.add(anchor);
  }
  return known;
}

/**
 * The citations whose target does not exist.
 *
 * @param read reads a file of the project; null if it does not exist.
 */
export function leadingNowhere(
  found: readonly Citation[],
  read: (path: string) => string | null,
): readonly string[] {
  return found
    .filter(({ path, anchor }) => {
      const page = read(path);
      return page === null || (anchor !== null && !anchors(page).has(anchor));
    })
    .map(({ path, anchor }) => (anchor === null ? path : `${path}#${anchor}`));
}
