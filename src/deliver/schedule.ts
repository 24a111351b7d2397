/**
 * Decides which deliveries of a destination may start (docs/guarantees.md#order). Deliveries on one partition with the same
 * key are attempted one after another, all others concurrently.
 *
 *   the delivery                                   result
 *   has no key                                     may start
 *   is the only one in flight with its key         may start
 *   follows another one in flight with its key     waits for that one
 *
 * Deliveries start in the order in which they became able to start. Between keys no order is guaranteed. `drop` forgets a
 * revoked partition; the caller completes its attempts, and `end` then has no effect.
 */

export interface Scheduled<Item> {
  /** The current assignment of the partition: the same object for all its items. */
  readonly owner: object;
  /** Identifies the record's key; null if it has none. */
  readonly key: string | null;
  /**
   * Set by the schedule, null at first: the next item with the same key hash, and the next one that may start.
   */
  behind: Item | null;
  after: Item | null;
}

export interface Schedule<Item> {
  /** Adds an item. Items of a partition are added in offset order. */
  add(item: Item): void;
  /** Returns the next item that may start, or undefined, and marks it as started. */
  next(): Item | undefined;
  /** Puts back an item that `next` returned, behind all that may start. */
  putBack(item: Item): void;
  /** Marks the item as completed, so that the next one with its key may start. */
  end(item: Item): void;
  /** Forgets all items of a partition. */
  drop(owner: object): void;
  /** True if `next` returns an item. */
  hasNext(): boolean;
}

/**
 * The items of a partition that are in flight, in linked lists by a hash of the key. A `Map` of keys takes more time, and
 * allocates a new table in the old generation whenever it has emptied or filled with deleted entries.
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
      if (key === null || joinLine(linesOf(owner), key, item)) mayStart(item);
    },
    next: () => {
      const item = first;
      if (item === null) return undefined;
      first = item.after;
      if (first === null) last = null;
      // A completed item that is not collected yet must not keep later ones alive.
      item.after = null;
      return item;
    },
    putBack: mayStart,
    end: (item) => {
      const { key, owner } = item;
      const lines = partitions.get(owner);
      if (key === null || lines === undefined) return;
      const following = leaveLine(lines, key, item);
      if (following !== null) mayStart(following);
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

/** True if no other item with its key is in flight. */
function joinLine<Item extends Scheduled<Item>>(lines: Lines<Item>, key: string, item: Item) {
  const at = lineOf(key);
  let last = lines[at] ?? null;
  if (last === null) {
    lines[at] = item;
    return true;
  }
  let isFirst = last.key !== key;
  for (; last.behind !== null; isFirst &&= last.key !== key) last = last.behind;
  last.behind = item;
  return isFirst;
}

/** The next item with its key. */
function leaveLine<Item extends Scheduled<Item>>(lines: Lines<Item>, key: string, item: Item) {
  const at = lineOf(key);
  let before: Item | null = null;
  let here = lines[at] ?? null;
  while (here !== null && here !== item) {
    before = here;
    here = here.behind;
  }
  if (here === null) return null;
  let following = item.behind;
  if (before === null) lines[at] = following;
  else before.behind = following;
  item.behind = null;
  while (following !== null && following.key !== key) following = following.behind;
  return following;
}

function lineOf(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  return (hash ^ (hash >>> 15)) & (LINES - 1);
}
