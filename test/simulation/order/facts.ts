/**
 * What is known about the order of one queue's partition, from its facts: small records in a compacted topic, which has
 * as many partitions as the queue. A fact is about one delivery, and is never changed, so a write that arrives late
 * cannot replace another one.
 *
 *   fact      written by                           means
 *   wait      the owner of the queue's partition   the delivery was not attempted; it waits behind an earlier one
 *   retry     the same                             the delivery was attempted, and its copy is in a delay topic or in
 *                                                  the retry topic, or it is a dead letter that holds its key
 *   settled   whoever settles a delivery of which  the delivery was accepted or dead-lettered
 *             a copy exists, or dead-letters one
 *
 * Each fact also says something about the earlier deliveries of its key, because of the order in which facts are
 * written (`steps.ts`):
 *
 *   settled n   every delivery up to n is settled
 *   retry n     every delivery before n is settled
 *   wait n      every delivery before n is settled, or a fact about it was written before this one
 *
 * So a delivery that is read again, and that has no fact although a later one of its key has, is settled. A key is free
 * if no fact about it is left that is not settled.
 */

export type FactKind = "wait" | "retry" | "settled";

export interface Fact {
  readonly kind: FactKind;
  readonly key: string;
  readonly offset: number;
}

/** What the facts say about one key. */
export interface KnownKey {
  /** Every delivery up to this offset is settled; -1 if none is known to be. */
  readonly settledTo: number;
  /** The delivery that is retried; null if there is none. */
  readonly head: number | null;
  /** The deliveries that wait, in order. */
  readonly waiting: readonly number[];
  /** The highest offset of any fact; -1 if there is none. */
  readonly last: number;
}

export const UNKNOWN: KnownKey = { settledTo: -1, head: null, waiting: [], last: -1 };

export function factName({ kind, key, offset }: Fact): string {
  return `${kind}/${offset}/${key}`;
}

export function parseFact(name: string): Fact {
  const [kind = "", offset = "", key = ""] = name.split("/");
  return { kind: kind as FactKind, key, offset: Number(offset) };
}

/** The facts of one key that are in the topic, by kind. */
export interface KeyFacts {
  readonly wait: ReadonlySet<number>;
  readonly retry: ReadonlySet<number>;
  readonly settled: ReadonlySet<number>;
}

/**
 *   facts                          the key
 *   none                           is free
 *   the highest retry is above     waits for that delivery
 *   the highest settled
 *   a wait is above both           waits, or is free to continue with that delivery
 *   a fact is below those          does not count: its delivery is settled
 */
function known({ wait, retry, settled }: KeyFacts): KnownKey {
  const settledTo = Math.max(-1, ...settled);
  const retried = Math.max(-1, ...retry);
  const head = retried > settledTo ? retried : null;
  const from = Math.max(settledTo, retried);
  const waiting = [...wait].filter((offset) => offset > from).sort((one, other) => one - other);
  return { settledTo, head, waiting, last: Math.max(from, ...wait) };
}

/** `true` if the delivery is certainly settled, so that a copy of it is a repeat. */
export function isSettled({ settledTo, head }: KnownKey, offset: number): boolean {
  return offset <= settledTo || (head !== null && offset < head);
}

/** The facts of one partition, as they are read from its topic. */
export class Facts {
  readonly #keys = new Map<
    string,
    { wait: Set<number>; retry: Set<number>; settled: Set<number> }
  >();
  readonly #isOneEach: boolean;

  /** @param isOneEach false for a design in which a key has only one fact `retry` and one fact `settled`. */
  constructor(isOneEach = true) {
    this.#isOneEach = isOneEach;
  }

  /** @param isThere false for a tombstone. */
  apply({ kind, key, offset }: Fact, isThere: boolean): void {
    const facts = this.#keys.get(key) ?? { wait: new Set(), retry: new Set(), settled: new Set() };
    if (!this.#isOneEach && kind !== "wait") facts[kind].clear();
    if (isThere) facts[kind].add(offset);
    else facts[kind].delete(offset);
    this.#keys.set(key, facts);
  }

  keys(): Iterable<string> {
    return this.#keys.keys();
  }

  of(key: string): KeyFacts | undefined {
    return this.#keys.get(key);
  }

  known(key: string): KnownKey {
    const facts = this.#keys.get(key);
    return facts === undefined ? UNKNOWN : known(facts);
  }
}
