/**
 * What is known about the order of a destination's deliveries, from the facts in the topic `order.<destination>`. A fact
 * is a small record about one delivery, and is never changed, so a write that arrives late cannot replace another one.
 *
 *   fact      written by                           means
 *   wait      the owner of the queue's partition   the delivery was not attempted; it waits behind an earlier one
 *   retry     the same                             the delivery was attempted, and its copy is in a delay topic or in
 *                                                  the retry topic, or it is a dead letter that holds its key
 *   settled   whoever settles a delivery of which  the delivery was accepted or dead-lettered
 *             a copy exists, or dead-letters one
 *
 * Each fact also says something about the earlier deliveries of its key, because of the order in which facts are
 * written (`ordered-partition.ts`):
 *
 *   settled n   every delivery up to n is settled
 *   retry n     every delivery before n is settled
 *   wait n      every delivery before n is settled, or a fact about it was written before this one
 *
 * So a delivery that is read again, and that has no fact although a later one of its key has, is settled. A key is free
 * if no fact about it is left that is not settled.
 */

import { hash } from "node:crypto";
import {
  eachHeader,
  type IncomingRecord,
  type OutgoingRecord,
  type RecordContent,
  type RecordHeader,
  type RecordHeaders,
  recordFor,
  type VisitHeader,
  type WithHeaders,
} from "../../domain/record.ts";

export type FactKind = "wait" | "retry" | "settled";

/** In the order in which facts of a delivery are removed. */
const KINDS: readonly FactKind[] = ["wait", "retry", "settled"];

export interface Fact {
  readonly kind: FactKind;
  /** A hash of the record key, because the topic must not contain user IDs. */
  readonly key: string;
  /** The offset of the delivery in its partition of the queue. */
  readonly offset: number;
}

/** The place of a delivery in the queue. */
export interface QueuePlace extends Pick<Fact, "key" | "offset"> {
  /** The partition, with the ID of its topic (`lineOf`). */
  readonly line: string;
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

/** The name of the header of a copy or of a dead letter that contains its place in the queue. */
export const PLACE_HEADER = "switchyard-queue-place";
const PLACE = /^(.+)\/(\d{1,15})$/;
const FACT = /^(.+?)\/(wait|retry|settled)\/(\d{1,15})\/(.+)$/s;
/** 128 bits. */
const KEY_CHARACTERS = 22;

/** Null if the delivery has no key, and therefore no order. */
export function orderKey({ key }: Pick<RecordContent, "key">): string | null {
  if (key === null || key.length === 0) return null;
  return hash("sha256", key, "base64url").slice(0, KEY_CHARACTERS);
}

/** Set by `readPlace`. A closure for each record would be an allocation for each record that has no place. */
let lastPlace = "";
const readPlace: VisitHeader = (name, bytes, start, end) => {
  if (name === PLACE_HEADER && start >= 0) lastPlace = bytes.toString("latin1", start, end);
};

/** The place in the queue that a copy or a dead letter names; null if it names none. */
export function queuePlaceOf(record: WithHeaders & Pick<RecordContent, "key">): QueuePlace | null {
  lastPlace = "";
  eachHeader(record, readPlace);
  if (lastPlace === "") return null;
  const [, line, offset] = PLACE.exec(lastPlace) ?? [];
  const key = orderKey(record);
  if (line === undefined || offset === undefined || key === null) return null;
  return { line, key, offset: Number(offset) };
}

/** A copy or a dead letter of a delivery with this place has this header. */
export function placeHeader({ line, offset }: Omit<QueuePlace, "key">): RecordHeader {
  return [PLACE_HEADER, Buffer.from(`${line}/${offset}`)];
}

/** The header of a record that has one. */
export function ownPlace(record: Parameters<typeof queuePlaceOf>[0]): RecordHeaders {
  const place = queuePlaceOf(record);
  return place === null ? [] : [placeHeader(place)];
}

export function withoutPlace(headers: RecordHeaders): RecordHeaders {
  return headers.filter(([name]) => name !== PLACE_HEADER);
}

/**
 * The name of a partition of the queue in facts and places. If the queue is created again, its offsets start again, so
 * what is known of the earlier one must not apply.
 *
 * @param topicId empty if the brokers have no topic IDs.
 */
export function lineOf(topicId: string, partition: number): string {
  return `${topicId}:${partition}`;
}

/** @param messageId of the delivery, for people who look for it; null for a tombstone. */
export function factRecord(
  topic: string,
  line: string,
  { kind, key: ofKey, offset }: Fact,
  messageId: string | null,
): OutgoingRecord {
  const key = Buffer.from(`${line}/${kind}/${offset}/${ofKey}`);
  const value = messageId === null ? null : Buffer.from(JSON.stringify({ messageId }));
  return recordFor(topic, key, value);
}

export interface ReadFact {
  readonly line: string;
  readonly fact: Fact;
  /** False for a tombstone. */
  readonly isThere: boolean;
}

/** Null if the record is not a fact. Only other programs write such records; they have no effect. */
export function readFact(record: Pick<IncomingRecord, "key" | "value">): ReadFact | null {
  const [, line, kind, offset, key] = FACT.exec(record.key?.toString() ?? "") ?? [];
  if (line === undefined || key === undefined) return null;
  const fact = { kind: kind as FactKind, key, offset: Number(offset) };
  return { line, fact, isThere: record.value !== null };
}

/** The facts of one key that are in the topic: by kind, and by offset, with the times at which they were written. */
export type KeyFacts = Readonly<Record<FactKind, ReadonlyMap<number, number>>>;

function heads({ retry, settled }: KeyFacts): Pick<KnownKey, "settledTo" | "head"> {
  const settledTo = highest(settled.keys());
  const retried = highest(retry.keys());
  return { settledTo, head: retried > settledTo ? retried : null };
}

function highest(offsets: Iterable<number>): number {
  let found = -1;
  for (const offset of offsets) found = Math.max(found, offset);
  return found;
}

type OwnFacts = Readonly<Record<FactKind, Map<number, number>>>;

/** The facts of one partition of the queue, as they are read from the topic. */
export class Facts {
  readonly #keys = new Map<string, OwnFacts>();

  /**
   * @param isThere false for a tombstone.
   * @param atMs when the fact was written.
   */
  apply({ kind, key, offset }: Fact, isThere: boolean, atMs = 0): void {
    const facts = this.#keys.get(key) ?? { wait: new Map(), retry: new Map(), settled: new Map() };
    if (isThere) facts[kind].set(offset, atMs);
    else facts[kind].delete(offset);
    const isEmpty = facts.wait.size + facts.retry.size + facts.settled.size === 0;
    if (isEmpty) this.#keys.delete(key);
    else this.#keys.set(key, facts);
  }

  keys(): Iterable<string> {
    return this.#keys.keys();
  }

  of(key: string): KeyFacts | undefined {
    return this.#keys.get(key);
  }

  /**
   *   facts                          the key
   *   none                           is free
   *   the highest retry is above     waits for that delivery
   *   the highest settled
   *   a wait is above both           waits, or is free to continue with that delivery
   *   a fact is below those          does not count: its delivery is settled
   */
  known(key: string): KnownKey {
    const facts = this.#keys.get(key);
    if (facts === undefined) return UNKNOWN;
    const { settledTo, head } = heads(facts);
    const from = head ?? settledTo;
    const waiting = [...facts.wait.keys()].filter((offset) => offset > from).sort((a, b) => a - b);
    return { settledTo, head, waiting, last: Math.max(from, waiting.at(-1) ?? -1) };
  }

  /** `true` if the delivery is certainly settled, so that a copy of it is a repeat. */
  isSettled(key: string, offset: number): boolean {
    const facts = this.#keys.get(key);
    if (facts === undefined) return false;
    const { settledTo, head } = heads(facts);
    return offset <= settledTo || (head !== null && offset < head);
  }

  *all(): Generator<Fact> {
    for (const [key, facts] of this.#keys) {
      for (const kind of KINDS)
        for (const offset of facts[kind].keys()) yield { kind, key, offset };
    }
  }

  /**
   * The facts that nothing can refer to any more, in the order in which they are removed: those about deliveries up to one
   * of which the fact `settled` was written before this time.
   */
  *settledBefore(ms: number): Generator<Fact> {
    for (const [key, facts] of this.#keys) {
      let to = -1;
      for (const [offset, atMs] of facts.settled) if (atMs < ms) to = Math.max(to, offset);
      if (to === -1) continue;
      for (const kind of KINDS) {
        for (const offset of facts[kind].keys()) if (offset <= to) yield { kind, key, offset };
      }
    }
  }
}
