/**
 * Which deliveries of a destination may start (docs/guarantees.md#order). Deliveries of one partition
 * with the same key go one after the other, all others side by side.
 *
 *   a delivery's key                     it
 *   none                                 may start
 *   no other one in hand                 may start
 *   another one in hand before it        waits for that one
 *
 * Those that may start do so in the order in which they became able to. Nothing is promised about
 * order between keys. `drop` forgets a partition that was taken away; ones under way are ended by
 * their caller, whose `end` then does nothing.
 */

export interface Scheduled<Item> {
  /** The partition as assigned this time: the same object for all its items. */
  readonly owner: object;
  /** Text that stands for the record's key; null: no key. */
  readonly key: string | null;
  /**
   * Kept by the schedule, null at first: the next item in the same line, and of those that may
   * start.
   */
  behind: Item | null;
  after: Item | null;
}

export interface Schedule<Item> {
  /** Takes an item; those of a partition in offset order. */
  add(item: Item): void;
  /** The next item that may start, or undefined. It is under way from now on. */
  next(): Item | undefined;
  /** An item that `next` gave does not start after all. It goes behind all that may start. */
  putBack(item: Item): void;
  /** The item is no longer under way: the next one of its key may start. */
  end(item: Item): void;
  /** Forgets all items of a partition. */
  drop(owner: object): void;
  /** Whether `next` has something. */
  hasNext(): boolean;
}

/**
 * The items of a partition in hand, in lines by a hash of the key. A `Map` of keys in hand takes
 * more time, and a new table from the old generation whenever it has emptied or filled with deleted
 * ones.
 */
type Lines<Item> = (Item | null)[];

/** A few hundred items of a partition are in hand at most. */
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
      // An item that is done and not yet collected should not keep alive those behind it.
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

/** Whether no other one of its key is in hand. */
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

/** The next one of its key. */
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
