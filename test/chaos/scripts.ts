/**
 * What an endpoint answers to which attempt at a call: decided by the seed, so that a repeated
 * request gets the same answer as the first one.
 *
 *   fate of a call at a scripted endpoint   share
 *   accepted at once                        70 %
 *   accepted after one to three failures    18 %
 *   rejected, at once or after a failure     8 %
 *   never accepted                           4 %
 */

import type { Batch } from "../../src/destinations/webhook/settings.ts";
import { createPrng, type Prng } from "../support/clock/prng.ts";

export type Answer =
  | {
      readonly kind: "status";
      readonly status: number;
      readonly retryAfterSeconds: number | null;
      readonly afterMs: number;
    }
  /** No answer before the deadline. */
  | { readonly kind: "hang" }
  | { readonly kind: "reset" };

const REJECTED = 400;

type Fate =
  | { readonly kind: "accepted"; readonly failures: number }
  | { readonly kind: "rejected"; readonly failures: number };

/** What a request of one or several calls gets. */
export interface Reply {
  readonly answer: Answer;
  /** The status of each call, in the body of the answer; null: the answer's status holds for all. */
  readonly each: readonly number[] | null;
  /** The calls come again at once, in halves: nothing is decided for any of them. */
  readonly isSplit: boolean;
}

/**
 * What a request gets whose calls would get these answers alone; at least one. Where the first one is reset or hangs, so does
 * the whole request; any other one fails by its status.
 *
 * @param responses as the destination's `batch` has it; null: it has no batches.
 */
export function replyTo(answers: readonly Answer[], responses: Batch["responses"] | null): Reply {
  const [first] = answers;
  if (first === undefined) throw new Error("a request has no calls");
  if (responses === null || first.kind !== "status") {
    return { answer: first, each: null, isSplit: false };
  }
  const statuses = answers.map((each) => (each.kind === "status" ? each : status(503, 0)));
  const codes = statuses.map((each) => each.status);
  const waitSeconds = Math.max(...statuses.map(({ retryAfterSeconds }) => retryAfterSeconds ?? 0));
  const afterMs = Math.max(...statuses.map((each) => each.afterMs));
  const answered = (code: number) => status(code, afterMs, waitSeconds || null);
  if (responses === "each") return { answer: answered(200), each: codes, isSplit: false };
  const rejected = codes.find((code) => code === REJECTED);
  const failed = codes.find((code) => code >= 300);
  const isSplit = rejected !== undefined && answers.length > 1;
  return { answer: answered(rejected ?? failed ?? 200), each: null, isSplit };
}

/** An endpoint that fails now answers this, whatever the call. */
export function sickAnswer(random: Prng): Answer {
  return random.chance(0.2) ? { kind: "hang" } : status(random.pick([500, 502, 503]), 5);
}

export function healthyAnswer(random: Prng): Answer {
  return status(random.pick([200, 202, 204]), random.integer(0, 150));
}

/** @param attempt counted from 1. */
export function secondTryAnswer(random: Prng, attempt: number): Answer {
  return attempt === 1 ? status(503, random.integer(0, 50)) : healthyAnswer(random);
}

/** One call in 25 is always rejected, and the first attempt of another one fails. @param attempt counted from 1. */
export function poisonAnswer(
  seed: number,
  endpoint: string,
  messageId: string,
  attempt: number,
): Answer {
  const random = createPrng(hash(`${seed} ${endpoint} ${messageId}`));
  const share = random.fraction();
  if (share < 0.04) return status(REJECTED, random.integer(0, 50));
  return share < 0.08 ? secondTryAnswer(random, attempt) : healthyAnswer(random);
}

/** @param attempt counted from 1. */
export function scriptedAnswer(
  seed: number,
  endpoint: string,
  messageId: string,
  attempt: number,
): Answer {
  const fate = fateOf(createPrng(hash(`${seed} ${endpoint} ${messageId}`)));
  const random = createPrng(hash(`${seed} ${endpoint} ${messageId} ${attempt}`));
  if (attempt <= fate.failures) return failure(random);
  return fate.kind === "accepted" ? healthyAnswer(random) : status(REJECTED, random.integer(0, 50));
}

function fateOf(random: Prng): Fate {
  const share = random.fraction();
  if (share < 0.7) return { kind: "accepted", failures: 0 };
  if (share < 0.88) return { kind: "accepted", failures: random.integer(1, 3) };
  if (share < 0.96) return { kind: "rejected", failures: random.integer(0, 1) };
  return { kind: "accepted", failures: Number.POSITIVE_INFINITY };
}

/**
 * `Retry-After` is rare because it holds all deliveries of the endpoint, in all processes. A queue of a
 * destination with 64 requests at a time continues within some 20 ms of such a hold, and still gets no
 * more than about 60 requests a second through if 1.2 % of the responses ask for 1 to 3 s, as 4 % of the
 * failures did here once. That is what the rounds send to it.
 */
function failure(random: Prng): Answer {
  const share = random.fraction();
  if (share < 0.1) return { kind: "hang" };
  if (share < 0.25) return { kind: "reset" };
  const afterMs = random.integer(0, 100);
  if (share < 0.255) return status(429, afterMs, random.integer(1, 3));
  if (share < 0.26) return status(503, afterMs, random.integer(1, 3));
  return status(random.pick([408, 429, 500, 502, 503, 503]), afterMs);
}

function status(
  code: number,
  afterMs: number,
  retryAfterSeconds: number | null = null,
): Extract<Answer, { readonly kind: "status" }> {
  return { kind: "status", status: code, retryAfterSeconds, afterMs };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const character of text) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return value >>> 0;
}
