/**
 * Counts the deliveries that wait for a paused destination, and how many of them would expire.
 *
 *   a waiting delivery                                     during the pause
 *   has not been attempted                                 has no retry window, and stays queued
 *   its retry window ends before the pause does            expires
 *   its retry window ends, and the pause has no end        expires, unless the destination is resumed first
 *   its retry window ends after the pause                  is retried when the pause has ended
 */

import { asError } from "../../base/runtime/as-error.ts";
import { hearingLimit } from "../../base/runtime/hearing-limit.ts";
import { counted } from "../../base/words/count.ts";
import { instantText } from "../connect/instant.ts";
import { Backlog, type Looking, readOperatorActions } from "./remaining.ts";

/** Counting stops after this time, because an operator is waiting for the result. */
const LIMIT_MS = 5_000;
const RECORDS_MAX = 500_000;

export type PausedWaiting =
  | {
      readonly kind: "counted";
      readonly queued: number;
      readonly expiring: ExpiryCount;
      /** If false, the counts are lower bounds. */
      readonly isWhole: boolean;
    }
  | { readonly kind: "unknown"; readonly error: string };

/** Never throws, because the pause has already succeeded. @param untilMs null if the pause has no end. */
export async function waitingOfPaused(
  looking: Looking,
  untilMs: number | null,
): Promise<PausedWaiting> {
  using late = hearingLimit(LIMIT_MS, looking.signal);
  const { signal } = late;
  const limited = { ...looking, signal };
  const expiring = new ExpiryCount(looking.config.delivery.retryWindowMs, untilMs);
  const add = (delivery: { readonly firstAttemptAtMs: number | null }) =>
    expiring.add(delivery.firstAttemptAtMs);
  try {
    const backlog = new Backlog(limited);
    const parts = await backlog.queueParts();
    const operations = await readOperatorActions(limited, signal);
    const isWhole = await backlog.eachAwaitingRetry(operations, add, RECORDS_MAX);
    await backlog.eachDue(await backlog.retryTopicParts(), add);
    const queued = await backlog.queuedIn(parts);
    return { kind: "counted", queued, expiring, isWhole: isWhole && !signal.aborted };
  } catch (error) {
    return { kind: "unknown", error: asError(error).message };
  }
}

/** Returns sentences for operators. */
export function pausedText(waiting: PausedWaiting): string {
  if (waiting.kind === "unknown") {
    return `The queued deliveries could not be counted: ${waiting.error}\n`;
  }
  const { queued, expiring, isWhole } = waiting;
  const are = queued === 1 ? "delivery is" : "deliveries are";
  const waits =
    "Queued deliveries do not expire, but Kafka deletes them when the topic's retention ends.";
  return `${queued.toLocaleString("en")} ${are} queued. ${waits}\n${expiring.text(isWhole)}\n`;
}

/** Returns the counts as JSON; null if the deliveries could not be counted. */
export function pausedJson(waiting: PausedWaiting): object | null {
  if (waiting.kind === "unknown") return null;
  const { queued, expiring, isWhole } = waiting;
  return { queued, ...expiring.json(), isLowerBound: !isWhole };
}

/** Counts the deliveries awaiting retry that would expire while their destination is paused. */
export class ExpiryCount {
  readonly #retryWindowMs: number;
  readonly #untilMs: number;
  awaitingRetry = 0;
  #count = 0;
  #firstMs = Number.POSITIVE_INFINITY;

  /** @param untilMs null if the pause has no end. */
  constructor(retryWindowMs: number, untilMs: number | null) {
    this.#retryWindowMs = retryWindowMs;
    this.#untilMs = untilMs ?? Number.POSITIVE_INFINITY;
  }

  /** @param firstAttemptAtMs null if the delivery has not been attempted. */
  add(firstAttemptAtMs: number | null): void {
    if (firstAttemptAtMs === null) return;
    this.awaitingRetry += 1;
    const endMs = firstAttemptAtMs + this.#retryWindowMs;
    if (endMs > this.#untilMs) return;
    this.#count += 1;
    this.#firstMs = Math.min(this.#firstMs, endMs);
  }

  /** The counts as JSON. Times are ISO 8601. */
  json(): {
    readonly awaitingRetry: number;
    readonly expiring: number;
    readonly firstExpiresAt: string | null;
  } {
    const firstExpiresAt = this.#count === 0 ? null : new Date(this.#firstMs).toISOString();
    return { awaitingRetry: this.awaitingRetry, expiring: this.#count, firstExpiresAt };
  }

  /** @param isWhole false if the counts are lower bounds. */
  text(isWhole: boolean): string {
    if (this.awaitingRetry === 0 && isWhole)
      return "No delivery is awaiting retry, so none can expire during the pause.";
    const least = isWhole ? "" : "At least ";
    const are = this.awaitingRetry === 1 ? "is" : "are";
    const waiting = `${least}${counted(this.awaitingRetry, "delivery", "deliveries")} ${are} awaiting retry.`;
    if (this.#count === 0) return `${waiting} None of them expires before the end of the pause.`;
    const first = `the first at ${instantText(this.#firstMs)} UTC`;
    const expire = this.#count === 1 ? "expires" : "expire";
    const has = Number.isFinite(this.#untilMs)
      ? `${least}${this.#count} of them ${expire} before the end of the pause`
      : "They expire one by one unless the destination is resumed";
    return `${waiting} ${has}, ${first}.`;
  }
}
