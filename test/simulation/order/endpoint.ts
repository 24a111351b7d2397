/**
 * The endpoint, which records every attempt that it gets, and the laws.
 *
 *   law         is broken if
 *   inversion   a delivery is first attempted before an earlier one of its key is accepted or dead-lettered (with
 *               `hold`: before its dead letter is canceled)
 *   left        a delivery that was dead-lettered is first accepted after a later one of its key, although this
 *               request was decided on after the later one was attempted
 *   backwards   the deliveries of a key that one owner of the queue attempts are not in its order
 *   repeated    a delivery is attempted again after it was accepted, without a failure that explains it
 *   lost        a delivery is neither accepted nor dead-lettered in the end
 *   stuck       a key waits in the end, or something does not end (`world.ts`)
 */

import type { ManualClock } from "../../support/clock/manual-clock.ts";
import type { Prng } from "../../support/clock/prng.ts";

/** What the process learns of an attempt. */
export type Response = "accepted" | "failed" | "rejected";

export interface Attempted {
  readonly place: string;
  readonly by: string;
  /** When its process found that the partition was still its own, and the request could be sent. */
  readonly decidedMs: number;
  readonly startMs: number;
  acceptedMs: number | null;
  /** When the process learned that. */
  reportedMs: number | null;
}

export interface Place {
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
}

const TIMEOUT_MS = 5_000;

export interface Manners {
  readonly failure: number;
  readonly rejection: number;
  readonly lostResponse: number;
  /** Until this time, the deliveries of some keys fail. */
  readonly badUntilMs: ReadonlyMap<string, number>;
}

export class Endpoint {
  readonly attempts: Attempted[] = [];
  readonly #clock: ManualClock;
  readonly #random: Prng;
  readonly #manners: Manners;

  constructor(clock: ManualClock, random: Prng, manners: Manners) {
    this.#clock = clock;
    this.#random = random;
    this.#manners = manners;
  }

  /** The request arrives even if its process ends. If its process was frozen, it arrives later than it was decided. */
  request(place: Place, by: string, decidedMs: number): Promise<Response> {
    const { failure, rejection, lostResponse, badUntilMs } = this.#manners;
    const startMs = this.#clock.nowMs();
    const attempt: Attempted = {
      place: nameOf(place),
      by,
      decidedMs,
      startMs,
      acceptedMs: null,
      reportedMs: null,
    };
    this.attempts.push(attempt);
    const isBad = startMs < (badUntilMs.get(place.key) ?? 0);
    const random = this.#random;
    const isFailing = isBad || random.chance(failure);
    const response = isFailing ? "failed" : random.chance(rejection) ? "rejected" : "accepted";
    const durationMs = random.integer(5, random.pick([50, 400]));
    const isLost = random.chance(lostResponse);
    const { promise, resolve } = Promise.withResolvers<Response>();
    this.#clock.schedule(durationMs, () => {
      if (response !== "accepted") return;
      attempt.acceptedMs = this.#clock.nowMs();
    });
    const responseMs = isLost ? TIMEOUT_MS : durationMs + random.integer(1, 5);
    this.#clock.schedule(responseMs, () => {
      if (response === "accepted" && !isLost) attempt.reportedMs = this.#clock.nowMs();
      resolve(isLost ? "failed" : response);
    });
    return promise;
  }
}

export function nameOf({ partition, offset }: Pick<Place, "partition" | "offset">): string {
  return `${partition}/${offset}`;
}

/** What happened to one delivery. */
export interface FinalState {
  readonly place: Place;
  /** When it was dead-lettered in a way that lets its key continue. */
  readonly deadMs: readonly number[];
}

export type Law = "inversion" | "left" | "backwards" | "repeated" | "lost" | "stuck";

export interface Judged {
  readonly law: Law;
  readonly what: string;
}

const NEVER = Number.POSITIVE_INFINITY;
type Attempts = ReadonlyMap<string, readonly Attempted[]>;

class Verdict {
  readonly found: Judged[] = [];
  /** Deliveries that were accepted after a later one, by a request that was decided on before that one was attempted. */
  ghosts = 0;
  /** Attempts of a delivery that was accepted. */
  repeats = 0;

  add(law: Law, { key, ...place }: Place, what: string): void {
    this.found.push({ law, what: `${nameOf(place)} of ${key} ${what}` });
  }
}

/** @param isRough false if nothing happened that explains a repeat. */
export function judge(
  finals: readonly FinalState[],
  attempts: readonly Attempted[],
  isRough: boolean,
): Verdict {
  const verdict = new Verdict();
  const byPlace = Map.groupBy(attempts, ({ place }) => place);
  for (const ofKey of Map.groupBy(
    finals,
    ({ place }) => `${place.partition}/${place.key}`,
  ).values()) {
    const sorted = ofKey.toSorted((one, other) => one.place.offset - other.place.offset);
    judgeFirst(sorted, byPlace, verdict);
    judgeLeft(sorted, byPlace, verdict);
    for (const { place } of sorted) judgeRepeats(place, byPlace, isRough, verdict);
  }
  judgeOwners(finals, attempts, verdict);
  return verdict;
}

function judgeFirst(finals: readonly FinalState[], attempts: Attempts, verdict: Verdict): void {
  /** When all earlier ones were settled. */
  let settledMs = 0;
  let before = "";
  for (const { place, deadMs } of finals) {
    const own = attempts.get(nameOf(place)) ?? [];
    const firstMs = own[0]?.startMs ?? NEVER;
    if (firstMs < settledMs)
      verdict.add("inversion", place, `was attempted before ${before} was settled`);
    const ownMs = Math.min(...own.map(({ acceptedMs }) => acceptedMs ?? NEVER), ...deadMs);
    if (ownMs === NEVER) verdict.add("lost", place, "is lost");
    if (ownMs > settledMs) [settledMs, before] = [ownMs, nameOf(place)];
  }
}

/** Those that left the sequence stay out of it. */
function judgeLeft(finals: readonly FinalState[], attempts: Attempts, verdict: Verdict): void {
  /** When a later one was first attempted, and first accepted. */
  let laterMs = NEVER;
  let laterAcceptedMs = NEVER;
  for (const { place } of finals.toReversed()) {
    const own = attempts.get(nameOf(place)) ?? [];
    const acceptedMs = Math.min(...own.map((each) => each.acceptedMs ?? NEVER));
    const first = own.find((each) => each.acceptedMs === acceptedMs);
    if (first !== undefined && acceptedMs > laterAcceptedMs) {
      if (first.decidedMs <= laterMs) verdict.ghosts += 1;
      else verdict.add("left", place, "was accepted after a later one");
    }
    laterAcceptedMs = Math.min(laterAcceptedMs, acceptedMs);
    laterMs = Math.min(laterMs, own[0]?.startMs ?? NEVER);
  }
}

function judgeRepeats(place: Place, attempts: Attempts, isRough: boolean, verdict: Verdict): void {
  const own = attempts.get(nameOf(place)) ?? [];
  const reportedMs = Math.min(...own.map((each) => each.reportedMs ?? NEVER));
  const repeats = own.filter(({ startMs }) => startMs > reportedMs).length;
  verdict.repeats += repeats;
  if (repeats > 0 && !isRough) verdict.add("repeated", place, "was repeated without a reason");
}

/** An owner of the queue goes through the deliveries of a key in its order. */
function judgeOwners(
  finals: readonly FinalState[],
  attempts: readonly Attempted[],
  verdict: Verdict,
): void {
  const places = new Map(finals.map(({ place }) => [nameOf(place), place]));
  const last = new Map<string, number>();
  for (const { place: name, by } of attempts) {
    const place = places.get(name);
    if (place === undefined || !by.startsWith("queue")) continue;
    const owner = `${by}/${place.partition}/${place.key}`;
    if (place.offset <= (last.get(owner) ?? -1))
      verdict.add("backwards", place, `was attempted by ${by} after a later one`);
    last.set(owner, place.offset);
  }
}
