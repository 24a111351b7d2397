/**
 * An ordered store in a directory, by LevelDB. One process at a time can have it open.
 *
 *   opening fails because                 then
 *   another process has it open           throws `StoreInUseError`: wait, or use another directory
 *   it is damaged, or cannot be read      throws; `removeStore` makes room for a new one
 */

import { mkdir, rm } from "node:fs/promises";
import { ClassicLevel } from "classic-level";

import { StoreError, type StoreFailure } from "../../domain/store-error.ts";
import { type Change, type Entry, type OrderedStore, StoreInUseError } from "./ordered-store.ts";

// All are per store: a process may own many partitions.
/** Look-ups in order need a block again at once, or not any more. */
const CACHE_BYTES = 2 * 1_024 * 1_024;
const WRITE_BUFFER_BYTES = 4 * 1_024 * 1_024;
/**
 * Tables of 2 MiB. Each that is open counts as memory of the process; ten more are LevelDB's own.
 */
const FILES_OPEN_MAX = 64 + 10;
const PIECE_ENTRIES = 1_000;
const PIECE_BYTES = 64 * 1_024;

/** Makes the directory when it is missing. The caller closes the store. */
export async function openLevelStore(directory: string): Promise<OrderedStore> {
  await guarded(directory, "opened", () => mkdir(directory, { recursive: true }));
  const level = new ClassicLevel<string, string>(directory, {
    cacheSize: CACHE_BYTES,
    writeBufferSize: WRITE_BUFFER_BYTES,
    maxOpenFiles: FILES_OPEN_MAX,
  });
  try {
    await level.open();
  } catch (cause) {
    if (isLocked(cause)) {
      throw new StoreInUseError(`the store in ${directory} is open in another process`, { cause });
    }
    throw storeError(directory, "opened", cause);
  }
  return new LevelStore(level, directory);
}

/** Removes a store that is not open, with all that is in its directory. */
export async function removeStore(directory: string): Promise<void> {
  await guarded(directory, "removed", () => rm(directory, { recursive: true, force: true }));
}

class LevelStore implements OrderedStore {
  readonly #level: ClassicLevel<string, string>;
  readonly #directory: string;
  /** Look-ups go there and back: the tables that were looked into last are still open. */
  #isBackwards = false;

  constructor(level: ClassicLevel<string, string>, directory: string) {
    this.#level = level;
    this.#directory = directory;
  }

  async getMany(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    if (isAscending(keys)) return await this.#getSorted(keys);
    const sorted = [...new Set(keys)].sort();
    const values = await this.#getSorted(sorted);
    const byKey = new Map(sorted.map((key, index) => [key, values[index]]));
    return keys.map((key) => byKey.get(key));
  }

  async #getSorted(keys: readonly string[]): Promise<(string | undefined)[]> {
    const isBackwards = this.#isBackwards;
    this.#isBackwards = !isBackwards;
    const ordered = isBackwards ? keys.toReversed() : [...keys];
    const values = await guarded(this.#directory, "read", () => this.#level.getMany(ordered));
    return isBackwards ? values.reverse() : values;
  }

  async *pieces(from: string, to: string): AsyncGenerator<readonly Entry[]> {
    // One for all of it: iterators keep their last piece until they are collected as garbage.
    const iterator = this.#level.iterator({
      gte: from,
      lt: to,
      fillCache: false,
      highWaterMarkBytes: PIECE_BYTES,
    });
    try {
      for (;;) {
        const entries = await guarded(this.#directory, "read", () => iterator.nextv(PIECE_ENTRIES));
        if (entries.length === 0) return;
        yield entries;
      }
    } finally {
      await iterator.close();
    }
  }

  write(changes: readonly Change[]): Promise<void> {
    return guarded(this.#directory, "written", () =>
      this.#level.batch(
        changes.map(([key, value]) =>
          value === null ? { type: "del", key } : { type: "put", key, value },
        ),
      ),
    );
  }

  async compact(from: string, to: string): Promise<void> {
    // LevelDB leaves a table as it is unless something above overlaps it: entries at both ends do.
    for (const value of ["", null]) {
      await this.write([
        [from, value],
        [to, value],
      ]);
      await guarded(this.#directory, "compacted", () => this.#level.compactRange(from, to));
    }
  }

  close(): Promise<void> {
    return this.#level.close();
  }
}

/** So they are each there once, too. */
function isAscending(keys: readonly string[]): boolean {
  return keys.every((key, index) => index === 0 || (keys[index - 1] ?? "") < key);
}

function isLocked(error: unknown): boolean {
  return chainOf(error).some(({ code }) => code === "LEVEL_LOCKED");
}

/** LevelDB and the file system say so of the surroundings of a store. */
const SURROUNDINGS =
  /no space left|quota exceeded|file too large|read-only file system|permission denied|operation not permitted|too many open files|cannot allocate memory|ENOSPC|EDQUOT|EFBIG|EROFS|EACCES|EPERM|EMFILE|ENFILE|ENOMEM/i;

async function guarded<Result>(
  directory: string,
  what: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    throw storeError(directory, what, cause);
  }
}

function storeError(directory: string, what: string, cause: unknown): StoreError {
  const message = `the store in ${directory} cannot be ${what}: ${messageOf(cause)}`;
  return new StoreError(message, failureOf(cause), { cause });
}

function failureOf(cause: unknown): StoreFailure {
  const isEnvironment = chainOf(cause).some(({ message }) => SURROUNDINGS.test(message));
  return isEnvironment ? "unavailable" : "corrupt";
}

function chainOf(error: unknown): readonly (Error & { readonly code?: unknown })[] {
  const chain: Error[] = [];
  for (let each = error; each instanceof Error && chain.length < 5; each = each.cause) {
    chain.push(each);
  }
  return chain;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
