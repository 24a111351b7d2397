/**
 * An ordered store on disk for the length of one command, for data that may not fit into memory.
 */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { openLevelStore, removeStore } from "../audience/store/level-store.ts";
import type { OrderedStore } from "../audience/store/ordered-store.ts";

/** It is gone, with all that was in it, when `work` has ended. */
export async function withScratchStore<Result>(
  work: (store: OrderedStore) => Promise<Result>,
): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), "switchyard-"));
  // A reader that has seen enough ends the process, with nothing awaited any more.
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
