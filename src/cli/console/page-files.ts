/** The page as it was built (`npm run build:page`): a document, and what it loads. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import type { PageFile, PageFiles } from "../../console/ports.ts";

const PAGE_FOLDER = join(import.meta.dirname, "../../../dist/page");
const DOCUMENT = "index.html";
const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** @throws Error saying how to build it when it is not there. */
export function readPageFiles(folder: string = PAGE_FOLDER): PageFiles {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw new Error(`The page is not built (${folder} is missing). Run: npm run build:page`, {
      cause: error,
    });
  }
  const files = names.flatMap((name) => {
    const type = TYPES[/\.\w+$/.exec(name)?.[0] ?? ""];
    if (type === undefined) return [];
    return [[name, pageFile(type, readFileSync(join(folder, name)))] as const];
  });
  const all = new Map(files);
  const document = all.get(DOCUMENT);
  if (document === undefined) {
    throw new Error(`The page has no ${DOCUMENT} in ${folder}. Run: npm run build:page`);
  }
  all.delete(DOCUMENT);
  // It loads from relative addresses, since a proxy may serve all of it below a path.
  const deeper = document.bytes.toString().replaceAll(/(href|src)="assets\//g, '$1="../assets/');
  return { document, deeper: pageFile(document.type, Buffer.from(deeper)), assets: all };
}

/** Compressed once, with the effort that a file deserves that is sent often. */
function pageFile(type: string, bytes: Buffer): PageFile {
  return { type, bytes, gzip: gzipSync(bytes, { level: 9 }) };
}
