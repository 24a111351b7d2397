/**
 * Watches files in two ways at the same time.
 *
 *   way                                    detects
 *   inotify or its equivalent, on the      a write, a replaced file, or a replaced symbolic link, as in
 *   folders on the way to a file           Kubernetes, within milliseconds
 *   checking every second                  the same if no event arrives: network mounts, too many
 *                                          watches, a folder that did not exist yet
 *
 * Files may be large, so a file is read again only if its times, size or inode have changed, or if it was written
 * within the two seconds before it was last read. In addition, each file is read once a minute.
 *
 * Only the content counts, so a changed time alone is not a change. A change is reported when the content has been
 * stable for 100 ms, or after a second, because a writer may need several writes. If there are more than a hundred
 * files, they are checked less often: a hundred per second on average. The content of a folder is the list of its file
 * names. A pipe or a device is never read, because reading would empty it.
 */

import { createHash } from "node:crypto";
import { type FSWatcher, lstatSync, readlinkSync, watch } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { setTimeout as timer } from "node:timers/promises";

const LOOK_EVERY_MS = 1_000;
const FILES_A_SECOND = 100;
const SETTLE_MS = 100;
const SETTLE_LOOKS_MAX = 10;
/** Larger files are compared by their times and size. */
const READ_MAX_BYTES = 64 * 1_048_576;
const LINKS_MAX = 40;
/** The resolution of file times, which is two seconds on some file systems. */
const TIMES_COARSE_MS = 2_000;
const READ_EVERY_MS = 60_000;

/** For each file, a digest of the content that was read, and the period in which the file need not be read again. */
type Digests = Map<
  string,
  {
    readonly seen: string;
    readonly digest: string;
    readonly fromMs: number;
    readonly untilMs: number;
  }
>;

export interface FileWatch extends Disposable {
  /** Sets the files to watch. */
  follow(files: readonly string[]): void;
}

/**
 * Calls `onChange` once when watching starts, because a file may have changed before that.
 *
 * @param files absolute paths; they need not exist.
 * @param onChange called after each change, but not before an earlier call has resolved. Never rejects.
 */
export function watchFiles(files: readonly string[], onChange: () => Promise<void>): FileWatch {
  const stopped = new AbortController();
  let followed = [...files];
  const digests: Digests = new Map();
  let entries = new Map<string, Set<string>>();
  let folders = new Map<string, FSWatcher>();
  /** Aborting this ends the wait for the next check. */
  let soon = new AbortController();

  const watchFolders = () => {
    const before = folders;
    entries = entriesOnTheWay(followed);
    folders = new Map();
    for (const folder of entries.keys()) {
      const known = before.get(folder);
      before.delete(folder);
      const watcher =
        known ??
        watchFolder(folder, (name) => {
          if (name === null || entries.get(folder)?.has(name) === true) soon.abort();
        });
      if (watcher !== null) folders.set(folder, watcher);
    }
    for (const watcher of before.values()) watcher.close();
  };
  const pause = async (ms: number) => {
    await timer(ms, undefined, { signal: stopped.signal }).catch(() => undefined);
  };
  const settled = async (first: string) => {
    let content = first;
    for (let looks = 0; looks < SETTLE_LOOKS_MAX && !stopped.signal.aborted; looks += 1) {
      await pause(SETTLE_MS);
      const next = await contentOf(followed, digests);
      if (next === content) break;
      content = next;
    }
    return content;
  };
  const live = async () => {
    let seen = "";
    while (!stopped.signal.aborted) {
      watchFolders();
      soon = new AbortController();
      let content = await contentOf(followed, digests);
      if (content !== seen) {
        if (seen !== "") content = await settled(content);
        seen = content;
        if (!stopped.signal.aborted) await onChange();
        // The new content may name other files, which were read before they were watched.
        continue;
      }
      const everyMs = Math.max(LOOK_EVERY_MS, (followed.length * 1_000) / FILES_A_SECOND);
      const wait = AbortSignal.any([stopped.signal, soon.signal]);
      await timer(everyMs, undefined, { signal: wait }).catch(() => undefined);
    }
    for (const watcher of folders.values()) watcher.close();
  };
  void live();
  return {
    follow: (changed) => {
      followed = [...changed];
    },
    [Symbol.dispose]: () => stopped.abort(),
  };
}

/** Null if the folder cannot be watched. Its files are still checked regularly. */
function watchFolder(folder: string, onEvent: (name: string | null) => void): FSWatcher | null {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => onEvent(name));
    // The folder is gone, or there are too many watches.
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return null;
  }
}

/** Returns, for each folder, the files, subfolders and links in the folder that are on the way to a file. */
function entriesOnTheWay(files: readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  const add = (path: string) => {
    const folder = dirname(path);
    found.set(folder, (found.get(folder) ?? new Set()).add(basename(path)));
  };
  for (const file of files) {
    let path: string | null = file;
    for (let links = 0; path !== null && links < LINKS_MAX; links += 1) {
      add(path);
      path = behindLink(path, add);
    }
  }
  return found;
}

/** Returns the path with its last symbolic link replaced by the link's target; null if the path contains no link. */
function behindLink(path: string, add: (link: string) => void): string | null {
  for (let part = path; part !== dirname(part); part = dirname(part)) {
    const target = linkOf(part);
    if (target === null) continue;
    add(part);
    return join(resolve(dirname(part), target), path.slice(part.length));
  }
  return null;
}

/** Null if the path is not a symbolic link, or does not exist. */
function linkOf(path: string): string | null {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : null;
  } catch {
    return null;
  }
}

/** Returns a string that differs if a file has changed. The string is never empty. */
async function contentOf(files: readonly string[], digests: Digests): Promise<string> {
  for (const file of digests.keys()) if (!files.includes(file)) digests.delete(file);
  const hash = createHash("sha256");
  for (const file of files)
    hash
      .update(file)
      .update("\0")
      .update(await digestOf(file, digests));
  return hash.digest("base64");
}

async function digestOf(file: string, digests: Digests): Promise<string> {
  try {
    const found = await stat(file);
    const { ino, size, mtimeMs, ctimeMs } = found;
    // The names are included because a new file in a folder may match a pattern.
    if (found.isDirectory()) return `folder ${(await readdir(file)).sort().join("/")}`;
    if (!found.isFile()) return `no file ${ino}`;
    if (size > READ_MAX_BYTES) return `large ${ino} ${size} ${mtimeMs}`;
    const seen = `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
    const nowMs = Date.now();
    const before = digests.get(file);
    if (before?.seen === seen && nowMs >= before.fromMs && nowMs < before.untilMs)
      return before.digest;
    const digest = createHash("sha256")
      .update(await readFile(file))
      .digest("base64");
    const isCertain = nowMs - Math.max(mtimeMs, ctimeMs) > TIMES_COARSE_MS;
    const untilMs = isCertain ? nowMs + READ_EVERY_MS : nowMs;
    digests.set(file, { seen, digest, fromMs: nowMs, untilMs });
    return digest;
  } catch (error) {
    if (error instanceof Error && "code" in error) return `unreadable ${String(error.code)}`;
    throw error;
  }
}
