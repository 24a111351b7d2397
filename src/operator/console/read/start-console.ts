/**
 * Starts the console with the configuration and the Kafka connection of a process. `npm run build:page` builds the
 * files for the browser, which are a document and the assets that it loads.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { programVersion } from "../../connect/program-version.ts";
import type { PageFile, PageFiles } from "../ports.ts";
import { type ConsoleDeps, type RunningConsole, startConsole } from "../stage.ts";
import { createActionRunner } from "./action-runner.ts";
import { type ConsoleReaderOptions, createConsoleReader } from "./console-reader.ts";

/**
 * Resolves when the console is listening.
 *
 * @param port replaces the configured port.
 * @throws Error if the console cannot listen, or if the files have not been built.
 */
export async function startConfiguredConsole(
  options: ConsoleReaderOptions,
  { clock, log }: Pick<ConsoleDeps, "clock" | "log">,
  port?: number,
): Promise<RunningConsole> {
  const { config } = options.current();
  const deps = {
    reader: createConsoleReader(options),
    runner: createActionRunner(options),
    files: readPageFiles(),
  };
  const settings = { ...config.console, port: port ?? config.console.port };
  return await startConsole({ ...deps, clock, log }, { ...settings, version: programVersion() });
}

const PAGE_FOLDER = join(import.meta.dirname, "../../../../dist/page");
const DOCUMENT = "index.html";
const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** @throws Error that names the command for building the files, if they are missing. */
export function readPageFiles(folder: string = PAGE_FOLDER): PageFiles {
  let names: readonly string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw new Error(`The console is not built (${folder} is missing). Run: npm run build:page`, {
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
    throw new Error(`The console has no ${DOCUMENT} in ${folder}. Run: npm run build:page`);
  }
  all.delete(DOCUMENT);
  // The addresses in the document are relative, because a proxy may serve the console below a path.
  const deeper = document.bytes.toString().replaceAll(/(href|src)="assets\//g, '$1="../assets/');
  return { document, deeper: pageFile(document.type, Buffer.from(deeper)), assets: all };
}

/** Compresses the file once, with the best compression, because the file is sent often. */
function pageFile(type: string, bytes: Buffer): PageFile {
  return { type, bytes, gzip: gzipSync(bytes, { level: 9 }) };
}
