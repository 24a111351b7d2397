/**
 * One partition of one member, as it is read. A cursor is fetched from its source while all of these hold:
 *
 *   it has                                 set by
 *   a position                             the member: from a commit, or the log's first offset
 *   a source, its leader's session         the member: when leaders are known, and when they move
 *   no pause                               back-pressure
 *   no records on their way to the member  the source takes it out, and the member returns it
 *
 * So a partition has at most one fetch that is not passed on, and its next fetch starts at the position that the member
 * has set.
 */

import { type PartitionPlace, partitionKey } from "../../domain/record.ts";
import type { FetchedBatch } from "../membership.ts";
import type { FetchPolicy } from "../wire/decode-partition.ts";

/** The member that a cursor belongs to. Neither callback may throw. */
export interface CursorOwner {
  /** The cursor is out until `cursor.give()` is called. */
  readonly fetched: (cursor: Cursor, batch: FetchedBatch) => void;
  /** The same, but the partition could not be read. */
  readonly failed: (cursor: Cursor, error: Error) => void;
}

interface Source {
  want(cursor: Cursor, offset: number): void;
  drop(cursor: Cursor): void;
  detach(cursor: Cursor): void;
  respondedAtMs(cursor: Cursor): number | null;
}

export class Cursor {
  readonly topic: string;
  readonly partition: number;
  /** The result of `partitionKey`, kept here because creating the string for each fetch would take too long. */
  readonly key: string;
  readonly owner: CursorOwner;
  readonly policy: FetchPolicy;
  /** Limit of one response. */
  readonly maxBytes: number;
  // The table above says who sets these four.
  /** Null until it is known. */
  #position: number | null = null;
  #source: Source | null = null;
  #isPaused = false;
  #isOut = false;
  /** `true` while the source requests the partition. Set by `#update`, except that leaving a source ends it. */
  #isWanted = false;
  /** `true` from a move until the source has been told. */
  #hasMoved = false;
  /** Rises with each move, pause, and change of the source. */
  #turn = 0;

  constructor(
    place: PartitionPlace,
    owner: CursorOwner,
    options: { readonly policy: FetchPolicy; readonly maxBytes: number },
  ) {
    this.topic = place.topic;
    this.partition = place.partition;
    this.key = partitionKey(place);
    this.owner = owner;
    this.policy = options.policy;
    this.maxBytes = options.maxBytes;
  }

  get position(): number | null {
    return this.#position;
  }

  get source(): Source | null {
    return this.#source;
  }

  /** Changes when records that were fetched so far must not be passed on any more. */
  get turn(): number {
    return this.#turn;
  }

  /** When a broker last responded to a request that included this cursor, in epoch milliseconds. */
  respondedAtMs(): number | null {
    return this.#source?.respondedAtMs(this) ?? null;
  }

  /** The source must have accepted the cursor. Null if the partition has no leader. */
  setSource(source: Source | null): void {
    if (source === this.#source) return;
    this.#leave();
    this.#source = source;
    this.#isOut = false;
    this.#update();
  }

  moveTo(position: number): void {
    this.#position = position;
    this.#turn += 1;
    this.#hasMoved = true;
    this.#update();
  }

  pause(): void {
    this.#isPaused = true;
    this.#turn += 1;
    this.#update();
  }

  resume(): void {
    this.#isPaused = false;
    this.#update();
  }

  /** Called by the source before it passes anything on. */
  take(): void {
    this.#isOut = true;
    this.#update();
  }

  /** Called by the member when it has handled the batch or the error. */
  give(): void {
    this.#isOut = false;
    this.#update();
  }

  /** Called when the member does not own the partition any more. */
  close(): void {
    this.#position = null;
    this.#leave();
    this.#source = null;
  }

  #leave(): void {
    this.#turn += 1;
    this.#isWanted = false;
    this.#source?.detach(this);
  }

  #update(): void {
    const source = this.#source;
    if (source === null) return;
    const position = this.#isPaused || this.#isOut ? null : this.#position;
    if (position === null) {
      if (this.#isWanted) source.drop(this);
      this.#isWanted = false;
    } else if (!this.#isWanted || this.#hasMoved) {
      this.#isWanted = true;
      this.#hasMoved = false;
      source.want(this, position);
    }
  }
}
