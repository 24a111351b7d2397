/**
 * Decides which deliveries of a destination may start (docs/guarantees.md#order). Deliveries on one partition with the
 * same key are attempted one after another; all other deliveries are attempted concurrently.
 *
 *   the delivery                                   result
 *   has no key                                     may start
 *   is the only one in flight with its key         may start
 *   follows another one in flight with its key     waits for that one, or joins its unit (`gathering.ts`)
 *
 * Deliveries start in the order in which they became able to start. No order is guaranteed between different keys.
 * `drop` discards the items of a revoked partition. The caller completes the attempts in progress on that partition;
 * calling `end` for them has no effect.
 */

/**
 * The items of a partition that are in flight, in linked lists by a hash of the key. A `Map` of keys takes more time,
 * and allocates a new table in the old generation each time it becomes empty or full of deleted entries.
 */
export type Lines<Item> = (Item | null)[];

/** The current assignment of a partition. */
interface ScheduleOwner<Item> {
  /** Set by the schedule; null at first. */
  lines: Lines<Item> | null;
}

export interface Scheduled<Item> {
  /** All items of a partition have the same object. */
  readonly owner: ScheduleOwner<Item>;
  /** Identifies the record's key; null if it has none. */
  readonly key: string | null;
  /**
   * Set by the schedule. `behind` is the next item with the same key hash, `after` the next item that may
   * start; both are null at first.
   */
  behind: Item | null;
  after: Item | null;
  /** Not null while the item is part of a unit of several deliveries. */
  readonly unit: object | null;
}

/** At most a few hundred items of a partition are in flight. */
const LINES = 128;

export class Schedule<Item extends Scheduled<Item>> {
  #first: Item | null = null;
  #last: Item | null = null;

  /**
   * Adds an item. Items of a partition are added in offset order.
   *
   * @returns the item with the same key that it has to wait for; null if it may start.
   */
  add(item: Item): Item | null {
    const { key, owner } = item;
    if (key !== null) owner.lines ??= new Array<Item | null>(LINES).fill(null);
    const before = key === null || owner.lines === null ? null : joinLine(owner.lines, key, item);
    if (before === null) this.putBack(item);
    return before;
  }

  /** Returns the next item that may start, or undefined, and marks it as started. */
  next(): Item | undefined {
    const item = this.#first;
    if (item === null) return undefined;
    this.#first = item.after;
    if (this.#first === null) this.#last = null;
    // A completed item that has not been garbage-collected yet must not keep later ones alive.
    item.after = null;
    return item;
  }

  /** Puts back an item that `next` returned, behind all items that may start now. */
  putBack(item: Item): void {
    if (this.#last === null) this.#first = item;
    else this.#last.after = item;
    this.#last = item;
  }

  /** The next item with the same key, which waits for this one. */
  following(item: Item): Item | null {
    return item.key === null ? null : nextWithKey(item, item.key);
  }

  /**
   * Marks the item as completed. The next item with the same key may then start, unless an earlier item with
   * the key is still in flight, or the next item is part of a unit.
   */
  end(item: Item): void {
    const { key, owner } = item;
    if (key === null || owner.lines === null) return;
    const following = leaveLine(owner.lines, key, item);
    if (following !== null && following.unit === null) this.putBack(following);
  }

  /** Discards all items of a partition. */
  drop(owner: Item["owner"]): void {
    owner.lines = null;
    let item = this.#first;
    this.#first = null;
    this.#last = null;
    while (item !== null) {
      const { after }: Item = item;
      item.after = null;
      if (item.owner !== owner) this.putBack(item);
      item = after;
    }
  }

  hasNext(): boolean {
    return this.#first !== null;
  }
}

/** @returns the last item in flight with the same key; null if there is none. */
function joinLine<Item extends Scheduled<Item>>(lines: Lines<Item>, key: string, item: Item) {
  const at = lineOf(key);
  let last = lines[at] ?? null;
  if (last === null) {
    lines[at] = item;
    return null;
  }
  let before = last.key === key ? last : null;
  while (last.behind !== null) {
    last = last.behind;
    if (last.key === key) before = last;
  }
  last.behind = item;
  return before;
}

/** @returns the next item with the same key, if no earlier one is in flight. */
function leaveLine<Item extends Scheduled<Item>>(lines: Lines<Item>, key: string, item: Item) {
  const at = lineOf(key);
  let before: Item | null = null;
  let here = lines[at] ?? null;
  let isFirst = true;
  while (here !== null && here !== item) {
    if (here.key === key) isFirst = false;
    before = here;
    here = here.behind;
  }
  if (here === null) return null;
  const following = nextWithKey(item, key);
  if (before === null) lines[at] = item.behind;
  else before.behind = item.behind;
  item.behind = null;
  return isFirst ? following : null;
}

function nextWithKey<Item extends Scheduled<Item>>(item: Item, key: string): Item | null {
  let following = item.behind;
  while (following !== null && following.key !== key) following = following.behind;
  return following;
}

function lineOf(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  return (hash ^ (hash >>> 15)) & (LINES - 1);
}
