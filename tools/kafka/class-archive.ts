/**
 * The classes that a broker loads, in an archive of Java's class data sharing: with it, a start takes about 60 % of the
 * CPU time. The archive is in the directory of the jars. A broker that starts and stops writes it, once per machine.
 *
 *   the archive                                      then
 *   is missing                                       it is written; other processes wait
 *   is missing, and the directory cannot be written  brokers start without it
 *   could not be written: it is an empty file        it is not used, and not written again
 *   does not fit, such as with another class path    Java ignores it
 *   is of another Java                               it has another name
 */

import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import type { JavaChoice } from "./choose.ts";
import { holdLock } from "./lock.ts";

/** @param write runs a broker that writes the file when it stops. */
export async function ensureClassArchive(
  choice: JavaChoice,
  signal: AbortSignal,
  write: (file: string) => Promise<void>,
): Promise<void> {
  const archive = archivePath(choice);
  if (existsSync(archive) || !isWritable(choice.jars)) return;
  using _lock = await holdLock(`${archive}.lock`, signal, () => undefined);
  if (existsSync(archive)) return;
  const partial = `${archive}.partial`;
  rmSync(partial, { force: true });
  await write(partial).catch(() => {
    signal.throwIfAborted();
    // If a broker cannot start, the start that follows reports it.
    rmSync(partial, { force: true });
  });
  if (!existsSync(partial)) writeFileSync(partial, "");
  renameSync(partial, archive);
}

/** The options for a Java program with these jars. */
export function archiveOptions(choice: JavaChoice): readonly string[] {
  const archive = archivePath(choice);
  const isWritten = (statSync(archive, { throwIfNoEntry: false })?.size ?? 0) > 0;
  return isWritten ? [`-XX:SharedArchiveFile=${archive}`] : [];
}

function archivePath({ java, jars }: JavaChoice): string {
  const path = realpathSync(java);
  const version = `${path} ${statSync(path).mtimeMs}`;
  const name = createHash("sha256").update(version).digest("hex").slice(0, 8);
  return join(jars, `classes-${name}.jsa`);
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
