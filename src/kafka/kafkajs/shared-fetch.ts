/**
 * Carries out the fetches of all members from one broker, on one connection: `fetch-plan.ts` decides what is
 * requested and what a response means, and `fetch-schedule.ts` decides when. One request is in flight at a
 * time.
 *
 *   a member's fetch ends                         with
 *   when one of its partitions has records        the records, and known log end offsets of the others
 *   when one has an error, or is corrupt          that error, as kafkajs creates it
 *   when its time is over, and it was sent        the known log end offsets
 *   when the connection breaks, or the broker     the connection's error
 *     is silent (`fetch-silence.ts`)
 *   when the member leaves, fetches again, or     nothing
 *     ends it
 *
 * A batch of a few kilobytes may inflate to hundreds of megabytes. The fetch to which such a batch belongs is set
 * aside, and the other fetches continue meanwhile. The partitions of a fetch that was set aside are requested again
 * with the member's next fetch.
 *
 * This code commits nothing, and requests only offsets that a member has requested.
 */

import type { Inflated } from "../wire/decode-records.ts";
import { encodeFetch, type FetchWithSession } from "../wire/fetch-request.ts";
import type { FetchedSet, FetchResponse } from "../wire/fetch-response.ts";
import { readFetchResponse } from "../wire/fetch-response.ts";
import { FETCH } from "../wire/request-kinds.ts";
import type { BrokerConnection } from "./broker-connection.ts";
import type { FetchRequest } from "./consumer-group.ts";
import type { FetchCursor } from "./fetch-plan.ts";
import { FetchPlan, type Planned } from "./fetch-plan.ts";
import {
  type DecodedPartition,
  decodedOf,
  decodeResponse,
  type FetchResult,
  isSame,
  type NextOffset,
  NOTHING,
  overlaps,
  parse,
  partitionsWithRecords,
  type Requested,
  requestedIn,
  resultOf,
  rotated,
  type TakeResult,
} from "./fetch-result.ts";
import {
  brokerWaitsMs,
  responseMaxBytes,
  spacedUntilMs,
  startsInMs,
  throttledPauseMs,
} from "./fetch-schedule.ts";
import { FetchSilence, SILENT_MS } from "./fetch-silence.ts";
import { createErrorFromCode, type Protocol } from "./internals.ts";

/**
 * How many fetches may be set aside at a time, because each keeps its response in memory. One more such fetch blocks
 * all others.
 */
const ASIDE_MAX = 4;

/** Is notified when a broker does not respond to Fetch requests, and when it responds again. */
export interface FetchOutages {
  readonly reportSilence: (error: Error) => void;
  readonly reportResponse: () => void;
}

export class SharedFetch {
  readonly connection: BrokerConnection;
  readonly #outages: FetchOutages;
  readonly #silence = new FetchSilence();
  #requestCount = 0;
  /** `true` if a request was sent and its response has not arrived. */
  #isWaiting = false;
  readonly #plan = new FetchPlan<MemberFetch>();
  readonly #members = new Map<object, FetchingMember>();
  /** Fetches whose batches are inflated in pieces, and which are therefore no longer in the plan. */
  readonly #aside = new Set<MemberFetch>();
  /** The number of members without a fetch. */
  #without = 0;
  #isNextTimed = false;
  #isInFlight = false;
  /**
   * `true` while records are decoded. If a fetch ended during that time, its records would have to be fetched again.
   */
  #isDecoding = false;
  /** Fetches whose time is over, but which wait for a response. */
  #late: MemberFetch[] = [];
  #spacedUntilMs = Number.NEGATIVE_INFINITY;
  #respondedAtMs = Number.NEGATIVE_INFINITY;
  /** Number of consecutive responses that were throttled and had no records. */
  #throttled = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #responseMaxBytes = responseMaxBytes();
  /** When the broker last responded, as a time of day; null if never. */
  #respondedDate: number | null = null;
  #recordsAtMs = performance.now();
  /** The shortest wait that any fetch that is not sent yet requests. */
  #requestedWaitMs = Number.POSITIVE_INFINITY;

  constructor(connection: BrokerConnection, outages: FetchOutages) {
    this.connection = connection;
    this.#outages = outages;
  }

  /** Call every 2.5 s. */
  look(): void {
    const { bytesRead, hasPending } = this.connection;
    const requestNumber = this.#isWaiting ? this.#requestCount : null;
    const sight = { requestNumber, bytesRead, hasPending, respondedAtMs: this.#respondedAtMs };
    const finding = this.#silence.look(sight, performance.now());
    if (finding === "unused") this.#outages.reportResponse();
    if (finding !== "silent") return;
    this.#outages.reportSilence(
      new Error(`no response to a Fetch request within ${SILENT_MS / 1_000} s`),
    );
    this.connection.close();
  }

  /** `true` if another member fetches one of the partitions. */
  isTaken(member: object, request: FetchRequest): boolean {
    return this.#plan.isTaken({ owner: member, partitions: requestedIn(request) });
  }

  /** @param take is called with the records that arrive; the fetch continues if it returns offsets. */
  fetch(member: object, request: FetchRequest, take?: TakeResult): Promise<FetchResult> {
    return new Promise((resolve, reject) => {
      // If a batch is larger than a partition's share, the response contains only the first partition. So the request
      // starts with a random partition.
      const partitions = [...rotated(requestedIn(request))];
      const fetching = this.#memberOf(member);
      const cursor: MemberFetch = {
        owner: member,
        member: fetching,
        entry: undefined,
        partitions,
        take,
        resolve,
        reject,
        timer: undefined,
        isLate: false,
      };
      cursor.timer = setTimeout(() => this.#timeOut(cursor), request.maxWaitTime);
      for (const each of this.#aside) {
        if (each.owner === member && overlaps(each.partitions, cursor.partitions))
          this.#settle(each).resolve(NOTHING);
      }
      if (fetching.cursor !== null) this.#settle(fetching.cursor).resolve(NOTHING);
      this.#plan.add(cursor);
      fetching.cursor = cursor;
      this.#without -= 1;
      this.#requestedWaitMs = Math.min(this.#requestedWaitMs, request.maxWaitTime);
      this.#schedule();
    });
  }

  /** Ends the member's fetch without records. */
  end(member: object): void {
    const cursor = this.#members.get(member)?.cursor;
    if (cursor != null) this.#settle(cursor).resolve(NOTHING);
  }

  /** When the broker last responded to a request that included the member's fetch, in epoch milliseconds. */
  respondedAtMs(member: object): number | null {
    const cursor = this.#members.get(member)?.cursor ?? null;
    return cursor !== null && this.#plan.wasRequested(cursor, this.#isInFlight)
      ? this.#respondedDate
      : null;
  }

  /** Call when the member stops fetching. */
  leave(member: object): void {
    if (!this.#members.has(member)) return;
    for (const cursor of [...this.#plan.cursors(), ...this.#aside]) {
      if (cursor.owner === member) this.#settle(cursor).resolve(NOTHING);
    }
    this.#members.delete(member);
    this.#without -= 1;
  }

  #memberOf(member: object): FetchingMember {
    const there = this.#members.get(member);
    if (there !== undefined) return there;
    const fetching: FetchingMember = { cursor: null };
    this.#members.set(member, fetching);
    this.#without += 1;
    return fetching;
  }

  #schedule(): void {
    if (this.#isInFlight || this.#isNextTimed || this.#plan.size === 0) return;
    const pacing = {
      untilMs: this.#spacedUntilMs,
      respondedAtMs: this.#respondedAtMs,
      partitions: this.#plan.size,
      isEverybodyIn: this.#without === 0,
    };
    const nowMs = performance.now();
    const inMs = Math.max(startsInMs(pacing, nowMs), this.#pausedUntilMs - nowMs);
    this.#isNextTimed = true;
    // A timer would cost another wake-up, and would fire only after a millisecond.
    if (inMs === 0) setImmediate(() => void this.#sendNext());
    else setTimeout(() => void this.#sendNext(), inMs);
  }

  async #sendNext(): Promise<void> {
    this.#isNextTimed = false;
    this.#isInFlight = true;
    try {
      // The request is built as late as possible: when there is a connection.
      await this.connection.open();
      const planned = this.#plan.request();
      if (planned === null) return;
      const partitions = this.#plan.size;
      const untilMs = this.#spacedUntilMs;
      this.#spacedUntilMs = spacedUntilMs({ untilMs, partitions }, performance.now());
      this.#requestCount += 1;
      this.#isWaiting = true;
      const response = await this.connection.send<FetchResponse>(this.#protocol(planned));
      this.#isWaiting = false;
      const hasRecords = response.sets.some(({ records }) => records.length > 0);
      // A response that contains any partition, even one with an error, was not withheld by the broker.
      const isWithheld = this.connection.throttledForMs > 0 && response.sets.length === 0;
      this.#responseMaxBytes = responseMaxBytes(this.#responseMaxBytes, { hasRecords, isWithheld });
      this.#throttled = isWithheld ? this.#throttled + 1 : 0;
      this.#pausedUntilMs = performance.now() + throttledPauseMs(this.#throttled);
      if (this.#silence.recordResponse()) this.#outages.reportResponse();
      this.#isDecoding = true;
      this.#respondedDate = Date.now();
      await this.#handleResponse(response);
    } catch (error) {
      this.#plan.endSession();
      for (const cursor of this.#plan.cursors()) this.#settle(cursor).reject(error);
    } finally {
      this.#isWaiting = false;
      this.#isInFlight = false;
      this.#isDecoding = false;
      this.#respondedAtMs = performance.now();
      this.#schedule();
    }
  }

  async #handleResponse(response: FetchResponse): Promise<void> {
    const meaning = this.#plan.applyResponse(response);
    if (meaning.kind === "failed") {
      const error = createErrorFromCode(meaning.errorCode);
      for (const cursor of meaning.cursors) this.#settle(cursor).reject(error);
    }
    if (meaning.kind !== "results") return;
    // All members share one limit of inflated bytes, because a response contains partitions of many members.
    // When the limit is used up, the remaining records are left for another response. So each partition must be the
    // first one from time to time.
    const inflated = { bytes: 0, left: partitionsWithRecords(meaning.results.values()) };
    for (const [cursor, sets] of rotated([...meaning.results])) {
      if (!this.#plan.has(cursor)) continue;
      this.#recordsAtMs = performance.now();
      const aside = Promise.withResolvers<void>();
      const given = this.#give(cursor, sets, inflated, () => {
        if (this.#aside.size >= ASIDE_MAX || !this.#plan.has(cursor)) return;
        this.#plan.remove(cursor);
        this.#aside.add(cursor);
        // The member's next fetch may start at any moment.
        this.#detach(cursor);
        aside.resolve();
      });
      await Promise.race([given, aside.promise]);
    }
    const late = this.#late;
    this.#late = [];
    for (const cursor of late) {
      if (!this.#plan.has(cursor)) continue;
      if (this.#plan.wasRequested(cursor, false)) this.#end(cursor);
      else this.#late.push(cursor);
    }
  }

  /** Never rejects. */
  async #give(
    cursor: MemberFetch,
    sets: readonly FetchedSet[],
    inflated: Inflated,
    comesInPieces: () => void,
  ): Promise<void> {
    try {
      const result = await parse(await this.#decode(cursor, sets, inflated, comesInPieces));
      if (cursor.take === undefined) this.#settle(cursor).resolve(result);
      else if (this.#plan.has(cursor)) this.#take(cursor, cursor.take(result));
      else if (this.#aside.has(cursor)) {
        // This fetch is no longer in the plan, so it cannot continue. The member starts another one.
        cursor.take(result);
        this.#settle(cursor).resolve(NOTHING);
      }
    } catch (error) {
      this.#settle(cursor).reject(error);
    }
  }

  async #decode(
    cursor: MemberFetch,
    sets: readonly FetchedSet[],
    inflated: Inflated,
    comesInPieces: () => void,
  ): Promise<FetchResult> {
    // A fetch that may continue reports the log end offsets when its time is over.
    const ends = cursor.take === undefined ? this.#plan.ends(cursor) : [];
    const others = ends.filter((end) => !sets.some((set) => isSame(set, end)));
    const how = { inflated, comesInPieces };
    return decodeResponse(cursor.partitions, [...rotated(sets), ...others], how);
  }

  #take(cursor: MemberFetch, next: readonly NextOffset[] | null): void {
    if (next === null || cursor.isLate) {
      this.#settle(cursor).resolve(NOTHING);
      return;
    }
    for (const { topic, partition, offset } of next) {
      const at = cursor.partitions.findIndex((each) => isSame(each, { topic, partition }));
      const requested = cursor.partitions[at];
      if (requested === undefined) continue;
      cursor.partitions[at] = { ...requested, offset };
      this.#plan.advance(cursor, at, cursor.partitions[at]);
    }
  }

  #timeOut(cursor: MemberFetch): void {
    if (!this.#isDecoding && this.#plan.wasRequested(cursor, this.#isInFlight)) this.#end(cursor);
    else {
      cursor.isLate = true;
      this.#late.push(cursor);
    }
  }

  #end(cursor: MemberFetch): void {
    const decoded = this.#plan
      .ends(cursor)
      .map((set): [string, DecodedPartition] => [set.topic, decodedOf(set, 0, [])]);
    this.#settle(cursor).resolve(resultOf(decoded));
  }

  #settle(cursor: MemberFetch): MemberFetch {
    clearTimeout(cursor.timer);
    this.#plan.remove(cursor);
    this.#aside.delete(cursor);
    this.#detach(cursor);
    return cursor;
  }

  #detach(cursor: MemberFetch): void {
    if (cursor.member.cursor !== cursor) return;
    cursor.member.cursor = null;
    this.#without += 1;
  }

  #protocol(planned: Planned): Protocol {
    const nowMs = performance.now();
    const isEverybodyIn = this.#without === 0;
    const quietMs = nowMs - this.#recordsAtMs;
    const maxWaitMs = brokerWaitsMs({
      isEverybodyIn,
      quietMs,
      requestedWaitMs: this.#requestedWaitMs,
    });
    this.#requestedWaitMs = Number.POSITIVE_INFINITY;
    return fetchProtocol({ ...planned, maxWaitMs, maxBytes: this.#responseMaxBytes });
  }
}

/** The shared fetch's state for one member. */
interface FetchingMember {
  /** The fetch that waits for a response. A member has one fetch at a time: a later fetch ends it. */
  cursor: MemberFetch | null;
}

interface MemberFetch extends FetchCursor {
  readonly member: FetchingMember;
  readonly partitions: Requested[];
  readonly take: TakeResult | undefined;
  readonly resolve: (result: FetchResult) => void;
  readonly reject: (error: unknown) => void;
  timer: NodeJS.Timeout | undefined;
  isLate: boolean;
}

/** A Fetch request with a session, and its response, in the form that kafkajs' connections use. */
function fetchProtocol(fetch: FetchWithSession): Protocol {
  return {
    request: {
      apiKey: FETCH.apiKey,
      apiVersion: Math.max(...FETCH.versions),
      apiName: FETCH.apiName,
      encode: async (roomBytes = 0) => ({ buffer: encodeFetch(fetch, roomBytes), roomBytes }),
    },
    response: {
      decode: async (payload: Buffer) => readFetchResponse(payload),
      parse: async (response: unknown) => response,
    },
  };
}
