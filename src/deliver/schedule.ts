/**
 * Which deliveries of a destination may start (SPEC 8.9). Deliveries of one partition with the
 * same key go one after the other, all others side by side.
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

export interface Scheduled {
  /** The partition as assigned this time: the same object for all its items. */
  readonly owner: object;
  /** Text that stands for the record's key; null: no key. */
  readonly key: string | null;
}

export interface Schedule<Item extends Scheduled> {
  /** Takes an item; those of a partition in offset order. */
  add(item: Item): void;
  /** The next item that may start, or undefined. It is under way from now on. */
  next(): Item | undefined;
  /** The item is no longer under way: the next one of its key may start. */
  end(item: Item): void;
  /** Forgets all items of a partition. */
  drop(owner: object): void;
  /** Whether `next` has something. */
  hasNext(): boolean;
}

/** Items of a key that wait for the one in hand; null while there are none. */
type Chains<Item> = Map<string, Item[] | null>;

export function createSchedule<Item extends Scheduled>(): Schedule<Item> {
  const partitions = new Map<object, Chains<Item>>();
  let ready: (Item | undefined)[] = [];
  let head = 0;
  const chainsOf = (owner: object): Chains<Item> => {
    const known = partitions.get(owner);
    if (known !== undefined) return known;
    const made: Chains<Item> = new Map();
    partitions.set(owner, made);
    return made;
  };
  return {
    add: (item) => {
      if (item.key === null) {
        ready.push(item);
        return;
      }
      const chains = chainsOf(item.owner);
      const waiting = chains.get(item.key);
      if (waiting === undefined) {
        chains.set(item.key, null);
        ready.push(item);
      } else if (waiting === null) {
        chains.set(item.key, [item]);
      } else {
        waiting.push(item);
      }
    },
    next: () => {
      const item = ready[head];
      if (item === undefined) return undefined;
      // Who keeps what is done makes each collection of garbage copy it.
      ready[head] = undefined;
      head += 1;
      // Cutting the front off now and then keeps a queue from costing what it once held.
      if (head === ready.length || head >= 1_024) {
        ready = ready.slice(head);
        head = 0;
      }
      return item;
    },
    end: ({ owner, key }) => {
      const chains = partitions.get(owner);
      if (key === null || chains === undefined) return;
      const waiting = chains.get(key);
      const following = waiting?.shift();
      if (following !== undefined) ready.push(following);
      else chains.delete(key);
    },
    drop: (owner) => {
      partitions.delete(owner);
      ready = ready.slice(head).filter((item) => item?.owner !== owner);
      head = 0;
    },
    hasNext: () => head < ready.length,
  };
}
