/**
 * Plans a process's fetches from one broker: decides which partitions are in which request, and what a response means.
 * A cursor is one partition with an offset. All cursors share one fetch session (KIP-227), whose partitions the broker
 * stores.
 *
 *   a partition, when a request is built       in the request
 *   has a cursor, is new to the session        requested
 *   has a cursor with another offset or limit  requested again
 *   has a cursor, is unchanged                 omitted: the broker has stored it
 *   is in the session, without a cursor        forgotten, so it costs nothing while it is on hold or paused
 *   when a session starts                      requested, if it has a cursor
 *
 *   in a response                              then
 *   the session is unknown, or has another     a new session; all cursors stay
 *   epoch
 *   another error of the whole response        a new session, and the error
 *   session ID 0                               the broker has no session: the next request is whole again
 *   a partition without a cursor, or at        it is dropped: it belongs to an earlier request
 *   another offset
 *   any other partition                        its cursor gets the records, the error, or the log end offset
 *
 *   a lost connection                          ends the session: the next one replaces it
 *
 * One request of the session is in flight at a time: `request` is called again after `applyResponse` or
 * `endSession`. A partition has one cursor; a second group that reads it needs another session.
 */

import assert from "node:assert/strict";

import { type PartitionPlace, partitionKey } from "../../domain/record.ts";
import type { FetchWithSession, RequestedPartition } from "../wire/fetch-request.ts";
import type { FetchedSet, FetchResponse } from "../wire/fetch-response.ts";

const SESSION_NOT_FOUND = 70;
const INVALID_EPOCH = 71;
const EPOCH_MAX = 2 ** 31 - 1;

export interface PlannedCursor extends PartitionPlace {
  /** The result of `partitionKey`. */
  readonly key: string;
}

/** A partition that has a cursor, or is in the broker's session. */
interface Slot<C> {
  readonly key: string;
  /** Null if the partition is not fetched at the moment. */
  cursor: C | null;
  /** The partition as its cursor requests it; null if it has no cursor. */
  requested: RequestedPartition | null;
  /** A number that increases. The partition with the lowest number has waited longest, among those with a cursor. */
  turn: number;
  /** The number of the last request before the cursor was added or moved. */
  after: number;
  /** The partition as the broker has stored it; null if it is not in the session. */
  known: RequestedPartition | null;
  /** `true` if the partition is in `#changed`: it may differ from what the broker has stored. */
  isChanged: boolean;
}

export type Planned = Pick<
  FetchWithSession,
  "sessionId" | "sessionEpoch" | "requested" | "forgotten"
>;

/** The part of a response that belongs to a cursor. */
export interface Given<C> {
  readonly cursor: C;
  readonly set: FetchedSet;
  /** The requested offset. */
  readonly from: number;
}

type Meaning<C> =
  | { readonly kind: "session-lost" }
  | { readonly kind: "failed"; readonly errorCode: number }
  | { readonly kind: "results"; readonly given: readonly Given<C>[] };

export class FetchSession<C extends PlannedCursor> {
  /** By key. `want` adds a slot; a request removes those that it has forgotten. */
  readonly #slots = new Map<string, Slot<C>>();
  /** `want` and `drop` add slots, and the next request empties the list. */
  #changed: Slot<C>[] = [];
  /** The number of slots with a cursor. */
  #wanted = 0;
  /** Counts calls of `want`. */
  #turns = 0;
  /** From the latest response; 0 if there is no session. */
  #sessionId = 0;
  /** 0 if the next request starts a session. Rises with each response. */
  #epoch = 0;
  /** Counts calls of `request`. */
  #requests = 0;

  /** The number of partitions with a cursor. */
  get size(): number {
    return this.#wanted;
  }

  cursors(): readonly C[] {
    return [...this.#slots.values()].flatMap(({ cursor }) => cursor ?? []);
  }

  has(cursor: C): boolean {
    return this.#slots.get(cursor.key)?.cursor === cursor;
  }

  want(cursor: C, offset: number, maxBytes: number): void {
    const slot = this.#slotOf(cursor.key);
    if (slot.cursor === null) this.#wanted += 1;
    slot.cursor = cursor;
    slot.requested = { topic: cursor.topic, partition: cursor.partition, offset, maxBytes };
    slot.turn = this.#turns;
    slot.after = this.#requests;
    this.#turns += 1;
    this.#markChanged(slot);
  }

  /** The cursor's partition is not fetched until it is wanted again. */
  drop(cursor: C): void {
    const slot = this.#slots.get(cursor.key);
    if (slot === undefined || slot.cursor !== cursor) return;
    slot.cursor = null;
    slot.requested = null;
    assert(this.#wanted > 0);
    this.#wanted -= 1;
    this.#markChanged(slot);
  }

  /** `true` if a request that included the cursor has got a response, and the cursor still waits for records. */
  wasRequested(cursor: C, isInFlight: boolean): boolean {
    const slot = this.#slots.get(cursor.key);
    if (slot?.cursor !== cursor) return false;
    return slot.after < (isInFlight ? this.#requests - 1 : this.#requests);
  }

  /** Returns the next request; null if there is no cursor. */
  request(): Planned | null {
    if (this.#wanted === 0) return null;
    this.#requests += 1;
    const { requested, forgotten } = this.#epoch === 0 ? this.#whole() : this.#difference();
    return { sessionId: this.#sessionId, sessionEpoch: this.#epoch, requested, forgotten };
  }

  applyResponse(response: FetchResponse): Meaning<C> {
    const { errorCode, sessionId } = response;
    if (errorCode !== 0) {
      this.endSession();
      const isLost = errorCode === SESSION_NOT_FOUND || errorCode === INVALID_EPOCH;
      return isLost ? { kind: "session-lost" } : { kind: "failed", errorCode };
    }
    this.#sessionId = sessionId;
    if (sessionId === 0) this.#epoch = 0;
    else this.#epoch = this.#epoch === EPOCH_MAX ? 1 : this.#epoch + 1;
    return { kind: "results", given: response.sets.flatMap((set) => this.#given(set) ?? []) };
  }

  /** Called when the connection or the session is lost. The next request makes the broker drop the session. */
  endSession(): void {
    this.#epoch = 0;
    for (const slot of this.#slots.values()) slot.known = null;
  }

  #given(set: FetchedSet): Given<C> | null {
    const slot = this.#slots.get(partitionKey(set));
    if (slot === undefined || slot.cursor === null || slot.known === null) return null;
    const from = slot.known.offset;
    return slot.requested?.offset === from ? { cursor: slot.cursor, set, from } : null;
  }

  #slotOf(key: string): Slot<C> {
    const there = this.#slots.get(key);
    if (there !== undefined) return there;
    const slot: Slot<C> = {
      key,
      cursor: null,
      requested: null,
      turn: 0,
      after: 0,
      known: null,
      isChanged: false,
    };
    this.#slots.set(key, slot);
    return slot;
  }

  #markChanged(slot: Slot<C>): void {
    if (slot.isChanged) return;
    slot.isChanged = true;
    this.#changed.push(slot);
  }

  /**
   * The partitions that have waited longest come first, because a broker without sessions fills a response in
   * the order of the request.
   */
  #whole(): Pick<Planned, "requested" | "forgotten"> {
    const wanted: Slot<C>[] = [];
    for (const slot of this.#slots.values()) {
      slot.isChanged = false;
      slot.known = slot.requested;
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
      } else if (known !== null && isSame(known, slot.requested)) {
        slot.requested = known;
      } else {
        slot.known = slot.requested;
        requested.push(slot.requested);
      }
    }
    this.#changed = [];
    return { requested, forgotten };
  }
}

function isSame(one: RequestedPartition, other: RequestedPartition): boolean {
  return one.offset === other.offset && one.maxBytes === other.maxBytes;
}
