/** Keeps the arrivals of all open syncs of a partition, indexed by the first offsets of their audiences. */

import { arrivalsIn, arrivalsKey } from "./keys.ts";
import type { ArrivedNumbers } from "./membership.ts";
import { ArrivalRoom, Arrivals } from "./seen-members.ts";

export class OpenArrivals {
  readonly #room: ArrivalRoom;
  readonly #syncs = new Map<number, Arrivals>();

  /** @param pieces the memory that all open syncs share, in pieces of 8 KiB. */
  constructor(pieces?: number) {
    this.#room = new ArrivalRoom(pieces);
  }

  of(first: number, begin: number): Arrivals {
    const known = this.#syncs.get(first);
    if (known?.begin === begin) return known;
    known?.clear();
    const arrivals = new Arrivals(begin, this.#room);
    this.#syncs.set(first, arrivals);
    return arrivals;
  }

  /** The arrivals of the audience's open sync, which the caller must not change; empty if there are none. */
  known(first: number, begin: number): ArrivedNumbers {
    const known = this.#syncs.get(first);
    return known?.begin === begin ? known : { begin, has: () => false };
  }

  /**
   * Drops the arrivals of a sync that has ended.
   * @param begin offset of the open sync's `begin` record; null if no sync is open.
   */
  settle(first: number, begin: number | null): void {
    const known = this.#syncs.get(first);
    if (known === undefined || known.begin === begin) return;
    known.clear();
    this.#syncs.delete(first);
  }

  /** How many numbers have not been written to the store yet. */
  get unwritten(): number {
    let numbers = 0;
    for (const arrivals of this.#syncs.values()) numbers += arrivals.unwritten;
    return numbers;
  }

  takeEntries(): readonly (readonly [key: string, text: string])[] {
    return [...this.#syncs].flatMap(([first, arrivals]) => {
      const entry = arrivals.takeEntry();
      return entry === null ? [] : [[arrivalsKey(first, arrivals.begin, entry.at), entry.text]];
    });
  }

  /** Reads an entry from the store, and ignores it if its sync is not open. */
  read(key: string, text: string, openBegin: number | null): void {
    const { first, begin, entry: at } = arrivalsIn(key);
    if (begin === openBegin) this.of(first, begin).read({ at, text });
  }
}
