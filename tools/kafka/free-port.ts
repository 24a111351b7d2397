/**
 * A port for a process that is started next and has to be told its port.
 *
 * Until that process listens, two others could take it. A system gives ports to sockets that ask for
 * any; so this one lies below those. And the processes of a test run ask here at the same time; so
 * each port is reserved by a file that only one of them can make.
 */

import { randomInt } from "node:crypto";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import { cacheDirectory } from "./download.ts";

/** Linux gives from 32768, macOS from 49152. */
const LOWEST = 20_000;
const END = 32_768;
const TRIES = 100;
/** Longer than any start takes, after which looking whether it is free is enough. */
const RESERVED_MS = 300_000;
/** Not in the temporary directory, which a test may give its children for themselves. */
const RESERVED = cacheDirectory("ports");

/**
 * A port of 127.0.0.1 that is free now: `preferred` if that is, else one that no process of this
 * machine has been given in the last five minutes. Throws when it finds none.
 */
export async function freePort(preferred = 0): Promise<number> {
  if (preferred !== 0 && (await isFree(preferred))) return preferred;
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = randomInt(LOWEST, END);
    // Before looking: who asks meanwhile may draw the same.
    if (reserve(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port between ${LOWEST} and ${END} on 127.0.0.1 in ${TRIES} tries`);
}

function reserve(port: number): boolean {
  const file = join(RESERVED, String(port));
  try {
    if (Date.now() - statSync(file).mtimeMs > RESERVED_MS) rmSync(file, { force: true });
  } catch {
    // Nobody has reserved it.
  }
  try {
    mkdirSync(RESERVED, { recursive: true });
    writeFileSync(file, "", { flag: "wx" });
    return true;
  } catch (error) {
    // The folder may be another user's: then looking has to do.
    return !(error instanceof Error && "code" in error && error.code === "EEXIST");
  }
}

async function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.on("error", () => resolve(false));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return await promise;
}
