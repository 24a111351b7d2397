/**
 * Takes a partition over: finds its store, decides whether it can be trusted (`checkpoint.ts`),
 * catches up or rebuilds from the changelog, and signs the changelog as its owner.
 *
 *   the process ends while          then the next owner
 *   a store catches up              goes on from the step that was written last
 *   a store is rebuilt              rebuilds: it gets its checkpoint at the end
 *
 *   the store                       then
 *   is corrupt                      it is removed and rebuilt
 *   cannot be used for now          nothing is removed; the error goes to the caller, who tries again:
 *                                   a disk is full or read-only, a permission is missing
 */

import type { IncomingRecord } from "../domain/record.ts";
import { storeErrorOf } from "../domain/store-error.ts";
import { CatchUp } from "./catch-up.ts";
import { type ChangelogPartition, readChangelog } from "./changelog.ts";
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

export interface OpenDeps {
  /** Of the room for arrivals in open syncs; by default as `seen-members.ts` says. */
  readonly arrivalPieces?: number;
  readonly at: ChangelogPartition;
  /** Throws when the store cannot be opened: a corrupt one is then removed, and opened again. */
  readonly openStore: () => Promise<Store>;
  readonly removeStore: () => Promise<void>;
  readonly changelogEnd: () => Promise<number>;
  readonly readChangelog: (from: number, to: number) => AsyncIterable<readonly IncomingRecord[]>;
  /** Resolves when the record is acknowledged. */
  readonly sign: (key: string, identity: string) => Promise<void>;
  readonly newIdentity: () => string;
  readonly nowMs: () => number;
  /** Called after each step. */
  readonly onProgress: (offset: number, end: number) => void;
  /** Called once it is known what the store is. */
  readonly onMatch: (match: StoreMatch | "corrupt") => void;
  /** Throws when the partition is being taken away. */
  readonly check: () => void;
  /** Throws when the partition may be somebody else's. */
  readonly mustBeOurs: () => Promise<void>;
}

export async function openPartition(deps: OpenDeps): Promise<PartitionState> {
  const end = await deps.changelogEnd();
  const found = await findStore(deps);
  if (found !== null) {
    const { store, checkpoint } = found;
    const caughtUp = await tryCatchUp(deps, store, checkpoint, end);
    if (caughtUp !== null) return await begin(deps, store, caughtUp, checkpoint, end);
    await store.close();
    await deps.removeStore();
  }
  const store = await deps.openStore();
  const catchUp = await CatchUp.on(store, deps.arrivalPieces);
  await read(deps, catchUp, 0, end, () => []);
  const identity = catchUp.identity ?? deps.newIdentity();
  return await begin(deps, store, catchUp, newCheckpoint(identity, end, deps.nowMs()), end);
}

interface Found {
  readonly store: Store;
  readonly checkpoint: Checkpoint;
}

/** Null: there is no store that could be trusted, and nothing is left of one. */
async function findStore(deps: OpenDeps): Promise<Found | null> {
  let store: Store | null = null;
  try {
    store = await deps.openStore();
    const [text] = await store.getMany([CHECKPOINT_KEY]);
    const checkpoint = readCheckpoint(text);
    if (checkpoint !== null) return { store, checkpoint };
    deps.onMatch("missing");
  } catch (error) {
    deps.check();
    if (storeErrorOf(error)?.failure === "unavailable") throw error;
    deps.onMatch("corrupt");
  }
  await store?.close();
  await deps.removeStore();
  return null;
}

/** Null: the store cannot be trusted. */
async function tryCatchUp(
  deps: OpenDeps,
  store: Store,
  checkpoint: Checkpoint,
  end: number,
): Promise<CatchUp | null> {
  const { identityOffset, changelog } = checkpoint;
  let identityThere: string | null = null;
  if (changelog <= end) {
    for await (const records of deps.readChangelog(identityOffset, identityOffset + 1)) {
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
    deps.check();
    if (!isCorruption(error)) throw error;
    deps.onMatch("corrupt");
    return null;
  }
  const match = matchOf(checkpoint, {
    end,
    identityThere,
    identityBehind: catchUp.identity,
    nowMs: deps.nowMs(),
  });
  deps.onMatch(match);
  return match === "current" || match === "behind" ? catchUp : null;
}

/** Whether what the store holds cannot be read: also JSON that is none. */
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
  for await (const records of deps.readChangelog(from, end)) {
    deps.check();
    const last = records.at(-1);
    if (last === undefined) continue;
    const entries = records.flatMap((record) => readChangelog(record) ?? []);
    await catchUp.apply(entries, more(last.offset + 1));
    deps.onProgress(last.offset + 1, end);
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
  // The owner before may have written late, and this one may have been taken for dead meanwhile.
  let end = readTo;
  for (let next = await deps.changelogEnd(); next > end; next = await deps.changelogEnd()) {
    await read(deps, catchUp, end, next, () => []);
    end = next;
  }
  await deps.mustBeOurs();
  await deps.sign(IDENTITY_KEY, identity);
  await deps.mustBeOurs();
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
