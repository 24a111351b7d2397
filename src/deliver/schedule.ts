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
  readonly partition: number;
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
  drop(partition: number): void;
  /** Whether `next` has something. */
  hasNext(): boolean;
}

/** Items of a key that wait for the one in hand; null while there are none. */
type Chains<Item> = Map<string, Item[] | null>;

export function createSchedule<Item extends Scheduled>(): Schedule<Item> {
  const partitions = new Map<number, Chains<Item>>();
  let ready: Item[] = [];
  let head = 0;
  const chainsOf = (partition: number): Chains<Item> => {
    const known = partitions.get(partition);
    if (known !== undefined) return known;
    const made: Chains<Item> = new Map();
    partitions.set(partition, made);
    return made;
  };
  return {
    add: (item) => {
      if (item.key === null) {
        ready.push(item);
        return;
      }
      const chains = chainsOf(item.partition);
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
      head += 1;
      // Cutting the front off now and then keeps a queue from costing what it once held.
      if (head === ready.length || head >= 1_024) {
        ready = ready.slice(head);
        head = 0;
      }
      return item;
    },
    end: ({ partition, key }) => {
      const chains = partitions.get(partition);
      if (key === null || chains === undefined) return;
      const waiting = chains.get(key);
      const following = waiting?.shift();
      if (following !== undefined) ready.push(following);
      else chains.delete(key);
    },
    drop: (partition) => {
      partitions.delete(partition);
      ready = ready.slice(head).filter((item) => item.partition !== partition);
      head = 0;
    },
    hasNext: () => head < ready.length,
  };
}
