/**
 * A lock between processes: a file that contains the process ID of its owner.
 *
 * The file is created by linking a complete file, so that no process can read an incomplete ID. If a process has ended
 * without releasing the lock, the next process that finds the file moves it away.
 */

import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { isAlive } from "./process.ts";

const INTERVAL_MS = 200;

/** Waits until the lock is free, then holds it until it is disposed of. */
export async function holdLock(
  path: string,
  signal: AbortSignal,
  onWait: (owner: number) => void,
): Promise<Disposable> {
  mkdirSync(dirname(path), { recursive: true });
  let reported = false;
  for (;;) {
    if (tryLock(path)) return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
    const owner = ownerOf(path);
    if (owner !== null && !isAlive(owner)) {
      moveAside(path);
      continue;
    }
    if (owner !== null && !reported) onWait(owner);
    reported = true;
    await sleep(INTERVAL_MS, undefined, { signal });
  }
}

function tryLock(path: string): boolean {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, String(process.pid));
  try {
    linkSync(mine, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}

function ownerOf(path: string): number | null {
  try {
    return Number(readFileSync(path, "utf8"));
  } catch {
    return null; // given back just now
  }
}

function moveAside(path: string): void {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return; // somebody else did
  }
  // Another process may have taken the lock between the check and the move. Then the file is moved back.
  const owner = ownerOf(aside);
  if (owner !== null && isAlive(owner)) renameSync(aside, path);
  else rmSync(aside, { force: true });
}
