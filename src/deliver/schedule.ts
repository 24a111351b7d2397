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

export interface Scheduled<Item> {
  /** The current assignment of the item's partition; all items of the partition have the same object. */
  readonly owner: object;
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

export interface Schedule<Item> {
  /**
   * Adds an item. Items of a partition are added in offset order.
   *
   * @returns the item with the same key that it has to wait for; null if it may start.
   */
  add(item: Item): Item | null;
  /** Returns the next item that may start, or undefined, and marks it as started. */
  next(): Item | undefined;
  /** Puts back an item that `next` returned, behind all items that may start now. */
  putBack(item: Item): void;
  /** The next item with the same key, which waits for this one. */
  following(item: Item): Item | null;
  /**
   * Marks the item as completed. The next item with the same key may then start, unless an earlier item with
   * the key is still in flight, or the next item is part of a unit.
   */
  end(item: Item): void;
  /** Discards all items of a partition. */
  drop(owner: object): void;
  hasNext(): boolean;
}

/**
 * The items of a partition that are in flight, in linked lists by a hash of the key. A `Map` of keys takes more time,
 * and allocates a new table in the old generation each time it becomes empty or full of deleted entries.
 */
type Lines<Item> = (Item | null)[];

/** At most a few hundred items of a partition are in flight. */
const LINES = 128;

export function createSchedule<Item extends Scheduled<Item>>(): Schedule<Item> {
  const partitions = new Map<object, Lines<Item>>();
  let first: Item | null = null;
  let last: Item | null = null;
  const mayStart = (item: Item) => {
    if (last === null) first = item;
    else last.after = item;
    last = item;
  };
  const linesOf = (owner: object): Lines<Item> => {
    const known = partitions.get(owner);
    if (known !== undefined) return known;
    const made = new Array<Item | null>(LINES).fill(null);
    partitions.set(owner, made);
    return made;
  };
  return {
    add: (item) => {
      const { key, owner } = item;
      const before = key === null ? null : joinLine(linesOf(owner), key, item);
      if (before === null) mayStart(item);
      return before;
    },
    next: () => {
      const item = first;
      if (item === null) return undefined;
      first = item.after;
      if (first === null) last = null;
      // A completed item that has not been garbage-collected yet must not keep later ones alive.
      item.after = null;
      return item;
    },
    putBack: mayStart,
    following: (item) => (item.key === null ? null : nextWithKey(item, item.key)),
    end: (item) => {
      const { key, owner } = item;
      const lines = partitions.get(owner);
      if (key === null || lines === undefined) return;
      const following = leaveLine(lines, key, item);
      if (following !== null && following.unit === null) mayStart(following);
    },
    drop: (owner) => {
      partitions.delete(owner);
      let item = first;
      first = null;
      last = null;
      while (item !== null) {
        const { after }: Item = item;
        item.after = null;
        if (item.owner !== owner) mayStart(item);
        item = after;
      }
    },
    hasNext: () => first !== null,
  };
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
