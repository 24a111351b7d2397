/**
 * Carries out the fetches of all members from one broker, on one connection: `fetch-plan.ts` says
 * what is asked and what an answer means, `fetch-schedule.ts` when. One request is under way at a time.
 *
 *   a member's fetch ends                         with
 *   when a partition of it has records            them, and the known ends of its other partitions
 *   when one has an error, or is damaged          that error, as kafkajs makes it
 *   when its time is over, and it was asked for   the known ends
 *   when the connection breaks, or the broker     the connection's error
 *     is silent (`fetch-silence.ts`)
 *   when the member leaves, asks anew, or has     nothing
 *   it ended
 *
 * A batch of a few kilobytes may inflate to hundreds of megabytes. Its fetch is set aside then: the
 * others' are answered and asked on meanwhile. Its partitions are asked for again with its member's
 * next fetch.
 *
 * Nothing is committed here, and no offset is asked for that no member has asked for.
 */

import type { Inflated } from "../wire/decode-records.ts";
import type { FetchedSet, FetchResponse } from "../wire/fetch-response.ts";
import type { Line } from "./broker-connection.ts";
import type { FetchRequest } from "./consumer-group.ts";
import { decodeAnswer, partitionsWithRecords, turned } from "./decode-response.ts";
import { isSame, overlaps } from "./fetch-place.ts";
import { FetchPlan, type Planned } from "./fetch-plan.ts";
import { fetchProtocol } from "./fetch-protocol.ts";
import {
  answerOf,
  askedIn,
  type DecodedPartition,
  decodedOf,
  type FetchAnswer,
  type NextOffset,
  NOTHING,
  parse,
  type TakeAnswer,
} from "./fetch-result.ts";
import {
  answerMaxBytes,
  beginsInMs,
  brokerWaitsMs,
  spacedUntilMs,
  throttledPauseMs,
} from "./fetch-schedule.ts";
import { FetchSilence, SILENT_MS } from "./fetch-silence.ts";
import { createErrorFromCode, type Protocol } from "./internals.ts";
import type { FetchingMember, MemberWish } from "./member-fetch.ts";

/** Fetches set aside at a time. Each holds its answer; one more holds up the others. */
const ASIDE_MAX = 4;

/** Told of a broker that does not respond to Fetch requests, and when that is over. */
export interface FetchOutages {
  readonly fetchesSilent: (error: Error) => void;
  readonly fetchesAnswered: () => void;
}

export class SharedFetch {
  readonly line: Line;
  readonly #outages: FetchOutages;
  readonly #silence = new FetchSilence();
  #asked = 0;
  /** A request was sent, and its answer has not come. */
  #isWaiting = false;
  readonly #plan = new FetchPlan<MemberWish>();
  readonly #members = new Map<object, FetchingMember>();
  /** Wishes whose batches are inflated in pieces; they are in the plan no more. */
  readonly #aside = new Set<MemberWish>();
  /** Members without a wish. */
  #without = 0;
  #isNextTimed = false;
  #isUnderWay = false;
  /** Records are decoded: a wish that ended now would have to fetch its own again. */
  #isAnswering = false;
  /** Their time is over, and they wait for an answer. */
  #late: MemberWish[] = [];
  #spacedUntilMs = Number.NEGATIVE_INFINITY;
  #answeredAtMs = Number.NEGATIVE_INFINITY;
  /** Responses in a row that were throttled and had nothing. */
  #throttled = 0;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #answerMaxBytes = answerMaxBytes();
  /** The same as a time of day; null: never. */
  #answeredDate: number | null = null;
  #recordsAtMs = performance.now();
  /** The shortest of the wishes that are not asked yet. */
  #wishedMs = Number.POSITIVE_INFINITY;

  constructor(line: Line, outages: FetchOutages) {
    this.line = line;
    this.#outages = outages;
  }

  /** Called every 2.5 s. */
  look(): void {
    const { bytesRead, isHeldBack } = this.line;
    const asked = this.#isWaiting ? this.#asked : null;
    const sight = { asked, bytesRead, isHeldBack, answeredAtMs: this.#answeredAtMs };
    const finding = this.#silence.look(sight, performance.now());
    if (finding === "unused") this.#outages.fetchesAnswered();
    if (finding !== "silent") return;
    this.#outages.fetchesSilent(
      new Error(`no response to a Fetch request within ${SILENT_MS / 1_000} s`),
    );
    this.line.close();
  }

  /** Whether another member has a wish for one of the partitions. */
  isTaken(member: object, request: FetchRequest): boolean {
    return this.#plan.isTaken({ owner: member, partitions: askedIn(request) });
  }

  /** @param take has what comes first, and may keep the fetch going. */
  fetch(member: object, request: FetchRequest, take?: TakeAnswer): Promise<FetchAnswer> {
    return new Promise((resolve, reject) => {
      // A batch may be larger than a partition's part: then an answer has the first partition alone.
      const partitions = [...turned(askedIn(request))];
      const fetching = this.#memberOf(member);
      const wish: MemberWish = {
        owner: member,
        member: fetching,
        standing: undefined,
        partitions,
        take,
        resolve,
        reject,
        timer: undefined,
        isLate: false,
      };
      wish.timer = setTimeout(() => this.#isOver(wish), request.maxWaitTime);
      for (const each of this.#aside) {
        if (each.owner === member && overlaps(each.partitions, wish.partitions))
          this.#settle(each).resolve(NOTHING);
      }
      if (fetching.wish !== null) this.#settle(fetching.wish).resolve(NOTHING);
      this.#plan.add(wish);
      fetching.wish = wish;
      this.#without -= 1;
      this.#wishedMs = Math.min(this.#wishedMs, request.maxWaitTime);
      this.#soon();
    });
  }

  /** The member's fetch ends with nothing. */
  end(member: object): void {
    const wish = this.#members.get(member)?.wish;
    if (wish != null) this.#settle(wish).resolve(NOTHING);
  }

  /** When the broker last answered a request that the member's fetch stood in, in epoch milliseconds. */
  answeredAtMs(member: object): number | null {
    const wish = this.#members.get(member)?.wish ?? null;
    return wish !== null && this.#plan.wasAsked(wish, this.#isUnderWay) ? this.#answeredDate : null;
  }

  /** The member fetches no more. */
  leave(member: object): void {
    if (!this.#members.has(member)) return;
    for (const wish of [...this.#plan.wishes(), ...this.#aside]) {
      if (wish.owner === member) this.#settle(wish).resolve(NOTHING);
    }
    this.#members.delete(member);
    this.#without -= 1;
  }

  #memberOf(member: object): FetchingMember {
    const there = this.#members.get(member);
    if (there !== undefined) return there;
    const fetching: FetchingMember = { wish: null };
    this.#members.set(member, fetching);
    this.#without += 1;
    return fetching;
  }

  #soon(): void {
    if (this.#isUnderWay || this.#isNextTimed || this.#plan.size === 0) return;
    const rhythm = {
      untilMs: this.#spacedUntilMs,
      answeredAtMs: this.#answeredAtMs,
      partitions: this.#plan.size,
      isEverybodyIn: this.#without === 0,
    };
    const nowMs = performance.now();
    const inMs = Math.max(beginsInMs(rhythm, nowMs), this.#pausedUntilMs - nowMs);
    this.#isNextTimed = true;
    // A timer would wake the process once more, and no sooner than a millisecond from now.
    if (inMs === 0) setImmediate(() => void this.#ask());
    else setTimeout(() => void this.#ask(), inMs);
  }

  async #ask(): Promise<void> {
    this.#isNextTimed = false;
    this.#isUnderWay = true;
    try {
      // The plan is made when there is a connection, as late as can be.
      await this.line.open();
      const planned = this.#plan.request();
      if (planned === null) return;
      const partitions = this.#plan.size;
      const untilMs = this.#spacedUntilMs;
      this.#spacedUntilMs = spacedUntilMs({ untilMs, partitions }, performance.now());
      this.#asked += 1;
      this.#isWaiting = true;
      const response = await this.line.send<FetchResponse>(this.#protocol(planned));
      this.#isWaiting = false;
      const hasRecords = response.sets.some(({ records }) => records.length > 0);
      // One that names a partition, such as one with another leader, was not withheld.
      const isWithheld = this.line.throttledForMs > 0 && response.sets.length === 0;
      this.#answerMaxBytes = answerMaxBytes(this.#answerMaxBytes, { hasRecords, isWithheld });
      this.#throttled = isWithheld ? this.#throttled + 1 : 0;
      this.#pausedUntilMs = performance.now() + throttledPauseMs(this.#throttled);
      if (this.#silence.answered()) this.#outages.fetchesAnswered();
      this.#isAnswering = true;
      this.#answeredDate = Date.now();
      await this.#answered(response);
    } catch (error) {
      this.#plan.lost();
      for (const wish of this.#plan.wishes()) this.#settle(wish).reject(error);
    } finally {
      this.#isWaiting = false;
      this.#isUnderWay = false;
      this.#isAnswering = false;
      this.#answeredAtMs = performance.now();
      this.#soon();
    }
  }

  async #answered(response: FetchResponse): Promise<void> {
    const meaning = this.#plan.answered(response);
    if (meaning.kind === "failed") {
      const error = createErrorFromCode(meaning.errorCode);
      for (const wish of meaning.wishes) this.#settle(wish).reject(error);
    }
    if (meaning.kind !== "answers") return;
    // One budget of inflated bytes: a broker fills an answer with partitions of many members. Where
    // it is used up records are left for another answer, so that each has to come to be the first.
    const inflated = { bytes: 0, left: partitionsWithRecords(meaning.answers.values()) };
    for (const [wish, sets] of turned([...meaning.answers])) {
      if (!this.#plan.has(wish)) continue;
      this.#recordsAtMs = performance.now();
      const aside = Promise.withResolvers<void>();
      const given = this.#give(wish, sets, inflated, () => {
        if (this.#aside.size >= ASIDE_MAX || !this.#plan.has(wish)) return;
        this.#plan.remove(wish);
        this.#aside.add(wish);
        // Its member's next wish may come any moment.
        this.#waitsNoMore(wish);
        aside.resolve();
      });
      await Promise.race([given, aside.promise]);
    }
    const late = this.#late;
    this.#late = [];
    for (const wish of late) {
      if (!this.#plan.has(wish)) continue;
      if (this.#plan.wasAsked(wish, false)) this.#end(wish);
      else this.#late.push(wish);
    }
  }

  /** Never rejects. */
  async #give(
    wish: MemberWish,
    sets: readonly FetchedSet[],
    inflated: Inflated,
    comesInPieces: () => void,
  ): Promise<void> {
    try {
      const answer = await parse(await this.#decode(wish, sets, inflated, comesInPieces));
      if (wish.take === undefined) this.#settle(wish).resolve(answer);
      else if (this.#plan.has(wish)) this.#take(wish, wish.take(answer));
      else if (this.#aside.has(wish)) {
        // It stands in the plan no more, so that it cannot go on. Its member fetches anew.
        wish.take(answer);
        this.#settle(wish).resolve(NOTHING);
      }
    } catch (error) {
      this.#settle(wish).reject(error);
    }
  }

  async #decode(
    wish: MemberWish,
    sets: readonly FetchedSet[],
    inflated: Inflated,
    comesInPieces: () => void,
  ): Promise<FetchAnswer> {
    // A fetch that goes on tells them when it is over.
    const ends = wish.take === undefined ? this.#plan.ends(wish) : [];
    const others = ends.filter((end) => !sets.some((set) => isSame(set, end)));
    const how = { inflated, comesInPieces };
    return decodeAnswer(wish.partitions, [...turned(sets), ...others], how);
  }

  #take(wish: MemberWish, next: readonly NextOffset[] | null): void {
    if (next === null || wish.isLate) {
      this.#settle(wish).resolve(NOTHING);
      return;
    }
    for (const { topic, partition, offset } of next) {
      const at = wish.partitions.findIndex((each) => isSame(each, { topic, partition }));
      const asked = wish.partitions[at];
      if (asked === undefined) continue;
      wish.partitions[at] = { ...asked, offset };
      this.#plan.advance(wish, at, wish.partitions[at]);
    }
  }

  #isOver(wish: MemberWish): void {
    if (!this.#isAnswering && this.#plan.wasAsked(wish, this.#isUnderWay)) this.#end(wish);
    else {
      wish.isLate = true;
      this.#late.push(wish);
    }
  }

  #end(wish: MemberWish): void {
    const decoded = this.#plan
      .ends(wish)
      .map((set): [string, DecodedPartition] => [set.topic, decodedOf(set, 0, [])]);
    this.#settle(wish).resolve(answerOf(decoded));
  }

  #settle(wish: MemberWish): MemberWish {
    clearTimeout(wish.timer);
    this.#plan.remove(wish);
    this.#aside.delete(wish);
    this.#waitsNoMore(wish);
    return wish;
  }

  #waitsNoMore(wish: MemberWish): void {
    if (wish.member.wish !== wish) return;
    wish.member.wish = null;
    this.#without += 1;
  }

  #protocol(planned: Planned): Protocol {
    const nowMs = performance.now();
    const isEverybodyIn = this.#without === 0;
    const quietMs = nowMs - this.#recordsAtMs;
    const maxWaitMs = brokerWaitsMs({ isEverybodyIn, quietMs, wishedMs: this.#wishedMs });
    this.#wishedMs = Number.POSITIVE_INFINITY;
    return fetchProtocol({ ...planned, maxWaitMs, maxBytes: this.#answerMaxBytes });
  }
}
