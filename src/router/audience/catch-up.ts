/**
 * Applies changelog entries to the store. Afterwards, the store is equal to the store of the process that wrote the
 * entries. The last value of a key applies, so entries may be read twice.
 *
 *   key        value   in the store
 *   member     any     the user becomes a member; a local arrival and number are kept
 *   member     none    the member is removed; a user who was only seen during a replay is kept as such
 *   sync       any     the slot and its sync ID are written; the slot's previous ID is removed
 *   audience   none    the audience is removed with its counts
 *   any        any     the value is stored or removed
 *
 * The number of members is computed from the changes in the store.
 */

import { type Audience, type Counts, NO_COUNTS } from "./audience.ts";
import type { ChangelogEntry } from "./changelog.ts";
import {
  ARRIVALS_RANGE,
  AUDIENCES_RANGE,
  arrivalsIn,
  countsKey,
  firstOf,
  IDENTITY_KEY,
  type KeyRange,
  rememberedKeyOf,
} from "./keys.ts";
import { hasArrived, type Membership, readMembership, writeMembership } from "./membership.ts";
import { OpenArrivals } from "./open-arrivals.ts";
import type { Store } from "./ports.ts";
import type { StoreChange } from "./store/ordered-store.ts";

/** The range of all keys of the form `n<first>`. */
const COUNTS_RANGE: KeyRange = { from: "n", to: "o" };

export class CatchUp {
  readonly audiences = new Map<string, Audience>();
  readonly counts = new Map<number, Counts>();
  readonly arrivals: OpenArrivals;
  /** The identity of the changelog, if one of the entries contains it. */
  identity: string | null = null;
  readonly #store: Store;

  private constructor(store: Store, arrivals: OpenArrivals) {
    this.#store = store;
    this.arrivals = arrivals;
  }

  /**
   * Creates the state from what is already in the store.
   *
   * @param pieces the memory for arrivals, in pieces of 8 KiB.
   */
  static async on(store: Store, pieces?: number): Promise<CatchUp> {
    const catchUp = new CatchUp(store, new OpenArrivals(pieces));
    await forEach(store, AUDIENCES_RANGE, (_, value) => {
      const audience = JSON.parse(value) as Audience;
      catchUp.audiences.set(audience.id, audience);
    });
    await forEach(store, COUNTS_RANGE, (key, value) => {
      catchUp.counts.set(firstOf(key), JSON.parse(value) as Counts);
    });
    const open = catchUp.#openBegins();
    await forEach(store, ARRIVALS_RANGE, (key, text) => {
      catchUp.arrivals.read(key, text, open.get(arrivalsIn(key).first) ?? null);
    });
    return catchUp;
  }

  /** @param more further changes to write in the same batch. */
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
    const now = readMembership(old, counts.numbering);
    const next: Membership =
      value === null
        ? { isMember: false, mark: now.isMember ? -1 : now.mark, number: -1, judged: -1 }
        : { ...now, isMember: true, judged: readMembership(value, -1).judged };
    const isMarked =
      counts.begin !== -1 && hasArrived(now, this.arrivals.known(first, counts.begin));
    const change = Number(next.isMember) - Number(now.isMember);
    const members = counts.members + change;
    const marked = counts.marked + (isMarked ? change : 0);
    // A new number needs no mark: numbers are valid with any mark until the numbering is restarted for the first time.
    const isNumbered = next.isMember && next.number === -1 && counts.numbering === -1;
    const number = isNumbered ? counts.next : next.number;
    const nextNumber = counts.next + (isNumbered ? 1 : 0);
    this.counts.set(first, { ...counts, members, marked, next: nextNumber });
    return writeMembership({ ...next, number });
  }

  #audience(id: string, value: string | null): readonly StoreChange[] {
    const before = this.audiences.get(id);
    if (value !== null) {
      const audience = JSON.parse(value) as Audience;
      this.audiences.set(id, audience);
      this.arrivals.settle(audience.first, audience.open?.begin ?? null);
      return [];
    }
    if (before !== undefined) this.arrivals.settle(before.first, null);
    this.audiences.delete(id);
    return before === undefined ? [] : [[countsKey(before.first), null]];
  }

  #openBegins(): ReadonlyMap<number, number> {
    const begins = new Map<number, number>();
    for (const { first, open } of this.audiences.values()) {
      if (open !== null) begins.set(first, open.begin);
    }
    return begins;
  }

  /** Removes the arrivals of syncs that are no longer open. They may be left from a crash, or from another owner. */
  async clearArrivals(): Promise<void> {
    const open = this.#openBegins();
    const { from, to } = ARRIVALS_RANGE;
    for await (const entries of this.#store.pieces(from, to)) {
      const over = entries.filter(([key]) => {
        const { first, begin } = arrivalsIn(key);
        return open.get(first) !== begin;
      });
      if (over.length > 0) await this.#store.write(over.map(([key]) => [key, null]));
    }
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
