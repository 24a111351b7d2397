/**
 * Takes over a partition: decides whether its local store can be used (`checkpoint.ts`), brings the store up to date or
 * rebuilds it from the changelog, and writes the new owner's identity to the changelog.
 *
 *   the process ends while          then the next owner
 *   the store catches up            continues after the last step that was written
 *   the store is rebuilt            rebuilds it again, because the checkpoint is written at the end
 *
 *   the store is                    then
 *   corrupt                         it is removed and rebuilt
 *   unavailable: the disk is full   nothing is removed, and the caller retries
 *     or read-only, or a permission
 *     is missing
 */

import type { IncomingRecord, PartitionPlace } from "../../domain/record.ts";
import { storeErrorOf } from "../../domain/store-error.ts";
import { CatchUp } from "./catch-up.ts";
import { readChangelog } from "./changelog.ts";
import {
  type Checkpoint,
  matchOf,
  newCheckpoint,
  readCheckpoint,
  type StoreMatch,
} from "./checkpoint.ts";
import { APPLIED_KEY, CHECKPOINT_KEY, IDENTITY_KEY, ORIGIN_KEY } from "./keys.ts";
import { readOrigin } from "./own-offsets.ts";
import { PartitionState } from "./partition-state.ts";
import type { Store } from "./ports.ts";

/** The partition of the changelog that belongs to the partition. */
export interface Changelog {
  end(): Promise<number>;
  read(from: number, to: number): AsyncIterable<readonly IncomingRecord[]>;
  /** Writes the new owner's identity. Resolves when the record has been acknowledged. */
  sign(key: string, identity: string): Promise<void>;
}

export interface Ownership {
  /** Throws if the partition is being revoked. */
  check(): void;
  /** Throws if the partition may belong to another process. */
  mustBeOurs(): Promise<void>;
}

export interface OpenDeps {
  readonly at: PartitionPlace;
  /** If `open` throws because the store is corrupt, the store is removed and opened again. */
  readonly store: { open(check: () => void): Promise<Store>; remove(): Promise<void> };
  readonly changelog: Changelog;
  readonly ownership: Ownership;
  readonly events: {
    /** Called after each step of reading the changelog. */
    progressed(offset: number, end: number): void;
    /** Called when it is known whether the store can be used. */
    matched(match: StoreMatch | "corrupt"): void;
  };
  readonly nowMs: () => number;
  readonly newIdentity: () => string;
  /** The limit of memory for users who join in open syncs, as a number of pieces (`seen-members.ts`). */
  readonly arrivalPieces?: number | undefined;
}

export async function openPartition(deps: OpenDeps): Promise<PartitionState> {
  const end = await deps.changelog.end();
  const found = await findStore(deps);
  if (found !== null) {
    const { store, checkpoint } = found;
    const caughtUp = await tryCatchUp(deps, store, checkpoint, end);
    if (caughtUp !== null) return await begin(deps, store, caughtUp, checkpoint, end);
    await store.close();
    await deps.store.remove();
  }
  const store = await deps.store.open(deps.ownership.check);
  const catchUp = await CatchUp.on(store, deps.arrivalPieces);
  await read(deps, catchUp, 0, end, () => []);
  const identity = catchUp.identity ?? deps.newIdentity();
  return await begin(deps, store, catchUp, newCheckpoint(identity, end, deps.nowMs()), end);
}

interface FoundStore {
  readonly store: Store;
  readonly checkpoint: Checkpoint;
}

/** Returns null if there is no usable store. If there was an unusable one, it has been removed. */
async function findStore(deps: OpenDeps): Promise<FoundStore | null> {
  let store: Store | null = null;
  try {
    store = await deps.store.open(deps.ownership.check);
    const [text] = await store.getMany([CHECKPOINT_KEY]);
    const checkpoint = readCheckpoint(text);
    if (checkpoint !== null) return { store, checkpoint };
    deps.events.matched("missing");
  } catch (error) {
    deps.ownership.check();
    if (storeErrorOf(error)?.failure === "unavailable") throw error;
    deps.events.matched("corrupt");
  }
  await store?.close();
  await deps.store.remove();
  return null;
}

/** Returns null if the store cannot be used. */
async function tryCatchUp(
  deps: OpenDeps,
  store: Store,
  checkpoint: Checkpoint,
  end: number,
): Promise<CatchUp | null> {
  const { identityOffset, changelog } = checkpoint;
  let identityThere: string | null = null;
  if (changelog <= end) {
    for await (const records of deps.changelog.read(identityOffset, identityOffset + 1)) {
      for (const record of records) {
        const entry = readChangelog(record);
        if (entry?.key === IDENTITY_KEY) identityThere = entry.value;
      }
    }
  }
  let catchUp: CatchUp;
  try {
    catchUp = await CatchUp.on(store, deps.arrivalPieces);
    if (changelog <= end) {
      await read(deps, catchUp, changelog, end, (offset) => [
        [CHECKPOINT_KEY, JSON.stringify({ ...checkpoint, changelog: offset })],
      ]);
    }
  } catch (error) {
    deps.ownership.check();
    if (!isCorruption(error)) throw error;
    deps.events.matched("corrupt");
    return null;
  }
  const match = matchOf(checkpoint, {
    end,
    identityThere,
    identityBehind: catchUp.identity,
    nowMs: deps.nowMs(),
  });
  deps.events.matched(match);
  return match === "current" || match === "behind" ? catchUp : null;
}

/**
 * Returns true if the error means that the contents of the store cannot be read, for example because of invalid
 * JSON.
 */
function isCorruption(error: unknown): boolean {
  if (error instanceof SyntaxError) return true;
  return storeErrorOf(error)?.failure === "corrupt";
}

async function read(
  deps: OpenDeps,
  catchUp: CatchUp,
  from: number,
  end: number,
  more: (next: number) => readonly (readonly [string, string])[],
): Promise<void> {
  for await (const records of deps.changelog.read(from, end)) {
    deps.ownership.check();
    const last = records.at(-1);
    if (last === undefined) continue;
    const entries = records.flatMap((record) => readChangelog(record) ?? []);
    await catchUp.apply(entries, more(last.offset + 1));
    deps.events.progressed(last.offset + 1, end);
  }
}

async function begin(
  deps: OpenDeps,
  store: Store,
  catchUp: CatchUp,
  before: Checkpoint,
  readTo: number,
): Promise<PartitionState> {
  const { identity } = before;
  // The end is read again, because the previous owner may have written late, and this process may have lost the
  // partition meanwhile.
  let end = readTo;
  for (let next = await deps.changelog.end(); next > end; next = await deps.changelog.end()) {
    await read(deps, catchUp, end, next, () => []);
    end = next;
  }
  await deps.ownership.mustBeOurs();
  await deps.changelog.sign(IDENTITY_KEY, identity);
  await deps.ownership.mustBeOurs();
  const checkpoint = { ...newCheckpoint(identity, end, deps.nowMs()), position: before.position };
  await store.write([[CHECKPOINT_KEY, JSON.stringify(checkpoint)]]);
  await catchUp.clearArrivals();
  const [applied, origin] = await store.getMany([APPLIED_KEY, ORIGIN_KEY]);
  const { audiences, counts, arrivals } = catchUp;
  return new PartitionState({
    at: deps.at,
    store,
    checkpoint,
    applied: applied === undefined ? 0 : Number(applied),
    origin: readOrigin(origin),
    audiences,
    counts,
    arrivals,
    nowMs: deps.nowMs,
  });
}
