/**
 * Decides whether operators see a destination as failing, based on the results of its attempts
 * (`recent-attempts.ts` has the rules). The verdict does not change between attempts, so a destination whose
 * attempts all fail is shown as failing the whole time.
 *
 *   deliver   counts as accepted                           the destination is failing
 *   any       an attempt that one endpoint accepts         if its attempts are failing
 *   every     a request that its endpoint accepts          if any endpoint is failing, because each must get every
 *                                                          call; the one that has failed for the longest time counts
 *
 *   its partitions                       the verdict
 *   are owned by this process            counts
 *   are owned by another process         does not count, because that process has its own
 *   return within a minute               counts again, because that was a rebalance
 *   return later                         is discarded, because it may be outdated
 *
 * An endpoint that was skipped keeps its verdict.
 */

import type { AttemptedDestination } from "../../domain/destination.ts";
import type { LastOutcome } from "../../domain/destination-status.ts";
import type { EndpointKey } from "../../domain/ids.ts";
import type { Pause } from "../control/operator-actions.ts";
import type { Outcome, SendResult } from "../destinations/port.ts";
import type { Attempted } from "./attempt.ts";
import { type HoldCause, stillnessOf } from "./hold-cause.ts";
import { RecentAttempts } from "./recent-attempts.ts";

const REBALANCE_MAX_MS = 60_000;

/** The last result of an endpoint, and its verdict. */
export interface EndpointMemory {
  readonly key: EndpointKey;
  readonly result: SendResult;
  readonly outcome: Outcome;
  readonly atMs: number;
  readonly recent: RecentAttempts;
}

type AttemptedBefore = Pick<Attempted, "results" | "endedAtMs"> & {
  readonly delivery: Pick<Attempted["delivery"], "attempt">;
};

export class DestinationHealth {
  /** Changed by `update`, with `#still`. */
  #destination: AttemptedDestination;
  #still: HoldCause | null = null;
  /** One for each configured endpoint with a result. Changed by `attempted`; `update` removes those of old endpoints. */
  #endpoints: EndpointMemory[] = [];
  #acceptedAtMs: number | null = null;
  /** The attempts as a whole; replaced if `deliver` changes. */
  #recent = new RecentAttempts();
  /** The number of owned partitions, changed by `own` and `leave`. */
  #partitions = 0;
  #leftAtMs: number | null = null;

  /** @param pause a pause by a command; null if there is none. */
  constructor(destination: AttemptedDestination, nowMs: number, pause: Pause | null = null) {
    this.#destination = destination;
    this.update(destination, nowMs, pause);
  }

  /** Applies new settings, and discards the results of removed endpoints. */
  update(destination: AttemptedDestination, nowMs: number, pause: Pause | null = null): void {
    this.#still = stillnessOf(destination, pause, this.#still, nowMs);
    const keys = destination.endpoints.map(({ key }) => key);
    this.#endpoints = this.#endpoints.filter(({ key }) => keys.includes(key));
    if (destination.deliver !== this.#destination.deliver) this.#recent = new RecentAttempts();
    this.#destination = destination;
  }

  /** Call when a partition was assigned. */
  own(nowMs: number): void {
    const notOwnedMs = this.#leftAtMs === null ? 0 : nowMs - this.#leftAtMs;
    if (this.#partitions === 0 && notOwnedMs > REBALANCE_MAX_MS) this.#forget();
    this.#partitions += 1;
  }

  /** Call when a partition was revoked. */
  leave(nowMs: number): void {
    this.#partitions -= 1;
    this.#leftAtMs = nowMs;
  }

  attempted({ delivery, results, endedAtMs }: AttemptedBefore): void {
    let isAccepted = false;
    const earlier = delivery.attempt;
    for (const { endpoint: key, result, outcome } of results) {
      // The results of a request whose endpoint was removed while it was in progress would never be discarded.
      const isRemoved = !this.#destination.endpoints.some((each) => each.key === key);
      if (result.kind === "skipped" || isRemoved) continue;
      const isFine = outcome.kind === "accepted";
      const known = this.#endpoints.findIndex((each) => each.key === key);
      const recent = this.#endpoints[known]?.recent ?? new RecentAttempts();
      recent.add(isFine, endedAtMs, earlier);
      const at = known === -1 ? this.#endpoints.length : known;
      this.#endpoints[at] = { key, result, outcome, atMs: endedAtMs, recent };
      isAccepted ||= isFine;
    }
    if (isAccepted) this.#acceptedAtMs = endedAtMs;
    this.#recent.add(isAccepted, endedAtMs, earlier);
  }

  /** The attempts on which the verdict is based; null if other processes own all of the destination's partitions. */
  recent(nowMs: number): RecentAttempts | null {
    if (this.#partitions === 0) return null;
    if (this.#destination.deliver === "any") return this.#recent;
    let worst: RecentAttempts | null = null;
    for (const { recent } of this.#endpoints) {
      if (worst === null || isWorse(recent, worst, nowMs)) worst = recent;
    }
    return worst;
  }

  /** Null if the destination is not failing, nothing was attempted, or other processes own all of its partitions. */
  failingSinceMs(nowMs: number): number | null {
    return this.recent(nowMs)?.failingSinceMs(nowMs) ?? null;
  }

  get destination(): AttemptedDestination {
    return this.#destination;
  }

  get acceptedAtMs(): number | null {
    return this.#acceptedAtMs;
  }

  /** The hold of a paused or disabled destination; null if it is neither. */
  get still(): HoldCause | null {
    return this.#still;
  }

  get partitions(): number {
    return this.#partitions;
  }

  endpoint(key: EndpointKey): EndpointMemory | null {
    return this.#endpoints.find((each) => each.key === key) ?? null;
  }

  #forget(): void {
    this.#endpoints = [];
    this.#acceptedAtMs = null;
    this.#recent = new RecentAttempts();
  }
}

/**
 * True if `one` has been failing for longer than `other`. If neither is failing, true if `one` has more failed
 * attempts.
 */
function isWorse(one: RecentAttempts, other: RecentAttempts, nowMs: number): boolean {
  const [mine, others] = [one.failingSinceMs(nowMs), other.failingSinceMs(nowMs)];
  if (mine !== null || others !== null) return (mine ?? nowMs) < (others ?? nowMs);
  return one.failures(nowMs) > other.failures(nowMs);
}

export function lastOutcome({ result, outcome, atMs }: EndpointMemory): LastOutcome {
  return {
    at: new Date(atMs).toISOString(),
    outcome: outcome.kind,
    cause: result.kind === "response" ? `${result.status}` : result.cause,
  };
}
