/**
 * Plans a process's fetches from one broker: decides which partitions each request contains, and what a response means.
 * A member's fetch is a cursor: a list of partitions, each with an offset. All cursors share one fetch session
 * (KIP-227), in which the broker remembers what was requested.
 *
 *   a partition, when a request is built       in the request
 *   of a cursor, new to the session            requested
 *   of a cursor, with another offset or limit  requested again
 *   of a cursor, unchanged                     omitted: the broker remembers it
 *   in the session, without a cursor           forgotten, so partitions on hold or paused cost nothing
 *   when a session starts                      requested, if it has a cursor
 *
 *   in a response                              then
 *   the session is unknown, or has another     a new session; all cursors stay
 *   epoch
 *   another error of the whole response        the cursors that were in the request fail
 *   session ID 0                               the broker has no session: the next request is complete again
 *   a partition without a cursor, or at        dropped, because it was requested by an earlier cursor
 *   another offset
 *   a partition with an error                  only its cursor fails
 *   a partition with records                   its cursor gets them, and then ends or moves past them
 *   a partition without records                its log end offset is noted; the cursor stays
 *
 *   a lost connection                          ends the session: the next one replaces it
 *
 * One request of the session is in flight at a time: `request` is called again after `applyResponse` or
 * `endSession`. A partition has one cursor at a time. A later cursor of the same owner takes over the partition. A
 * cursor of another owner, which is another group, must be in another plan (see `isTaken`).
 */

import { type InFlightItem, InFlightSet } from "../../runtime/in-flight-set.ts";
import type { FetchWithSession, RequestedPartition } from "../wire/fetch-request.ts";
import type { FetchedSet, FetchResponse } from "../wire/fetch-response.ts";

const SESSION_NOT_FOUND = 70;
const INVALID_EPOCH = 71;
const EPOCH_MAX = 2 ** 31 - 1;

export interface FetchCursor {
  readonly owner: object;
  readonly partitions: readonly RequestedPartition[];
  /** Set by the plan while it contains the cursor. */
  entry?: CursorEntry | undefined;
}

/** A cursor in a plan. */
interface CursorEntry extends InFlightItem {
  readonly cursor: FetchCursor;
  /** In the order of the cursor's partitions. Later cursors may have taken over some of them. */
  readonly slots: readonly Slot[];
  /** How many partitions the cursor still has. */
  left: number;
  /** The number of the last request that was built before this cursor was added. */
  readonly after: number;
}

/**
 * A partition that has a cursor, or that the broker remembers. The slot is kept when its cursor ends, because
 * a map of cursors would be rebuilt again and again (`runtime/in-flight-set.ts`).
 */
interface Slot {
  readonly key: string;
  entry: CursorEntry | null;
  /** The partition as its cursor requests it; null if it has no cursor. */
  requested: RequestedPartition | null;
  /** The partition with the lowest turn has waited longest among the partitions with a cursor. */
  turn: number;
  /** The partition as the broker remembers it; null if it is not in the session. */
  known: RequestedPartition | null;
  /** The log end offset; null if not known yet. */
  end: number | null;
  /** `true` if the partition is in the list of those that may differ from what the broker remembers. */
  isChanged: boolean;
}

export type Planned = Pick<
  FetchWithSession,
  "sessionId" | "sessionEpoch" | "requested" | "forgotten"
>;

type Meaning<W extends FetchCursor> =
  | { readonly kind: "session-lost" }
  | { readonly kind: "failed"; readonly errorCode: number; readonly cursors: readonly W[] }
  | { readonly kind: "results"; readonly results: ReadonlyMap<W, readonly FetchedSet[]> };

export class FetchPlan<W extends FetchCursor> {
  readonly #slots = new Map<string, Slot>();
  readonly #entries = new InFlightSet<CursorEntry>();
  #changed: Slot[] = [];
  #wanted = 0;
  #turns = 0;
  #sessionId = 0;
  #epoch = 0;
  #requests = 0;

  /** The number of partitions with a cursor. */
  get size(): number {
    return this.#wanted;
  }

  cursors(): readonly W[] {
    return this.#entries.all().map(({ cursor }) => cursor as W);
  }

  isTaken({ owner, partitions }: FetchCursor): boolean {
    return partitions.some((each) => {
      const other = this.#slots.get(keyOf(each))?.entry ?? null;
      return other !== null && other.cursor.owner !== owner;
    });
  }

  /** Adds a cursor. Returns the cursors whose last remaining partition it takes over. */
  add(cursor: W): readonly W[] {
    const replaced: W[] = [];
    const slots = cursor.partitions.map((requested) => this.#slotOf(keyOf(requested)));
    const left = slots.length;
    const entry: CursorEntry = { place: -1, cursor, slots, left, after: this.#requests };
    cursor.entry = entry;
    this.#entries.add(entry);
    for (const [at, slot] of slots.entries()) {
      const before = slot.entry;
      if (before === null) this.#wanted += 1;
      else if (--before.left === 0) {
        this.#drop(before);
        replaced.push(before.cursor as W);
      }
      slot.entry = entry;
      slot.requested = cursor.partitions[at] ?? null;
      slot.turn = this.#turns;
      this.#turns += 1;
      this.#markChanged(slot);
    }
    return replaced;
  }

  /** Moves the cursor to this offset of the partition. */
  advance({ entry }: W, index: number, requested: RequestedPartition): void {
    const slot = entry?.slots[index];
    if (slot === undefined || slot.entry !== entry) return;
    slot.requested = requested;
    slot.turn = this.#turns;
    this.#turns += 1;
    this.#markChanged(slot);
  }

  has(cursor: W): boolean {
    return cursor.entry !== undefined;
  }

  remove(cursor: W): void {
    const { entry } = cursor;
    if (entry === undefined) return;
    this.#drop(entry);
    for (const slot of entry.slots) {
      if (slot.entry !== entry) continue;
      slot.entry = null;
      slot.requested = null;
      this.#wanted -= 1;
      this.#markChanged(slot);
    }
  }

  /**
   * `true` if there is a response to a request that included the cursor: only then is it certain that there are no
   * records.
   */
  wasRequested({ entry }: W, isInFlight: boolean): boolean {
    if (entry === undefined) return false;
    return entry.after < (isInFlight ? this.#requests - 1 : this.#requests);
  }

  /** The log end offsets of the cursor's partitions, if they are known; the sets have no records. */
  ends({ entry, partitions }: W): readonly FetchedSet[] {
    return (entry?.slots ?? []).flatMap((slot, at) => {
      const { end } = slot;
      const requested = partitions[at];
      if (end === null || slot.entry !== entry || requested === undefined) return [];
      const { topic, partition } = requested;
      return [
        { topic, partition, end, lastStableOffset: end, errorCode: 0, aborted: [], records: NONE },
      ];
    });
  }

  /** Returns the next request; null if there is no cursor. */
  request(): Planned | null {
    if (this.#wanted === 0) return null;
    this.#requests += 1;
    const { requested, forgotten } = this.#epoch === 0 ? this.#whole() : this.#difference();
    return { sessionId: this.#sessionId, sessionEpoch: this.#epoch, requested, forgotten };
  }

  applyResponse(response: FetchResponse): Meaning<W> {
    const { errorCode, sessionId } = response;
    if (errorCode === SESSION_NOT_FOUND || errorCode === INVALID_EPOCH) {
      this.endSession();
      return { kind: "session-lost" };
    }
    if (errorCode !== 0) {
      this.endSession();
      const cursors = this.cursors().filter((cursor) => this.wasRequested(cursor, false));
      return { kind: "failed", errorCode, cursors };
    }
    this.#sessionId = sessionId;
    if (sessionId === 0) this.#epoch = 0;
    else this.#epoch = this.#epoch === EPOCH_MAX ? 1 : this.#epoch + 1;
    const results = new Map<W, FetchedSet[]>();
    for (const set of response.sets) {
      const cursor = this.#cursorFor(set);
      if (cursor === null) continue;
      const sets = results.get(cursor);
      if (sets === undefined) results.set(cursor, [set]);
      else sets.push(set);
    }
    return { kind: "results", results };
  }

  /** Called when the connection or the session is lost. The next request makes the broker drop the session. */
  endSession(): void {
    this.#epoch = 0;
    for (const slot of this.#slots.values()) slot.known = slot.end = null;
  }

  #cursorFor(set: FetchedSet): W | null {
    const slot = this.#slots.get(keyOf(set));
    if (slot === undefined || slot.known === null) return null;
    if (set.errorCode === 0) slot.end = set.end;
    if (slot.entry === null || slot.requested?.offset !== slot.known.offset) return null;
    return set.errorCode !== 0 || set.records.length > 0 ? (slot.entry.cursor as W) : null;
  }

  #slotOf(key: string): Slot {
    const there = this.#slots.get(key);
    if (there !== undefined) return there;
    const [entry, requested, known, end] = [null, null, null, null];
    const slot: Slot = { key, entry, requested, turn: 0, known, end, isChanged: false };
    this.#slots.set(key, slot);
    return slot;
  }

  #drop(entry: CursorEntry): void {
    entry.cursor.entry = undefined;
    this.#entries.delete(entry);
  }

  #markChanged(slot: Slot): void {
    if (slot.isChanged) return;
    slot.isChanged = true;
    this.#changed.push(slot);
  }

  /**
   * Builds a complete request. The partitions that have waited longest come first, because a broker without sessions
   * fills a response in the order of the request.
   */
  #whole(): Pick<Planned, "requested" | "forgotten"> {
    const wanted: Slot[] = [];
    for (const slot of this.#slots.values()) {
      slot.isChanged = false;
      slot.known = slot.requested;
      slot.end = null;
      if (slot.requested === null) this.#slots.delete(slot.key);
      else wanted.push(slot);
    }
    this.#changed = [];
    wanted.sort((one, other) => one.turn - other.turn);
    return { requested: wanted.flatMap(({ requested }) => requested ?? []), forgotten: [] };
  }

  #difference(): Pick<Planned, "requested" | "forgotten"> {
    const requested: RequestedPartition[] = [];
    const forgotten: RequestedPartition[] = [];
    for (const slot of this.#changed) {
      const { known } = slot;
      slot.isChanged = false;
      if (slot.requested === null) {
        if (known !== null) forgotten.push(known);
        this.#slots.delete(slot.key);
      } else if (known === null || !isSame(known, slot.requested)) {
        slot.known = slot.requested;
        requested.push(slot.requested);
      }
    }
    this.#changed = [];
    return { requested, forgotten };
  }
}

const NONE = Buffer.alloc(0);

function keyOf({ topic, partition }: { readonly topic: string; readonly partition: number }) {
  return `${topic}/${partition}`;
}

function isSame(one: RequestedPartition, other: RequestedPartition): boolean {
  return one.offset === other.offset && one.maxBytes === other.maxBytes;
}
