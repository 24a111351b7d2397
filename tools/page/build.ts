/**
 * Builds the console's page from `src/operator/console/page` in `dist/page`: a document, one script and one
 * style sheet, with a hash of the content in their names.
 *
 *   dist/page                          then
 *   was built from the same sources    nothing: comparing them takes some milliseconds
 *   otherwise                          it is built in another folder, and then moved into place
 */

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "src/operator/console/page");
/** The folders from which the page imports types and tables. */
const SHARED = ["src/operator/console", "src/operator/look", "src/base/words", "src/domain"];
const OUT = join(ROOT, "dist/page");
/** The file with the hash of the sources from which the page was built. */
const STAMP = "built-from.txt";
const TITLE = "Switchyard";

export interface BuiltPage {
  /** False if the page had already been built. */
  readonly isNew: boolean;
  /** Total compressed size. */
  readonly gzipBytes: number;
}

/** Resolves when `dist/page` is up to date. */
export async function buildPage(out: string = OUT): Promise<BuiltPage> {
  const sources = hashOfSources();
  if (stampOf(out) === sources) return { isNew: false, gzipBytes: gzipBytes(out) };
  const files = await bundle();
  // Several tests may build the page at the same time, with the same result.
  const beside = `${out}.${process.pid}`;
  mkdirSync(beside, { recursive: true });
  for (const [name, content] of files) writeFileSync(join(beside, name), content);
  writeFileSync(join(beside, STAMP), sources);
  replace(beside, out);
  return { isNew: true, gzipBytes: gzipBytes(out) };
}

function replace(beside: string, out: string): void {
  const before = `${out}.${process.pid}.before`;
  try {
    renameSync(out, before);
  } catch {
    // No earlier build exists.
  }
  try {
    renameSync(beside, out);
  } catch {
    // Another process was faster.
    rmSync(beside, { recursive: true, force: true });
  }
  rmSync(before, { recursive: true, force: true });
}

async function bundle(): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const { outputFiles } = await build({
    entryPoints: { app: join(PAGE, "main.tsx") },
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    write: false,
    outdir: OUT,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    tsconfig: join(PAGE, "tsconfig.json"),
    legalComments: "none",
    logLevel: "silent",
  });
  const files = new Map<string, string | Uint8Array>();
  const names = new Map<string, string>();
  for (const { path, contents } of outputFiles) {
    const kind = path.endsWith(".css") ? "css" : "js";
    const name = `app-${hash(contents).slice(0, 12)}.${kind}`;
    files.set(name, contents);
    names.set(kind, name);
  }
  const icon = readFileSync(join(PAGE, "icon.svg"));
  const iconName = `icon-${hash(icon).slice(0, 12)}.svg`;
  files.set(iconName, icon);
  files.set("index.html", documentOf(names.get("js") ?? "", names.get("css") ?? "", iconName));
  return files;
}

function documentOf(script: string, styles: string, icon: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${TITLE}</title>
<link rel="icon" href="assets/${icon}">
<link rel="stylesheet" href="assets/${styles}">
<script type="module" src="assets/${script}"></script>
</head>
<body>
<div id="app"></div>
<noscript>This page needs JavaScript. Without it: switchyard status</noscript>
</body>
</html>
`;
}

function hashOfSources(): string {
  const digest = createHash("sha256");
  const folders = [...SHARED, "src/operator/console/page", "tools/page"];
  for (const folder of folders) {
    const names = readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .sort();
    for (const name of names) {
      digest
        .update(name)
        .update("\0")
        .update(readFileSync(join(ROOT, folder, name)));
    }
  }
  digest.update(readFileSync(join(ROOT, "package.json")));
  return digest.digest("hex");
}

function stampOf(out: string): string | null {
  try {
    return readFileSync(join(out, STAMP), "utf8");
  } catch {
    return null;
  }
}

function gzipBytes(out: string): number {
  return readdirSync(out)
    .filter((name) => name !== STAMP)
    .reduce((sum, name) => sum + gzipSync(readFileSync(join(out, name))).length, 0);
}

function hash(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

if (import.meta.main) {
  const { isNew, gzipBytes: bytes } = await buildPage();
  const size = `${Math.round(bytes / 1_024)} KiB compressed`;
  process.stdout.write(`${isNew ? "built" : "already built"}: dist/page, ${size}\n`);
}
