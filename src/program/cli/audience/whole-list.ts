/**
 * Reads a list of user IDs to its end, and decides whether it may be published. A failed export can look
 * like a short list, so suspicious lists are rejected.
 *
 *   the list                                                      then
 *   is empty                                                      rejected
 *   begins with a column name, like an export with a header       rejected
 *   lacks more than half of the members, even if there are few    rejected
 *   ends without a line feed, its last line is not a member, and  rejected: the line was truncated
 *     a member whose ID begins with that line is missing
 *   any other                                                     published
 */

import { counted } from "../../../base/words/count.ts";
import type { OrderedStore } from "../../../router/audience/store/ordered-store.ts";
import { linesOf } from "../input.ts";

export const ID_MAX_BYTES = 1_024;
const UTF8 = new TextDecoder("utf-8", { fatal: true });
/** Prefix of the keys in the store. All keys with this prefix sort before `BEHIND_IDS`. */
const ID_PREFIX = "u";
const BEHIND_IDS = "v";
const PIECE_USERS = 5_000;
/** Well below 1 MiB, the maximum size of a record. */
const PIECE_BYTES = 512 * 1_024;

export interface ListRead {
  /** Number of the first line that is not an ID, from 1; null if all lines are IDs. */
  readonly wrongLine: number | null;
  /** Null if the list is empty. */
  readonly firstId: string | null;
  /** The last ID, if its line does not end with a line feed. */
  readonly unendedId: string | null;
}

export interface Compared {
  /** Current members of the audience. */
  readonly members: number;
  /** Members who are not in the list. */
  readonly missing: number;
  /** True if the last line is the start of the ID of a member who is not in the list. */
  readonly isCut: boolean;
}

/** @param store an empty store, to which the IDs are written, so that a list can have any size. */
export async function readList(
  input: AsyncIterable<Buffer>,
  store: OrderedStore,
  signal: AbortSignal,
  onRead: (fresh: number) => void,
): Promise<ListRead> {
  let firstId: string | null = null;
  let unendedId: string | null = null;
  for await (const lines of linesOf(input, ID_MAX_BYTES + 2, signal)) {
    const ids = new Set<string>();
    for (const { number, bytes, isEnded } of lines) {
      const id = bytes === null ? null : readId(bytes);
      if (id === null) return { wrongLine: number, firstId, unendedId };
      firstId ??= id;
      ids.add(ID_PREFIX + id);
      if (!isEnded) unendedId = id;
    }
    const keys = [...ids];
    const found = await store.getMany(keys);
    const fresh = keys.filter((_, index) => found[index] === undefined);
    await store.write(fresh.map((key) => [key, ""]));
    onRead(fresh.length);
  }
  return { wrongLine: null, firstId, unendedId };
}

/** Returns the ID in a line; null if the line is not an ID. */
function readId(bytes: Buffer): string | null {
  try {
    const id = UTF8.decode(bytes).replace(/\r$/, "");
    return id === "" || Buffer.byteLength(id) > ID_MAX_BYTES ? null : id;
  } catch {
    return null;
  }
}

/** Yields the distinct IDs of the list, in batches that fit into a record. */
export async function* listedIds(store: OrderedStore): AsyncGenerator<readonly string[]> {
  let ids: string[] = [];
  let bytes = 0;
  for await (const entries of store.pieces(ID_PREFIX, BEHIND_IDS)) {
    for (const [key] of entries) {
      const id = key.slice(ID_PREFIX.length);
      ids.push(id);
      bytes += Buffer.byteLength(JSON.stringify(id));
      if (ids.length < PIECE_USERS && bytes < PIECE_BYTES) continue;
      yield ids;
      ids = [];
      bytes = 0;
    }
  }
  if (ids.length > 0) yield ids;
}

export async function compare(
  store: OrderedStore,
  members: AsyncIterable<readonly string[]>,
  unendedId: string | null,
): Promise<Compared> {
  const count = { members: 0, missing: 0 };
  let isMember = false;
  let hasLonger = false;
  for await (const ids of members) {
    const found = await store.getMany(ids.map((id) => ID_PREFIX + id));
    count.members += ids.length;
    for (const [index, id] of ids.entries()) {
      if (id === unendedId) isMember = true;
      if (found[index] !== undefined) continue;
      count.missing += 1;
      if (unendedId !== null && id.startsWith(unendedId)) hasLonger = true;
    }
  }
  return { ...count, isCut: hasLonger && !isMember };
}

const COLUMN = /^\s*"?(user_?)?id"?\s*$/i;

/**
 * Returns why the list must not be published, regardless of the current members; null if it has to be compared with
 * them.
 */
export function refusalOfAny({ firstId }: ListRead): string | null {
  if (firstId === null) return "the list is empty";
  return COLUMN.test(firstId)
    ? `its first line, ${firstId.trim()}, is a column name: export the list without a header`
    : null;
}

/** Returns why the list must not be published; null if it may be published. */
export function refusalOf({ members, missing, isCut }: Compared): string | null {
  if (2 * missing > members) {
    return `more than half of its members are not in the list (${missing.toLocaleString("en")} of ${counted(members, "member")})`;
  }
  return isCut
    ? "its last line is truncated: the line does not end in a line feed, and it is the start of the ID of a current member that is not in the list"
    : null;
}
