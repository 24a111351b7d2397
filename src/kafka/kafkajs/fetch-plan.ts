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
 *   a partition with records                   its wish has them
 *   a partition without                        its end is noted; the wish stays
 *
 *   a connection that is lost                  ends the session: the next one replaces it
 *
 * One request of the session is under way at a time: `request` is called again after `answered` or
 * `lost`. A partition has one wish at a time. A later one of the same owner takes it over, one of
 * another owner (another group) goes to another plan: `isTakenBy` tells.
 */

import type { AskedPartition, FetchWithSession } from "../wire/fetch-request.ts";
import type { FetchedSet, FetchResponse } from "../wire/fetch-response.ts";

const SESSION_NOT_FOUND = 70;
const INVALID_EPOCH = 71;
const EPOCH_MAX = 2 ** 31 - 1;

export interface Wish {
  readonly owner: object;
  readonly partitions: readonly AskedPartition[];
}

export type Planned = Pick<FetchWithSession, "sessionId" | "sessionEpoch" | "asked" | "forgotten">;

export type Meaning<W extends Wish> =
  | { readonly kind: "session-lost" }
  | { readonly kind: "failed"; readonly errorCode: number; readonly wishes: readonly W[] }
  | { readonly kind: "answers"; readonly answers: ReadonlyMap<W, readonly FetchedSet[]> };

/** The broker remembers this of a partition. */
interface Known {
  readonly asked: AskedPartition;
  /** The partition's end; null: not told yet. */
  end: number | null;
}

interface Wished<W> {
  readonly wish: W;
  readonly asked: AskedPartition;
}

export class FetchPlan<W extends Wish> {
  /** By partition, the longest unanswered first: so whole requests ask for them in turns. */
  readonly #wished = new Map<string, Wished<W>>();
  /** By wish: how many of its partitions are still its own, and the request before it. */
  readonly #wishes = new Map<W, { left: number; readonly after: number }>();
  readonly #known = new Map<string, Known>();
  /** Partitions that may differ from what the broker remembers. */
  readonly #changed: string[] = [];
  #sessionId = 0;
  #epoch = 0;
  #requests = 0;

  /** Partitions that are wished. */
  get size(): number {
    return this.#wished.size;
  }

  wishes(): readonly W[] {
    return [...this.#wishes.keys()];
  }

  isTaken({ owner, partitions }: Wish): boolean {
    return partitions.some((each) => {
      const other = this.#wished.get(keyOf(each));
      return other !== undefined && other.wish.owner !== owner;
    });
  }

  /** Returns the wishes whose last partition it takes over. */
  add(wish: W): readonly W[] {
    const replaced: W[] = [];
    this.#wishes.set(wish, { left: wish.partitions.length, after: this.#requests });
    for (const asked of wish.partitions) {
      const key = keyOf(asked);
      const before = this.#wished.get(key);
      if (before !== undefined) {
        const other = this.#wishes.get(before.wish);
        if (other !== undefined && --other.left === 0) {
          this.#wishes.delete(before.wish);
          replaced.push(before.wish);
        }
      }
      this.#wished.delete(key);
      this.#wished.set(key, { wish, asked });
      this.#changed.push(key);
    }
    return replaced;
  }

  has(wish: W): boolean {
    return this.#wishes.has(wish);
  }

  remove(wish: W): void {
    if (!this.#wishes.delete(wish)) return;
    for (const asked of wish.partitions) {
      const key = keyOf(asked);
      if (this.#wished.get(key)?.wish !== wish) continue;
      this.#wished.delete(key);
      this.#changed.push(key);
    }
  }

  /** Whether a request that it was in has been answered: only then is it known that there is nothing. */
  wasAsked(wish: W, isUnderWay: boolean): boolean {
    const state = this.#wishes.get(wish);
    if (state === undefined) return false;
    return state.after < (isUnderWay ? this.#requests - 1 : this.#requests);
  }

  /** The partitions of a wish whose ends are known, without records. */
  ends(wish: W): readonly FetchedSet[] {
    return wish.partitions.flatMap((each) => {
      const key = keyOf(each);
      const end = this.#known.get(key)?.end ?? null;
      if (end === null || this.#wished.get(key)?.wish !== wish) return [];
      const { topic, partition } = each;
      return [
        { topic, partition, end, lastStableOffset: end, errorCode: 0, aborted: [], records: NONE },
      ];
    });
  }

  /** Null: nothing is wished. */
  request(): Planned | null {
    if (this.#wished.size === 0) return null;
    this.#requests += 1;
    const { asked, forgotten } = this.#epoch === 0 ? this.#whole() : this.#changes();
    this.#changed.length = 0;
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
    this.#known.clear();
  }

  #wishFor(set: FetchedSet): W | null {
    const key = keyOf(set);
    const known = this.#known.get(key);
    const wished = this.#wished.get(key);
    if (known === undefined) return null;
    if (set.errorCode === 0) known.end = set.end;
    if (wished === undefined || wished.asked.offset !== known.asked.offset) return null;
    return set.errorCode !== 0 || set.records.length > 0 ? wished.wish : null;
  }

  #whole(): Pick<Planned, "asked" | "forgotten"> {
    this.#known.clear();
    const asked: AskedPartition[] = [];
    for (const [key, wished] of this.#wished) {
      this.#known.set(key, { asked: wished.asked, end: null });
      asked.push(wished.asked);
    }
    return { asked, forgotten: [] };
  }

  #changes(): Pick<Planned, "asked" | "forgotten"> {
    const asked: AskedPartition[] = [];
    const forgotten: AskedPartition[] = [];
    for (const key of this.#changed) {
      const known = this.#known.get(key);
      const wished = this.#wished.get(key)?.asked;
      if (wished === undefined) {
        if (known !== undefined) forgotten.push(known.asked);
        this.#known.delete(key);
      } else if (known === undefined || !isSame(known.asked, wished)) {
        this.#known.set(key, { asked: wished, end: known?.end ?? null });
        asked.push(wished);
      }
    }
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
