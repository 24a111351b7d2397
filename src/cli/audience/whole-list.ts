/**
 * A list of user ids that is read to its end before anything is written, and whether it may be
 * published: an export that failed looks like one that ends early.
 *
 *   the list                                                        then
 *   is empty                                                        refused
 *   begins with the name of a column, as an export with a header    refused
 *   lacks more than half of the members, of any number              refused
 *   ends in a line without a line feed that is no member, while a   refused: the line was cut
 *   member that begins with it is missing
 *   is any other                                                    published
 */

import type { OrderedStore } from "../../audience/store/ordered-store.ts";
import { counted } from "../../words/count.ts";
import { linesOf } from "../input.ts";

export const ID_MAX_BYTES = 1_024;
const UTF8 = new TextDecoder("utf-8", { fatal: true });
/** Of the keys in the store, so that all of them lie before `BEHIND_IDS`. */
const ID_PREFIX = "u";
const BEHIND_IDS = "v";
const PIECE_USERS = 5_000;
/** A record is at most 1 MiB. */
const PIECE_BYTES = 512 * 1_024;

export interface ListRead {
  /** Of a line that is no id, from 1; null: all are. */
  readonly wrongLine: number | null;
  /** Null: the list is empty. */
  readonly firstId: string | null;
  /** The last id if no line feed ends its line. */
  readonly unendedId: string | null;
}

export interface Compared {
  /** Of the audience now. */
  readonly members: number;
  /** Members that the list lacks. */
  readonly missing: number;
  /** Whether the last line is the beginning of a member that is missing. */
  readonly isCut: boolean;
}

/** @param store empty; gets the ids, so that a list may have any size. */
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

/** Null: the line is no id. */
function readId(bytes: Buffer): string | null {
  try {
    const id = UTF8.decode(bytes).replace(/\r$/, "");
    return id === "" || Buffer.byteLength(id) > ID_MAX_BYTES ? null : id;
  } catch {
    return null;
  }
}

/** The different ids that were read, as many at a time as fit into a record. */
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

/** Why the list is not to be published to any members; null: it has to be compared with them. */
export function refusalOfAny({ firstId }: ListRead): string | null {
  if (firstId === null) return "the list is empty";
  return COLUMN.test(firstId)
    ? `its first line, ${firstId.trim()}, is the name of a column: export the list without a header`
    : null;
}

/** Why the list is not to be published; null: it may be. */
export function refusalOf({ members, missing, isCut }: Compared): string | null {
  if (2 * missing > members) {
    return `${missing.toLocaleString("en")} of its ${counted(members, "member")} are not in the list, which is more than half`;
  }
  return isCut
    ? "the last line is not ended by a line feed, and a member whose id begins with it is not in the list: the line was cut"
    : null;
}
