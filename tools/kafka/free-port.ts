/**
 * Chooses a port for a process that is started with its port as a setting.
 *
 * Until this process listens, its port could be taken in two ways. The system assigns ports to sockets that request any
 * port, so the chosen port is below that range. Other processes of a test run choose ports at the same time, so each
 * port is reserved with a file that only one process can create.
 */

import { randomInt } from "node:crypto";
import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import { cacheDirectory } from "./download.ts";

/** Linux assigns ports from 32768 on, macOS from 49152. */
const LOWEST = 20_000;
const END = 32_768;
const TRIES = 100;
/** This is longer than any start takes. After that, checking whether the port is free is sufficient. */
const RESERVED_MS = 300_000;
/** This is not in the temporary directory, because a test may set another temporary directory for its children. */
const RESERVED = cacheDirectory("ports");

/**
 * Returns a free port of 127.0.0.1: `preferred` if it is free, otherwise one that no process on this
 * machine has got in the last five minutes. Throws if it finds none.
 */
export async function freePort(preferred = 0): Promise<number> {
  if (preferred !== 0 && (await isFree(preferred))) return preferred;
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = randomInt(LOWEST, END);
    // Reserve the port before the check, because another process may try the same port.
    if (reserve(port) && (await isFree(port))) return port;
  }
  throw new Error(`no free port between ${LOWEST} and ${END} on 127.0.0.1 in ${TRIES} tries`);
}

function reserve(port: number): boolean {
  const file = join(RESERVED, String(port));
  try {
    if (Date.now() - statSync(file).mtimeMs > RESERVED_MS) rmSync(file, { force: true });
  } catch {
    // The port is not reserved.
  }
  try {
    mkdirSync(RESERVED, { recursive: true });
    writeFileSync(file, "", { flag: "wx" });
    return true;
  } catch (error) {
    // The folder may belong to another user. Then the check has to be sufficient.
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
