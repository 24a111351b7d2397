/**
 * An ordered store in a directory, based on LevelDB. Only one process at a time can open it.
 *
 *   opening fails because                     then
 *   another process has it open               throws `StoreInUseError`: wait, or use another directory
 *   it is corrupt or unreadable               throws `StoreError`; `removeStore` removes it
 */

import { chmod, mkdir, rm } from "node:fs/promises";
import { ClassicLevel } from "classic-level";

import { StoreError, type StoreFailure } from "../../../domain/store-error.ts";
import {
  type OrderedStore,
  type StoreChange,
  type StoreEntry,
  StoreInUseError,
} from "./ordered-store.ts";

// All limits apply to each store, and a process can own many partitions.
/**
 * Lookups are in the order of keys, so a block is needed again soon or not at all. The cache can therefore be small.
 */
const CACHE_BYTES = 2 * 1_024 * 1_024;
const WRITE_BUFFER_BYTES = 4 * 1_024 * 1_024;
/** Each open table counts as 2 MiB of the process's memory. LevelDB needs ten more files for itself. */
const FILES_OPEN_MAX = 64 + 10;
const PIECE_ENTRIES = 1_000;
const OWNER_ONLY = 0o700;
const PIECE_BYTES = 64 * 1_024;

/** Creates the directory, which only the owner can read, if it is missing. The caller closes the store. */
export async function openLevelStore(directory: string): Promise<OrderedStore> {
  await guarded(directory, "opened", async () => {
    await mkdir(directory, { recursive: true, mode: OWNER_ONLY });
    // If the directory belongs to another user, that user decides who can read it.
    await chmod(directory, OWNER_ONLY).catch(() => undefined);
  });
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

/** Removes a closed store, with everything in its directory. */
export async function removeStore(directory: string): Promise<void> {
  await guarded(directory, "removed", () => rm(directory, { recursive: true, force: true }));
}

class LevelStore implements OrderedStore {
  readonly #level: ClassicLevel<string, string>;
  readonly #directory: string;
  /**
   * Each lookup runs in the opposite direction to the previous one, because the tables that were read last are still
   * open.
   */
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

  async *pieces(from: string, to: string): AsyncGenerator<readonly StoreEntry[]> {
    // There is one iterator for the whole range, because every iterator keeps its last piece in memory until the
    // iterator is garbage-collected.
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

  write(changes: readonly StoreChange[]): Promise<void> {
    return guarded(this.#directory, "written", () =>
      this.#level.batch(
        changes.map(([key, value]) =>
          value === null ? { type: "del", key } : { type: "put", key, value },
        ),
      ),
    );
  }

  async compact(from: string, to: string): Promise<void> {
    // LevelDB rewrites a table only if a table on a higher level overlaps with it, so entries are written at both
    // ends.
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

/** Returns true if the keys are sorted and distinct. */
function isAscending(keys: readonly string[]): boolean {
  return keys.every((key, index) => index === 0 || (keys[index - 1] ?? "") < key);
}

function isLocked(error: unknown): boolean {
  return chainOf(error).some(({ code }) => code === "LEVEL_LOCKED");
}

/** Matches error messages about the disk, permissions or system limits, which do not mean that the store is corrupt. */
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
