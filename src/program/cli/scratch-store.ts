/**
 * A temporary ordered store on disk, for commands whose data may not fit into memory.
 */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openLevelStore, removeStore } from "../../router/audience/store/level-store.ts";
import type { OrderedStore } from "../../router/audience/store/ordered-store.ts";

/** Runs `work` with an empty store, which is removed when `work` ends. */
export async function withScratchStore<Result>(
  work: (store: OrderedStore) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), "switchyard-"));
  // If the reader of standard output closes the pipe, the process exits without running `finally`.
  const remove = () => rmSync(directory, { recursive: true, force: true });
  process.once("exit", remove);
  const store = await openLevelStore(directory);
  try {
    return await work(store);
  } finally {
    await store.close();
    await removeStore(directory);
    process.off("exit", remove);
  }
}
