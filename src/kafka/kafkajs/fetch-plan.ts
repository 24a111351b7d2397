/**
 * The fetches of a process from one broker: which partitions go into which request, and what an
 * answer means. A member's fetch is a wish for partitions, each at an offset. All wishes travel in
 * one fetch session (KIP-227), in which the broker remembers what it was asked for.
 *
 *   a partition, when a request is made        in it
 *   wished, new to the session                 asked
 *   wished, at another offset or limit         asked anew
 *   wished, as before                          nothing: the broker remembers
 *   in the session, and wished no more         forgotten: a held or paused one costs nothing
 *   of a session that begins                   asked, if wished
 *
 *   in an answer                               then
 *   the session is not known, or its epoch     a new session; all wishes stand as before
 *   is another one
 *   another error of the whole                 wishes that were in the request fail
 *   session id 0                               the broker keeps none: the next request is whole again
 *   a partition that nobody wishes now, or     it is dropped: the answer is to an earlier wish
 *   at another offset
 *   a partition with an error                  its wish fails, and nobody else's
 *   a partition with records                   its wish has them; it ends, or goes on behind them
 *   a partition without                        its end is noted; the wish stays
 *
 *   a connection that is lost                  ends the session: the next one replaces it
 *
 * One request of the session is under way at a time: `request` is called again after `answered` or
 * `lost`. A partition has one wish at a time. A later one of the same owner takes it over, one of
 * another owner (another group) goes to another plan: `isTakenBy` tells.
 */

import { type Bagged, InFlightSet } from "../../runtime/in-flight-set.ts";
import type { AskedPartition, FetchWithSession } from "../wire/fetch-request.ts";
import type { FetchedSet, FetchResponse } from "../wire/fetch-response.ts";

const SESSION_NOT_FOUND = 70;
const INVALID_EPOCH = 71;
const EPOCH_MAX = 2 ** 31 - 1;

export interface Wish {
  readonly owner: object;
  readonly partitions: readonly AskedPartition[];
  /** The plan's own, while the wish stands in it. */
  standing?: Standing | undefined;
}

/** A wish in a plan. */
export interface Standing extends Bagged {
  readonly wish: Wish;
  /** In the order of the wish's partitions. Others may have taken some of them over. */
  readonly slots: readonly Slot[];
  /** How many of its partitions are still its own. */
  left: number;
  /** The request before it. */
  readonly after: number;
}

/**
 * A partition that is wished, or that the broker remembers. It stays while wishes come and go: a map
 * that they went through would be made anew again and again (`runtime/in-flight-set.ts`).
 */
interface Slot {
  readonly key: string;
  standing: Standing | null;
  /** As it is wished; null: nobody wishes it. */
  asked: AskedPartition | null;
  /** Of the partitions that are wished, the one with the lowest has waited longest. */
  turn: number;
  /** As the broker remembers it; null: it does not know the partition. */
  known: AskedPartition | null;
  /** The partition's end; null: not told yet. */
  end: number | null;
  /** It may differ from what the broker remembers, and stands in the list of those. */
  isChanged: boolean;
}

export type Planned = Pick<FetchWithSession, "sessionId" | "sessionEpoch" | "asked" | "forgotten">;

export type Meaning<W extends Wish> =
  | { readonly kind: "session-lost" }
  | { readonly kind: "failed"; readonly errorCode: number; readonly wishes: readonly W[] }
  | { readonly kind: "answers"; readonly answers: ReadonlyMap<W, readonly FetchedSet[]> };

export class FetchPlan<W extends Wish> {
  readonly #slots = new Map<string, Slot>();
  readonly #standing = new InFlightSet<Standing>();
  #changed: Slot[] = [];
  #wished = 0;
  #turns = 0;
  #sessionId = 0;
  #epoch = 0;
  #requests = 0;

  /** Partitions that are wished. */
  get size(): number {
    return this.#wished;
  }

  wishes(): readonly W[] {
    return this.#standing.all().map(({ wish }) => wish as W);
  }

  isTaken({ owner, partitions }: Wish): boolean {
    return partitions.some((each) => {
      const other = this.#slots.get(keyOf(each))?.standing ?? null;
      return other !== null && other.wish.owner !== owner;
    });
  }

  /** Returns the wishes whose last partition it takes over. */
  add(wish: W): readonly W[] {
    const replaced: W[] = [];
    const slots = wish.partitions.map((asked) => this.#slotOf(keyOf(asked)));
    const left = slots.length;
    const standing: Standing = { place: -1, wish, slots, left, after: this.#requests };
    wish.standing = standing;
    this.#standing.add(standing);
    for (const [at, slot] of slots.entries()) {
      const before = slot.standing;
      if (before === null) this.#wished += 1;
      else if (--before.left === 0) {
        this.#leaves(before);
        replaced.push(before.wish as W);
      }
      slot.standing = standing;
      slot.asked = wish.partitions[at] ?? null;
      slot.turn = this.#turns;
      this.#turns += 1;
      this.#changes(slot);
    }
    return replaced;
  }

  /** From now on the wish is for the partition at this offset. */
  advance({ standing }: W, index: number, asked: AskedPartition): void {
    const slot = standing?.slots[index];
    if (slot === undefined || slot.standing !== standing) return;
    slot.asked = asked;
    slot.turn = this.#turns;
    this.#turns += 1;
    this.#changes(slot);
  }

  has(wish: W): boolean {
    return wish.standing !== undefined;
  }

  remove(wish: W): void {
    const { standing } = wish;
    if (standing === undefined) return;
    this.#leaves(standing);
    for (const slot of standing.slots) {
      if (slot.standing !== standing) continue;
      slot.standing = null;
      slot.asked = null;
      this.#wished -= 1;
      this.#changes(slot);
    }
  }

  /** Whether a request that it was in has been answered: only then is it known that there is nothing. */
  wasAsked({ standing }: W, isUnderWay: boolean): boolean {
    if (standing === undefined) return false;
    return standing.after < (isUnderWay ? this.#requests - 1 : this.#requests);
  }

  /** The partitions of a wish whose ends are known, without records. */
  ends({ standing, partitions }: W): readonly FetchedSet[] {
    return (standing?.slots ?? []).flatMap((slot, at) => {
      const { end } = slot;
      const asked = partitions[at];
      if (end === null || slot.standing !== standing || asked === undefined) return [];
      const { topic, partition } = asked;
      return [
        { topic, partition, end, lastStableOffset: end, errorCode: 0, aborted: [], records: NONE },
      ];
    });
  }

  /** Null: nothing is wished. */
  request(): Planned | null {
    if (this.#wished === 0) return null;
    this.#requests += 1;
    const { asked, forgotten } = this.#epoch === 0 ? this.#whole() : this.#difference();
    return { sessionId: this.#sessionId, sessionEpoch: this.#epoch, asked, forgotten };
  }

  answered(response: FetchResponse): Meaning<W> {
    const { errorCode, sessionId } = response;
    if (errorCode === SESSION_NOT_FOUND || errorCode === INVALID_EPOCH) {
      this.lost();
      return { kind: "session-lost" };
    }
    if (errorCode !== 0) {
      this.lost();
      const wishes = this.wishes().filter((wish) => this.wasAsked(wish, false));
      return { kind: "failed", errorCode, wishes };
    }
    this.#sessionId = sessionId;
    if (sessionId === 0) this.#epoch = 0;
    else this.#epoch = this.#epoch === EPOCH_MAX ? 1 : this.#epoch + 1;
    const answers = new Map<W, FetchedSet[]>();
    for (const set of response.sets) {
      const wish = this.#wishFor(set);
      if (wish === null) continue;
      const sets = answers.get(wish);
      if (sets === undefined) answers.set(wish, [set]);
      else sets.push(set);
    }
    return { kind: "answers", answers };
  }

  /** The connection, or the session, is gone. The broker is asked to drop what it has of it. */
  lost(): void {
    this.#epoch = 0;
    for (const slot of this.#slots.values()) slot.known = slot.end = null;
  }

  #wishFor(set: FetchedSet): W | null {
    const slot = this.#slots.get(keyOf(set));
    if (slot === undefined || slot.known === null) return null;
    if (set.errorCode === 0) slot.end = set.end;
    if (slot.standing === null || slot.asked?.offset !== slot.known.offset) return null;
    return set.errorCode !== 0 || set.records.length > 0 ? (slot.standing.wish as W) : null;
  }

  #slotOf(key: string): Slot {
    const there = this.#slots.get(key);
    if (there !== undefined) return there;
    const [standing, asked, known, end] = [null, null, null, null];
    const slot: Slot = { key, standing, asked, turn: 0, known, end, isChanged: false };
    this.#slots.set(key, slot);
    return slot;
  }

  #leaves(standing: Standing): void {
    standing.wish.standing = undefined;
    this.#standing.delete(standing);
  }

  #changes(slot: Slot): void {
    if (slot.isChanged) return;
    slot.isChanged = true;
    this.#changed.push(slot);
  }

  /** The longest unanswered first: a broker without sessions fills an answer from the front. */
  #whole(): Pick<Planned, "asked" | "forgotten"> {
    const wished: Slot[] = [];
    for (const slot of this.#slots.values()) {
      slot.isChanged = false;
      slot.known = slot.asked;
      slot.end = null;
      if (slot.asked === null) this.#slots.delete(slot.key);
      else wished.push(slot);
    }
    this.#changed = [];
    wished.sort((one, other) => one.turn - other.turn);
    return { asked: wished.flatMap(({ asked }) => asked ?? []), forgotten: [] };
  }

  #difference(): Pick<Planned, "asked" | "forgotten"> {
    const asked: AskedPartition[] = [];
    const forgotten: AskedPartition[] = [];
    for (const slot of this.#changed) {
      const { known } = slot;
      slot.isChanged = false;
      if (slot.asked === null) {
        if (known !== null) forgotten.push(known);
        this.#slots.delete(slot.key);
      } else if (known === null || !isSame(known, slot.asked)) {
        slot.known = slot.asked;
        asked.push(slot.asked);
      }
    }
    this.#changed = [];
    return { asked, forgotten };
  }
}

const NONE = Buffer.alloc(0);

function keyOf({ topic, partition }: { readonly topic: string; readonly partition: number }) {
  return `${topic}/${partition}`;
}

function isSame(one: AskedPartition, other: AskedPartition): boolean {
  return one.offset === other.offset && one.maxBytes === other.maxBytes;
}
