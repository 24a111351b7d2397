/**
 * Puts changelog entries into the store. The store is then as its writer's was. The last value of a
 * key counts, so entries may come twice.
 *
 *   key        value   in the store
 *   member     some    a member; the mark of an arrival here stays
 *   member     none    gone; a user that was only seen while reading again stays so
 *   sync       some    the slot, and the id that can be looked up; the slot's earlier one is gone
 *   audience   none    gone, with its counts
 *   any        any     the same
 *
 * Members are counted by what changes in the store.
 */

import { type Audience, type Counts, NO_COUNTS } from "./audience.ts";
import type { ChangelogEntry } from "./changelog.ts";
import {
  AUDIENCES_RANGE,
  countsKey,
  firstOf,
  IDENTITY_KEY,
  type KeyRange,
  rememberedKeyOf,
} from "./keys.ts";
import { type Membership, readMembership, writeMembership } from "./membership.ts";
import type { Store, StoreChange } from "./ports.ts";

/** Behind the last of the keys `n<first>`. */
const COUNTS_RANGE: KeyRange = { from: "n", to: "o" };

export class CatchUp {
  readonly audiences = new Map<string, Audience>();
  readonly counts = new Map<number, Counts>();
  /** Which changelog the entries say they are of; null: they have not. */
  identity: string | null = null;
  readonly #store: Store;

  private constructor(store: Store) {
    this.#store = store;
  }

  /** Reads what the store knows already. */
  static async on(store: Store): Promise<CatchUp> {
    const catchUp = new CatchUp(store);
    await forEach(store, AUDIENCES_RANGE, (_, value) => {
      const audience = JSON.parse(value) as Audience;
      catchUp.audiences.set(audience.id, audience);
    });
    await forEach(store, COUNTS_RANGE, (key, value) => {
      catchUp.counts.set(firstOf(key), JSON.parse(value) as Counts);
    });
    return catchUp;
  }

  /** @param more written with it, in one batch. */
  async apply(entries: readonly ChangelogEntry[], more: readonly StoreChange[]): Promise<void> {
    const latest = new Map(entries.map(({ key, value }) => [key, value]));
    const keys = [...latest.keys()].filter((key) => key.startsWith("m") || key.startsWith("r"));
    const values = await this.#store.getMany(keys);
    const before = new Map(keys.map((key, index) => [key, values[index] ?? null]));
    const changes: StoreChange[] = [];
    const counted = new Set<number>();
    for (const [key, value] of latest) {
      const old = before.get(key) ?? null;
      switch (key.charAt(0)) {
        case "m":
          changes.push([key, this.#member(key, old, value)]);
          counted.add(firstOf(key));
          break;
        case "r":
          if (old !== null) changes.push([rememberedKeyOf(key, old), null]);
          if (value !== null) changes.push([rememberedKeyOf(key, value), ""]);
          changes.push([key, value]);
          break;
        case "a":
          changes.push([key, value], ...this.#audience(key.slice(2), value));
          break;
        default:
          changes.push([key, value]);
      }
      if (key === IDENTITY_KEY) this.identity = value;
    }
    for (const first of counted) {
      const counts = this.counts.get(first);
      if (counts !== undefined) changes.push([countsKey(first), JSON.stringify(counts)]);
    }
    await this.#store.write([...changes, ...more]);
  }

  #member(key: string, old: string | null, value: string | null): string | null {
    const first = firstOf(key);
    const counts = this.counts.get(first) ?? NO_COUNTS;
    const now = readMembership(old);
    const next: Membership =
      value === null
        ? { isMember: false, mark: now.isMember ? -1 : now.mark, judged: -1 }
        : { isMember: true, mark: now.mark, judged: readMembership(value).judged };
    const change = Number(next.isMember) - Number(now.isMember);
    const isMarked = now.mark === counts.begin && counts.begin !== -1;
    const members = counts.members + change;
    const marked = counts.marked + (isMarked ? change : 0);
    this.counts.set(first, { ...counts, members, marked });
    return writeMembership(next);
  }

  #audience(id: string, value: string | null): readonly StoreChange[] {
    if (value !== null) {
      this.audiences.set(id, JSON.parse(value) as Audience);
      return [];
    }
    const gone = this.audiences.get(id);
    this.audiences.delete(id);
    return gone === undefined ? [] : [[countsKey(gone.first), null]];
  }
}

async function forEach(
  store: Store,
  { from, to }: KeyRange,
  act: (key: string, value: string) => void,
): Promise<void> {
  for await (const entries of store.pieces(from, to)) {
    for (const [key, value] of entries) act(key, value);
  }
}
