/**
 * Fetches from one broker for all members of the process, on one connection: `session.ts` decides what is
 * requested and what a response means, `schedule.ts` decides when, and `silence.ts` notices a broker that does
 * not respond. One request is in flight at a time.
 *
 *   what comes                                   then
 *   records of a partition                       its cursor is taken out, and its member gets them
 *   an error of a partition, a corrupt batch     the same with the error, for this partition alone
 *   a partition without records                  its member gets the log end offset
 *   an error that lasts: no permission, an old   all cursors get it
 *     broker, rejected credentials; or an
 *     unexpected one, five times in a row
 *   any other error, a connection that breaks,   all cursors stay, and the request is repeated after 300 ms.
 *     a silent broker                            Leaders are looked up: the partitions may have moved
 *
 * A batch of a few kilobytes may inflate to hundreds of megabytes. Its cursor is then set aside, and the
 * others continue meanwhile.
 */

import { asError } from "../../base/runtime/as-error.ts";
import type { BrokerConnection } from "../broker/broker-connection.ts";
import type { Request } from "../broker/request.ts";
import { commonVersion } from "../broker/request-version.ts";
import { FETCH, fetch } from "../broker/requests.ts";
import { errorKind, protocolError } from "../cluster/kafka-error.ts";
import { CORRUPT_MESSAGE, decodePartition } from "../wire/decode-partition.ts";
import type { Inflated } from "../wire/decode-records.ts";
import type { FetchResponse } from "../wire/fetch-response.ts";
import type { Cursor } from "./cursor.ts";
import { DecodedBatch } from "./fetched-batch.ts";
import {
  brokerWaitsMs,
  responseMaxBytes,
  spacedUntilMs,
  startsInMs,
  throttledPauseMs,
} from "./schedule.ts";
import { FetchSession, type Given, type Planned } from "./session.ts";
import { FetchSilence, SILENT_MS } from "./silence.ts";

/** How many cursors may be set aside at a time. Each keeps its response in memory; one more blocks the others. */
const ASIDE_MAX = 4;
const AGAIN_MS = 300;
/** How many requests in a row may fail for a reason that is neither an outage nor known to last. */
const UNEXPECTED_MAX = 5;

/** Is notified when a broker does not respond to Fetch requests, and when it responds again. */
export interface FetchOutages {
  readonly reportSilence: (error: Error) => void;
  readonly reportResponse: () => void;
}

interface SourceOptions {
  readonly connection: BrokerConnection;
  /** `host:port`, for errors. */
  readonly broker: string;
  readonly outages: FetchOutages;
  /** Called when a request has failed, because the leaders of these topics may have moved. */
  readonly onLost: (topics: ReadonlySet<string>) => void;
}

export class FetchSource {
  readonly #options: SourceOptions;
  readonly #silence = new FetchSilence();
  readonly #session = new FetchSession<Cursor>();
  /** All cursors of partitions that are read here, by partition. */
  readonly #cursors = new Map<string, Cursor>();
  #requestCount = 0;
  #aside = 0;
  #unexpected = 0;
  /** `true` if a request was sent and its response has not arrived. */
  #isWaiting = false;
  #isNextTimed = false;
  #isInFlight = false;
  #spacedUntilMs = Number.NEGATIVE_INFINITY;
  #respondedAtMs = Number.NEGATIVE_INFINITY;
  /** Number of consecutive responses that were throttled and had no records. */
  #throttled = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #responseMaxBytes = responseMaxBytes();
  /** When the broker last responded, as a time of day; null if never. */
  #respondedDate: number | null = null;
  #recordsAtMs = performance.now();

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  /** `true` if nothing is read here, and the connection is closed. */
  get isUnused(): boolean {
    return this.#cursors.size === 0 && !this.#options.connection.isOpen;
  }

  /** Returns `false` if another group reads the same partition here: a session can have a partition only once. */
  attach(cursor: Cursor): boolean {
    const there = this.#cursors.get(cursor.key);
    if (there !== undefined && there !== cursor) return false;
    this.#cursors.set(cursor.key, cursor);
    return true;
  }

  detach(cursor: Cursor): void {
    this.#session.drop(cursor);
    if (this.#cursors.get(cursor.key) === cursor) this.#cursors.delete(cursor.key);
  }

  want(cursor: Cursor, offset: number): void {
    this.#session.want(cursor, offset, cursor.maxBytes);
    this.#schedule();
  }

  drop(cursor: Cursor): void {
    this.#session.drop(cursor);
  }

  /** When the broker last responded to a request that included the cursor, in epoch milliseconds. */
  respondedAtMs(cursor: Cursor): number | null {
    return this.#session.wasRequested(cursor, this.#isInFlight) ? this.#respondedDate : null;
  }

  /** Called every 2.5 s. */
  look(): void {
    const { connection, outages } = this.#options;
    const { bytesRead, hasPending } = connection;
    const requestNumber = this.#isWaiting ? this.#requestCount : null;
    const sight = { requestNumber, bytesRead, hasPending, respondedAtMs: this.#respondedAtMs };
    const finding = this.#silence.look(sight, performance.now());
    if (finding === "unused") outages.reportResponse();
    if (finding !== "silent") return;
    outages.reportSilence(
      new Error(`no response to a Fetch request within ${SILENT_MS / 1_000} s`),
    );
    connection.close();
  }

  closeIfUnused(forMs: number): void {
    this.#options.connection.closeIfUnused(forMs);
  }

  close(): void {
    this.#options.connection.close();
  }

  /** `true` if no cursor is paused or out: none is about to be requested. */
  get #isEverybodyIn(): boolean {
    return this.#session.size === this.#cursors.size;
  }

  #schedule(): void {
    if (this.#isInFlight || this.#isNextTimed || this.#session.size === 0) return;
    const pacing = {
      untilMs: this.#spacedUntilMs,
      respondedAtMs: this.#respondedAtMs,
      partitions: this.#session.size,
      isEverybodyIn: this.#isEverybodyIn,
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
    const { connection, broker } = this.#options;
    try {
      // The request is built as late as possible: when there is a connection.
      const { versions } = await connection.open();
      commonVersion(FETCH, versions[FETCH.apiKey], broker);
      const planned = this.#session.request();
      if (planned === null) return;
      const partitions = this.#session.size;
      const untilMs = this.#spacedUntilMs;
      this.#spacedUntilMs = spacedUntilMs({ untilMs, partitions }, performance.now());
      this.#requestCount += 1;
      this.#isWaiting = true;
      const response = await connection.send(this.#request(planned));
      this.#isWaiting = false;
      this.#noteResponse(response);
      await this.#handleResponse(response);
    } catch (error) {
      this.#failed(asError(error));
    } finally {
      this.#isWaiting = false;
      this.#isInFlight = false;
      this.#respondedAtMs = performance.now();
      this.#schedule();
    }
  }

  #noteResponse(response: FetchResponse): void {
    const hasRecords = response.sets.some(({ records }) => records.length > 0);
    // A response that contains a partition, such as one whose leader has moved, was not withheld.
    const isWithheld = this.#options.connection.throttledForMs > 0 && response.sets.length === 0;
    this.#responseMaxBytes = responseMaxBytes(this.#responseMaxBytes, { hasRecords, isWithheld });
    this.#throttled = isWithheld ? this.#throttled + 1 : 0;
    this.#pausedUntilMs = performance.now() + throttledPauseMs(this.#throttled);
    if (this.#silence.recordResponse()) this.#options.outages.reportResponse();
    this.#respondedDate = Date.now();
    this.#unexpected = 0;
  }

  #failed(error: Error): void {
    this.#session.endSession();
    this.#pausedUntilMs = performance.now() + AGAIN_MS;
    const kind = errorKind(error);
    this.#unexpected = kind === "unknown" ? this.#unexpected + 1 : 0;
    if (kind !== "fatal" && this.#unexpected < UNEXPECTED_MAX) {
      this.#options.onLost(new Set([...this.#cursors.values()].map(({ topic }) => topic)));
      return;
    }
    this.#unexpected = 0;
    for (const cursor of this.#session.cursors()) {
      cursor.take();
      cursor.owner.failed(cursor, error);
    }
  }

  async #handleResponse(response: FetchResponse): Promise<void> {
    const meaning = this.#session.applyResponse(response);
    if (meaning.kind === "failed") throw protocolError(meaning.errorCode);
    if (meaning.kind !== "results") return;
    const { given } = meaning;
    // All members share one limit of inflated bytes, because a response contains partitions of many members.
    // When the limit is used up, the remaining records are left for another response, so each partition must
    // come first at some time.
    const left = given.filter(({ set }) => set.records.length > 0).length;
    const inflated = { bytes: 0, left };
    for (const each of rotated(given)) {
      if (!this.#session.has(each.cursor)) continue;
      const aside = Promise.withResolvers<void>();
      const passed = this.#pass(each, inflated, () => {
        if (this.#aside >= ASIDE_MAX || !this.#session.has(each.cursor)) return false;
        each.cursor.take();
        aside.resolve();
        return true;
      });
      await Promise.race([passed, aside.promise]);
    }
  }

  /** Never rejects. */
  async #pass(
    { cursor, set, from }: Given<Cursor>,
    inflated: Inflated,
    setAside: () => boolean,
  ): Promise<void> {
    const { turn } = cursor;
    let isAside = false;
    const comesInPieces = (): void => {
      if (isAside || !setAside()) return;
      isAside = true;
      this.#aside += 1;
    };
    try {
      if (set.errorCode !== 0 && set.errorCode !== CORRUPT_MESSAGE)
        throw protocolError(set.errorCode, set.topic);
      if (set.records.length > 0) this.#recordsAtMs = performance.now();
      const wanted = { from, ...cursor.policy, comesInPieces };
      const decoded = await decodePartition(set.records, set, wanted, inflated);
      if (cursor.turn !== turn) return;
      const batch = new DecodedBatch(set, from, decoded);
      cursor.take();
      cursor.owner.fetched(cursor, batch);
    } catch (error) {
      if (cursor.turn !== turn) return;
      cursor.take();
      cursor.owner.failed(cursor, asError(error));
    } finally {
      if (isAside) this.#aside -= 1;
    }
  }

  #request(planned: Planned): Request<FetchResponse> {
    const maxWaitMs = brokerWaitsMs({
      isEverybodyIn: this.#isEverybodyIn,
      quietMs: performance.now() - this.#recordsAtMs,
    });
    return fetch({ ...planned, maxWaitMs, maxBytes: this.#responseMaxBytes });
  }
}

/** The items in the same order, from a random one on, wrapping around. */
function rotated<Item>(items: readonly Item[]): readonly Item[] {
  if (items.length < 2) return items;
  const first = Math.floor(Math.random() * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
