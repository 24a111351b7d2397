/**
 * A port for a process that is started next and has to be told its port.
 *
 * Nobody keeps it meanwhile. So it is taken from below those that systems give to sockets that ask
 * for any: one of these is easily an outgoing connection's, or another test's server's, when the
 * process comes to listen.
 */

import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Linux gives from 32768, macOS and Windows from 49152. */
const LOWEST = 20_000;
const END = 32_768;
const TRIES = 100;

const looked = new Set<number>();

/**
 * A port of 127.0.0.1 that is free now: `preferred` if that is, else one that this process has not
 * been given before. Throws when it finds none.
 */
export async function freePort(preferred = 0): Promise<number> {
  if (preferred !== 0 && (await isFree(preferred))) return preferred;
  for (let tried = 0; tried < TRIES; tried += 1) {
    const port = randomInt(LOWEST, END);
    if (looked.has(port)) continue;
    // Before looking: who asks meanwhile may draw the same.
    looked.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${LOWEST} and ${END} on 127.0.0.1 in ${TRIES} tries`);
}

async function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.on("error", () => resolve(false));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return await promise;
}
